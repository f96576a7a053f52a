//! The ledger: the append-only record of a token. An entry is never changed or deleted.

use sha2::{Digest, Sha256};

use crate::json::Object;
use crate::time::Timestamp;

/// What an entry records. The first 26 are the original's; see `facts` of each in its docs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `context`, `parent`?
    Started,
    /// `event`, `payload`, `state` (the state left).
    EventAccepted,
    /// `event`, `reason`.
    EventRejected,
    /// `event`, `payload`, `arrival`; from a task also `state`, `visit`, `task`, `context`?, `schedules`?
    EventDeferred,
    /// `event`.
    EventReplayed,
    /// `event`, `reason`.
    EventDropped,
    /// `state`, `visit`.
    Entered,
    /// `workflow`, `token`.
    BranchStarted,
    /// `task`, `state`.
    TaskQueued,
    /// `task`, `supervisor`, `attempt`.
    TaskClaimed,
    /// `task`.
    TaskDone,
    /// `task`.
    TaskCancelled,
    /// `task`.
    TaskWaiting,
    /// `task`, `error`.
    TaskFailed,
    /// `task`, `attempt` (the next one).
    TaskRetrying,
    /// `keys`, sorted; never the values.
    ContextChanged,
    /// `event`, `due_at`.
    TimerSet,
    /// `event`.
    TimerFired,
    /// `task`, `text`.
    Note,
    /// `state`, `memory_key`; never the value.
    MemorySet,
    /// `state`, `memory_key`.
    MemoryDeleted,
    /// Nothing.
    Paused,
    /// Nothing.
    Resumed,
    /// Nothing.
    Completed,
    /// `reason`?
    Cancelled,
    /// `reason`.
    Failed,
    /// Ours: `task`, `attempt`. The supervisor said that the routine begins.
    TaskStarted,
    /// Ours: nothing. The token failed, and enters its last state again.
    Retried,
    /// Ours: `task`, `attempt`, `supervisor`. A supervisor gave the task back, or was started again while it held it: no
    /// failure is counted.
    TaskReturned,
}

impl Kind {
    /// Every kind, the original's first.
    pub const ALL: [Self; 29] = [
        Self::Started,
        Self::EventAccepted,
        Self::EventRejected,
        Self::EventDeferred,
        Self::EventReplayed,
        Self::EventDropped,
        Self::Entered,
        Self::BranchStarted,
        Self::TaskQueued,
        Self::TaskClaimed,
        Self::TaskDone,
        Self::TaskCancelled,
        Self::TaskWaiting,
        Self::TaskFailed,
        Self::TaskRetrying,
        Self::ContextChanged,
        Self::TimerSet,
        Self::TimerFired,
        Self::Note,
        Self::MemorySet,
        Self::MemoryDeleted,
        Self::Paused,
        Self::Resumed,
        Self::Completed,
        Self::Cancelled,
        Self::Failed,
        Self::TaskStarted,
        Self::Retried,
        Self::TaskReturned,
    ];

    /// The spelling on the wire and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::EventAccepted => "event_accepted",
            Self::EventRejected => "event_rejected",
            Self::EventDeferred => "event_deferred",
            Self::EventReplayed => "event_replayed",
            Self::EventDropped => "event_dropped",
            Self::Entered => "entered",
            Self::BranchStarted => "branch_started",
            Self::TaskQueued => "task_queued",
            Self::TaskClaimed => "task_claimed",
            Self::TaskDone => "task_done",
            Self::TaskCancelled => "task_cancelled",
            Self::TaskWaiting => "task_waiting",
            Self::TaskFailed => "task_failed",
            Self::TaskRetrying => "task_retrying",
            Self::ContextChanged => "context_changed",
            Self::TimerSet => "timer_set",
            Self::TimerFired => "timer_fired",
            Self::Note => "note",
            Self::MemorySet => "memory_set",
            Self::MemoryDeleted => "memory_deleted",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::TaskStarted => "task_started",
            Self::Retried => "retried",
            Self::TaskReturned => "task_returned",
        }
    }

    /// The kind with this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.as_str() == text)
    }

    /// Whether the original knows it. `GET /tokens/{id}/history` sends only these unless asked with `kinds=all`.
    #[must_use]
    pub const fn is_original(self) -> bool {
        !matches!(self, Self::TaskStarted | Self::Retried | Self::TaskReturned)
    }
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Whose history it belongs to.
    pub token: String,
    /// Its place in that history; the first is 1, and there are no gaps.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// What it records.
    pub kind: Kind,
    /// The fields of its kind.
    pub data: Object,
    /// The idempotency key that the event came with; used once per token, for the token's whole life.
    pub key: Option<String>,
    /// What [`crate::replay()`] needs beyond `data`, which is the original's and stays so. No route sends it.
    pub private: Option<Private>,
}

/// The private part of an entry: only what the entries before it do not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Private {
    /// Of `timer_set` and `timer_fired`: two timers of a token can have the same event.
    Timer {
        /// The timer.
        id: u64,
        /// Of `timer_set`: the payload that the event will carry.
        payload: Option<Object>,
    },
    /// Of `context_changed` and `memory_set`, which tell names only: the SHA-256 of what is stored now, the whole context or
    /// the value.
    Stored([u8; 32]),
}

impl Private {
    /// The digest of a stored text.
    #[must_use]
    pub fn stored(text: &str) -> Self {
        Self::Stored(Sha256::digest(text).into())
    }
}
