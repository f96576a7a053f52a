//! What the control plane needs from a database.
