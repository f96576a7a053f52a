//! The control plane as a library.
