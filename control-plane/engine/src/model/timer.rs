//! A timer: an event that fires later, if the token is still in the same state and visit.

use serde::{Deserialize, Serialize};

use crate::json::Object;
use crate::time::Timestamp;

/// Who set a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerKind {
    /// The state's timeout: covers all attempts, and fails the token when no transition takes it.
    Timeout,
    /// A routine's own timer: dies with a retry, and a firing that cannot move the token is only recorded.
    Timer,
}

impl TimerKind {
    /// The spelling in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Timer => "timer",
        }
    }

    /// The kind with this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Timeout, Self::Timer].into_iter().find(|k| k.as_str() == text)
    }
}

/// One pending timer. A timer that fired or was cancelled has no row: the ledger keeps its story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timer {
    /// Its number, unique in the database.
    pub id: u64,
    /// The token that it fires on.
    pub token: String,
    /// The state that it belongs to.
    pub state: String,
    /// The visit that it belongs to.
    pub visit: u64,
    /// The event that it fires.
    pub event: String,
    /// The payload that the event carries.
    pub payload: Option<Object>,
    /// When it was set.
    pub set_at: Timestamp,
    /// When it fires.
    pub due_at: Timestamp,
    /// Who set it.
    pub kind: TimerKind,
}
