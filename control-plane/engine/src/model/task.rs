//! A task: "do state S for token T, visit V".

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Waits for a supervisor.
    Queued,
    /// A supervisor holds it under a lease; its routine has not begun, as far as we were told.
    Claimed,
    /// The supervisor said that the routine begins.
    Started,
    /// The routine ended and the work goes on outside; no lease.
    Waiting,
    /// Its outcome moved the token.
    Done,
    /// Its last attempt failed and no retry was left.
    Failed,
    /// The token left the state in another way.
    Cancelled,
}

impl TaskStatus {
    /// Every status, in the order of a task's life.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Claimed,
        Self::Started,
        Self::Waiting,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The spelling in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Claimed => "claimed",
            Self::Started => "started",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The spelling in sentences of the API: the original knows no `started`.
    #[must_use]
    pub const fn told(self) -> &'static str {
        match self {
            Self::Started => "claimed",
            other => other.as_str(),
        }
    }

    /// The status with this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == text)
    }

    /// A supervisor holds it under a lease.
    #[must_use]
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Claimed | Self::Started)
    }

    /// Its outcome is still to come: the token has not left the state.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Queued | Self::Claimed | Self::Started | Self::Waiting)
    }
}

/// One task. There is one for each entry into a state that has a routine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its number, unique in the database.
    pub id: u64,
    /// Whose work it is.
    pub token: String,
    /// The token's workflow, so that a claim finds its tasks without the token.
    pub workflow: String,
    /// The state to do.
    pub state: String,
    /// The token's visit of that state.
    pub visit: u64,
    /// How far it is.
    pub status: TaskStatus,
    /// Number of claims so far; the attempt that runs or ran last. Only grows.
    pub attempt: u64,
    /// Failed attempts; retried while `failures <= retries` of the state.
    pub failures: u64,
    /// The supervisor that holds it or held it last.
    pub claimed_by: Option<String>,
    /// The request id of the claim that gave it out, so that a repeated claim gets the same grant.
    pub request: Option<String>,
    /// When the lease of the running attempt ends, unless it is renewed.
    pub lease_until: Option<Timestamp>,
    /// When the token entered the state.
    pub queued_at: Timestamp,
}
