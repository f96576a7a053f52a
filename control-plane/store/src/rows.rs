//! Rows that are not part of a decision: listings, uploads, and the control plane's own row.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stateous_engine::Timestamp;
use stateous_engine::model::{Status, Token};

/// Which tokens a listing names. Newest entry first, then by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFilter {
    /// Only in this status; `completed` is also `completed_with_errors`.
    pub status: Option<Status>,
    /// Only children of this token.
    pub parent: Option<String>,
    /// At most so many.
    pub limit: u32,
}

impl TokenFilter {
    /// Whether the listing names tokens in this status.
    #[must_use]
    pub fn takes(&self, status: Status) -> bool {
        match self.status {
            None => true,
            Some(Status::Completed) => status.is_completed(),
            Some(wanted) => status == wanted,
        }
    }
}

/// A token of a listing, with its context as JSON text.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedToken {
    /// The row.
    pub token: Token,
    /// Its context.
    pub context: Arc<str>,
}

/// Limits that travel with a routine; the supervisor caps them by its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RoutineLimits {
    /// Fuel of one attempt; `None` is the supervisor's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// Linear memory of one attempt, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Wall time of one attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

/// A component as it was uploaded. Content-addressed: the digest is its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
    /// Language and version of the SDK that it was built with, if it says so.
    pub sdk: Option<String>,
    /// When it came.
    pub uploaded_at: Timestamp,
}

/// Which component serves a state. Versions only grow; the highest is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The workflow.
    pub workflow: String,
    /// The state.
    pub state: String,
    /// 1 for the first assignment of this state, then one more each time.
    pub version: u64,
    /// The component.
    pub digest: String,
    /// A name for people; the file's name unless given.
    pub name: String,
    /// Limits of its attempts.
    pub limits: RoutineLimits,
    /// When it was assigned.
    pub assigned_at: Timestamp,
}

/// The one row about the control plane itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControlRow {
    /// This database's own id, made at its first start; part of every dispatch key.
    pub database_id: String,
    /// The structure of the default workflow on record.
    pub structure: Option<String>,
    /// Its checksum.
    pub checksum: Option<String>,
    /// The last time at which a control plane was surely serving this database.
    pub alive_at: Timestamp,
    /// The highest time that any row holds: the clock never goes behind it.
    pub latest: Timestamp,
}
