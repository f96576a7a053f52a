//! A supervisor: it claims tasks, runs their routines and reports how they ended, and loses nothing on the way.
//!
//! It owns leases by its own count, heartbeats, the outbox and the order in which things are sent. It leaves to others: how
//! a routine runs (`stateous-runtime`), what goes over the wire (`stateous-api`), and what a report means for a token (the
//! control plane).
//!
//! ```text
//! claims ──▶ attempt ──▶ outbox ──▶ sender ──▶ control plane
//!               ▲                                  │
//!               └────── leases ◀── heartbeats ◀────┘
//! ```
//!
//! Reading order: [`settings`], [`supervise`], then `claims`, `attempt`, [`outbox`], `sender`, `lease`, `heartbeats`,
//! `reach`.

pub mod clock;
pub mod outbox;
pub mod routines;
pub mod settings;
pub mod stop;

mod attempt;
mod bodies;
mod claims;
mod drain;
mod heartbeats;
mod lease;
mod operations;
mod ports;
mod reach;
mod sender;
mod supervise;
mod supervisor;
mod web;

pub use clock::{Clock, SystemClock};
pub use routines::Routines;
pub use settings::{Given, Settings, SettingsError};
pub use stop::{Stop, Stopper, Stopping};
pub use supervise::{End, Error, Options, supervise};
pub use web::{HttpSettings, Secret, Secrets};
