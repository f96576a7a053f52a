//! Rows that are not part of a decision: listings and their filters, uploads, and the control plane's own row.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stateous_engine::Timestamp;
use stateous_engine::model::{Status, Task, TaskStatus};

use crate::traits::QueuedFilter;

/// Which tokens a listing names. Newest entry first, then by id; with a prefix by id, without regard to ASCII case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFilter {
    /// Only in this status; `completed` is also `completed_with_errors`.
    pub status: Option<Status>,
    /// Only of this workflow.
    pub workflow: Option<String>,
    /// Only in this state.
    pub state: Option<String>,
    /// Only children of this token.
    pub parent: Option<String>,
    /// Only those whose id begins so, without regard to ASCII case.
    pub prefix: Option<String>,
    /// Only what comes after this place.
    pub after: Option<TokenPlace>,
    /// At most so many.
    pub limit: u32,
    /// About the most bytes of contexts to read: the token that reaches it is the last one that is read.
    pub bytes: usize,
}

impl TokenFilter {
    /// The tokens that moved last, whatever they are.
    #[must_use]
    pub const fn newest(limit: u32) -> Self {
        Self {
            status: None,
            workflow: None,
            state: None,
            parent: None,
            prefix: None,
            after: None,
            limit,
            bytes: usize::MAX,
        }
    }
}

/// A place in a listing of tokens: right behind this one. It stays a place when that token moves on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenPlace {
    /// When the token entered its state.
    pub entered_at: Timestamp,
    /// Its id.
    pub id: String,
}

/// A page of a listing of tokens.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TokenPage {
    /// The tokens, as far as their contexts were read.
    pub tokens: Vec<ListedToken>,
    /// Ids of the other tokens of this page, in its order.
    pub rest: Vec<String>,
    /// Where the next page begins. Filters without an index of their own look at a bounded number of rows, so that a page
    /// can be short and still have a next one. `None`: this is the last.
    pub next: Option<TokenPlace>,
}

/// What a listing says of a token, with its context as JSON text.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedToken {
    /// Its id.
    pub id: String,
    /// Where it is.
    pub state: String,
    /// Whether it still runs.
    pub status: Status,
    /// How many times it has entered its state.
    pub visit: u64,
    /// When it entered its state.
    pub entered_at: Timestamp,
    /// The token whose parallel state started it.
    pub parent: Option<String>,
    /// Its context.
    pub context: Arc<str>,
}

/// Which tasks a listing names, lowest id first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only in one of these statuses.
    pub statuses: Vec<TaskStatus>,
    /// Only of this workflow.
    pub workflow: Option<String>,
    /// Only of this state.
    pub state: Option<String>,
    /// Only of this token.
    pub token: Option<String>,
    /// Only those that this supervisor holds or held last.
    pub supervisor: Option<String>,
    /// Only queued tasks that none of these claims would take.
    pub unserved: Option<Vec<QueuedFilter>>,
    /// Only ids above this one.
    pub after: u64,
    /// At most so many.
    pub limit: u32,
}

impl TaskFilter {
    /// Whether the listing names this task; `unserved` are the states that no claim asks for, where only they are wanted.
    #[must_use]
    pub fn takes(&self, task: &Task, unserved: Option<&BTreeSet<(String, String)>>) -> bool {
        let same = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|w| w == found);
        let holder =
            |wanted: &String| task.status != TaskStatus::Queued && task.claimed_by.as_ref() == Some(wanted);
        self.statuses.contains(&task.status)
            && same(&self.workflow, &task.workflow)
            && same(&self.state, &task.state)
            && same(&self.token, &task.token)
            && self.supervisor.as_ref().is_none_or(holder)
            && unserved.is_none_or(|pairs| {
                task.status == TaskStatus::Queued
                    && pairs.contains(&(task.workflow.clone(), task.state.clone()))
            })
    }
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

/// A page of a listing of tasks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// After which id the next page begins; as with tokens, a page can be short. `None`: this is the last.
    pub next: Option<u64>,
}

/// Limits that travel with a routine; the supervisor caps them by its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    /// Which HTTP requests it asks to send, one rule each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<String>,
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
