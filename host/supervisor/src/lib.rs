//! Claims, leases, outbox, reports, drain.
