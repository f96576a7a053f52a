//! What a decision answers: the rows to write, all or none, and what to tell the caller.

use std::sync::Arc;

use crate::model::{Entry, EventRecord, FanOut, FanOutKey, Held, MemoryCell, Task, Timer, Token};
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// One row to write. The store applies a decision's changes in order, in one transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A new token with its context.
    InsertToken {
        /// The row.
        token: Token,
        /// Its context as JSON text.
        context: Arc<str>,
    },
    /// A token moved or its counters grew. The context stays.
    UpdateToken(Token),
    /// A token's context is replaced.
    PutContext {
        /// The token.
        token: String,
        /// The whole new context as JSON text.
        context: Arc<str>,
    },
    /// A new task.
    InsertTask(Task),
    /// A task changed.
    UpdateTask(Task),
    /// A new timer.
    InsertTimer(Timer),
    /// A timer is due at another time.
    UpdateTimer(Timer),
    /// A timer fired or was cancelled.
    DeleteTimer(u64),
    /// A paused token holds an event.
    InsertHeld(Held),
    /// A held event was applied or dropped.
    DeleteHeld {
        /// The top token of the family that held it.
        top: String,
        /// Its place among what the family holds.
        arrival: u64,
    },
    /// A state that fans out was entered.
    InsertFanOut {
        /// The row.
        row: FanOut,
        /// Its items, in chunks of JSON text.
        chunks: Vec<Arc<str>>,
    },
    /// A fan-out went on.
    UpdateFanOut(FanOut),
    /// A fan-out is over; its items go with it.
    DeleteFanOut(FanOutKey),
    /// A memory cell is written.
    PutMemory {
        /// The token.
        token: String,
        /// The state.
        state: String,
        /// Key and value.
        cell: MemoryCell,
    },
    /// A memory cell is deleted.
    DeleteMemory {
        /// The token.
        token: String,
        /// The state.
        state: String,
        /// The key.
        key: String,
    },
    /// All memory of a token goes, because the token ended.
    DeleteAllMemory {
        /// The token.
        token: String,
    },
    /// An entry of the ledger.
    Append(Entry),
}

/// A token as the caller is told.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenView {
    /// The row, as it is after the decision.
    pub token: Token,
    /// Its context, as it is after the decision.
    pub context: Arc<str>,
}

/// A claimed task with all that its routine may read.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// The task, as claimed.
    pub task: Task,
    /// The token's structure.
    pub structure: String,
    /// Whether the token is a child: then the state is told as `<workflow>/<state>`.
    pub child: bool,
    /// The token's context as JSON text.
    pub context: Arc<str>,
    /// The memory of (token, state), by key.
    pub memory: Vec<MemoryCell>,
    /// The event that brought the token here.
    pub entered_by: EventRecord,
    /// How long the lease lasts from now, in milliseconds.
    pub lease_ms: i64,
    /// When the state's timeout fires, if it has one.
    pub deadline: Option<Timestamp>,
}

/// What the caller is told when it is not refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A token was made.
    Created(TokenView),
    /// The token, as it is now.
    Token(TokenView),
    /// The idempotency key was used before: nothing changed.
    Duplicate(TokenView),
    /// The task is the supervisor's.
    Granted(Box<Grant>),
    /// The routine may begin.
    Run,
    /// The routine must not begin; the reason is for people.
    Skip(String),
    /// It was done; there is nothing to tell.
    Done,
    /// There was nothing to do: the task or timer was gone, moved on or not due.
    Stale,
}

/// What a decision says. A refusal can carry changes too: the ledger records a refused event.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What to write.
    pub changes: Vec<Change>,
    /// What to tell.
    pub result: Result<Answer, Refusal>,
}
