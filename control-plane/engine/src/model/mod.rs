//! The rows: what the control plane keeps. One noun, one type, one table.

mod held;
mod incarnation;
mod ledger;
mod memory;
mod task;
mod timer;
mod token;

pub use held::{Held, Origin};
pub use incarnation::Incarnation;
pub use ledger::{Entry, Kind, Private};
pub use memory::MemoryCell;
pub use task::{Task, TaskStatus};
pub use timer::{Timer, TimerKind};
pub use token::{EventRecord, Status, Token};
