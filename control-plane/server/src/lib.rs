//! The control plane as a library: the HTTP API and the loops over one store.
//!
//! A change comes in as a request, becomes one [`Input`](stateous_engine::Input), and goes to the
//! [`Committer`](stateous_store::Committer), the one place that applies changes. A read goes to the store's reader and
//! waits for nobody. What the clock does (leases that end, timers that fire) comes from two loops that take the same
//! way. So this crate decides nothing about tokens: it reads requests strictly, asks, and says the answer.
//!
//! It leaves to others: rules and refusals of tokens (`stateous-engine`), transactions (`stateous-store`), wire types
//! (`stateous-api`), the check of components (`stateous-inspect`), options, signals and words on a terminal
//! (`stateous-cli`).
//!
//! Reading order: `control_plane` (from start to stop), `startup` (what is checked first), `router` (every
//! route), `openapi` (what each takes and answers),
//! `routes/`, `body`, `fields` and `cursor` (what is read from a request), `views` and `list` (what is sent), `loops/`.

mod control_plane;
mod startup;

mod connections;
mod door;
mod openapi;
mod operations;
mod router;

mod app;
mod body;
mod cursor;
mod fields;
mod list;
mod refused;
mod routes;
mod supervisors;
mod views;

mod loops;

pub use control_plane::{ControlPlane, LEASE_MS, Options, ServeError, serve};
