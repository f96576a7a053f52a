//! A token: one run of a workflow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json::Object;
use crate::time::Timestamp;

/// Whether a token still runs, and if not, how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It moves as events come.
    Active,
    /// It stands still until it is resumed; its events are held.
    Paused,
    /// It reached END.
    Completed,
    /// It could not go on; its ledger says why.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

impl Status {
    /// Every status, in the order that the API names them.
    pub const ALL: [Self; 5] = [Self::Active, Self::Paused, Self::Completed, Self::Failed, Self::Cancelled];

    /// The spelling on the wire and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status with this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == text)
    }

    /// An ended token never changes again, unless it failed and somebody retries it.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// An event that happened to a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    /// The event's name.
    pub name: String,
    /// Its payload, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Object>,
}

/// A token without its context, which only some inputs need (see [`crate::loaded::Member`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The id that its starter chose; unique without regard to ASCII case.
    pub id: String,
    /// The workflow that it follows.
    pub workflow: String,
    /// The structure of that workflow which it was started with and keeps.
    pub structure: String,
    /// Where it is; an ended token keeps its last state.
    pub state: String,
    /// Whether it still runs.
    pub status: Status,
    /// How many times it has entered `state`; 0 before its first state.
    pub visit: u64,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it entered `state`.
    pub entered_at: Timestamp,
    /// When it was paused; `None` unless it is.
    pub paused_at: Option<Timestamp>,
    /// The token whose parallel state started it; `None` for a top token.
    pub parent: Option<String>,
    /// The sequence number of its last ledger entry.
    pub seq: u64,
    /// How often it has entered each state. Kept here so that a visit costs the same at 1 and at 100,000 visits.
    pub visits: BTreeMap<String, u64>,
    /// How often each event was accepted: what `count('event')` reads in a guard.
    pub counts: BTreeMap<String, u64>,
    /// The accepted event that brought it where it is.
    pub entered_by: EventRecord,
    /// The accepted event that completed it; `None` unless it completed.
    pub ended_by: Option<EventRecord>,
}
