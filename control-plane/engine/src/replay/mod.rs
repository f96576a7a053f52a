//! From the ledger back to the rows: what a token's entries, read in order, say that its rows are.
//!
//! The rows are kept so that a decision costs the same at the first visit and at the hundred-thousandth; the ledger is kept
//! so that anybody can see what happened. [`replay()`] proves that the two tell one story: it must give what
//! [`Replayed::of_rows`] gives of the rows. Left out is what changes without an entry: who holds a task and until when, since
//! heartbeats are not history. What each kind of entry does is in [`entries`].

mod entries;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use thiserror::Error;

use entries::Reading;

use crate::input::Schedule;
use crate::json::Object;
use crate::model::{
    Entry, EventRecord, Held, Kind, MemoryCell, Origin, Status, Task, TaskStatus, Timer, Token,
};
use crate::time::Timestamp;

/// A token with all that belongs to it, as far as its ledger tells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the rows, where they are explained")]
pub struct Replayed {
    pub token: String,
    pub seq: u64,
    pub parent: Option<String>,
    pub state: String,
    pub status: Status,
    pub visit: u64,
    pub started_at: Timestamp,
    pub entered_at: Timestamp,
    pub paused_at: Option<Timestamp>,
    pub visits: BTreeMap<String, u64>,
    pub counts: BTreeMap<String, u64>,
    pub entered_by: EventRecord,
    pub ended_by: Option<EventRecord>,
    /// The SHA-256 of the context.
    pub context: [u8; 32],
    /// Every task that it ever had.
    pub tasks: BTreeMap<u64, ReplayedTask>,
    /// Those that are pending.
    pub timers: BTreeMap<u64, Timer>,
    /// What it holds while it is paused, in the order of arrival.
    pub held: Vec<ReplayedHeld>,
    /// The SHA-256 of each value, by state and key.
    pub memory: BTreeMap<(String, String), [u8; 32]>,
}

/// A task, without who holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the row, where they are explained")]
pub struct ReplayedTask {
    pub state: String,
    pub visit: u64,
    pub status: TaskStatus,
    pub attempt: u64,
    pub failures: u64,
    pub queued_at: Timestamp,
}

/// A held event, without the top of the family, which is not in every member's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the row, where they are explained")]
pub struct ReplayedHeld {
    pub arrival: u64,
    pub event: String,
    pub payload: Option<Object>,
    pub origin: Option<Origin>,
    pub context: Object,
    pub schedules: Vec<Schedule>,
}

/// The rows of one token, to be compared with its ledger.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct Rows<'r> {
    pub token: &'r Token,
    /// As JSON text.
    pub context: &'r str,
    /// Open or not.
    pub tasks: Vec<&'r Task>,
    pub timers: Vec<&'r Timer>,
    /// In the order of arrival.
    pub held: Vec<&'r Held>,
    /// With the state of each cell.
    pub memory: Vec<(&'r str, &'r MemoryCell)>,
}

/// Why a list of entries is not the ledger of a token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("entry {seq} of the ledger ({kind}): {problem}", kind = kind.as_str())]
pub struct ReplayError {
    /// The entry.
    pub seq: u64,
    /// Its kind.
    pub kind: Kind,
    /// What was expected of it.
    pub problem: String,
}

/// What the whole ledger of one token says of its rows; `None` when it is empty.
///
/// # Errors
/// At the first entry that cannot follow those before it, or lacks what its kind has: the ledger is damaged, or was begun by
/// a version that did not keep an entry's private part.
pub fn replay<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Result<Option<Replayed>, ReplayError> {
    let mut reading: Option<Reading> = None;
    for entry in entries {
        let fail = |problem: String| ReplayError { seq: entry.seq, kind: entry.kind, problem };
        match &mut reading {
            None => reading = Some(Reading::begin(entry).map_err(fail)?),
            Some(reading) => reading.follow(entry).map_err(fail)?,
        }
    }
    Ok(reading.map(|reading| reading.token))
}

impl Replayed {
    /// What the rows themselves say.
    #[must_use]
    pub fn of_rows(rows: &Rows<'_>) -> Self {
        let Token { id, parent, state, status, visit, started_at, entered_at, paused_at, seq, .. } =
            rows.token.clone();
        let Token { visits, counts, entered_by, ended_by, .. } = rows.token.clone();
        let task = |task: &&Task| {
            let Task { id, state, visit, status, attempt, failures, queued_at, .. } = (*task).clone();
            (id, ReplayedTask { state, visit, status, attempt, failures, queued_at })
        };
        let held = |held: &&Held| {
            let Held { arrival, event, payload, origin, context, schedules, .. } = (*held).clone();
            ReplayedHeld { arrival, event, payload, origin, context, schedules }
        };
        let cell = |(state, cell): &(&str, &MemoryCell)| {
            (((*state).to_owned(), cell.key.clone()), Sha256::digest(cell.value.as_bytes()).into())
        };
        Self {
            token: id,
            seq,
            parent,
            state,
            status,
            visit,
            started_at,
            entered_at,
            paused_at,
            visits,
            counts,
            entered_by,
            ended_by,
            context: Sha256::digest(rows.context).into(),
            tasks: rows.tasks.iter().map(task).collect(),
            timers: rows.timers.iter().map(|timer| (timer.id, (*timer).clone())).collect(),
            held: rows.held.iter().map(held).collect(),
            memory: rows.memory.iter().map(cell).collect(),
        }
    }
}
