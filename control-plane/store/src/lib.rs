//! What the control plane needs from a database, and how changes get there.
//!
//! [`Store`] is the one narrow trait; a store crate implements it and nothing else knows SQL. Its verbs are
//! synchronous: SQLite is a function call away, and a store that speaks to a server blocks only the writer's own thread
//! or a thread made for reads. [`Committer`] is the one place that applies changes: it drains whatever inputs are
//! waiting, lets [`stateous_engine::decide`] say what each does, and commits them together. Store behaviour is proven
//! by one suite, `conformance`, which every store runs.

mod clock;
pub mod codec;
mod committer;
mod failure;
mod outage;
mod rows;
mod traits;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use clock::{Clock, ManualClock, SystemClock};
pub use committer::{Claim, Committer, Granted, Push, Tally, Upkeep, Watch};
pub use failure::{Failure, FailureKind};
pub use rows::{
    Assignment, ControlRow, ListedToken, RoutineLimits, TaskFilter, TaskPage, TokenFilter, TokenPage,
    TokenPlace, Upload,
};
pub use traits::{NewAssignment, QueuedFilter, Reader, Store, Writer};
