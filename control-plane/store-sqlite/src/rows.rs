//! Rows as they are read: which columns, in which order, and how they become the engine's types.
//!
//! Each list of columns stands next to its reader, and the reader counts along it. Writing is left to `apply`.

use rusqlite::Row;
use stateous_engine::Timestamp;
use stateous_engine::model::{Entry, EventRecord, Held, MemoryCell, Origin, Task, Timer, Token};
use stateous_store::{Assignment, ControlRow, ListedToken, Upload, codec};

use crate::failure::Broken;

/// Columns of a token; the table is called `t` where they are read.
pub(crate) const TOKEN: &str = "t.id, t.workflow, t.structure, t.state, t.status, t.visit, t.started_at, \
    t.entered_at, t.parent, t.seq, t.visits, t.counts, t.entered_by_event, t.entered_by_payload, t.paused_at, \
    t.ended_by_event, t.ended_by_payload";
/// How many columns a token has: what is read besides it comes after.
pub(crate) const TOKEN_WIDTH: usize = 17;

pub(crate) fn token(row: &Row<'_>) -> Result<Token, Broken> {
    Ok(Token {
        id: row.get(0)?,
        workflow: row.get(1)?,
        structure: row.get(2)?,
        state: row.get(3)?,
        status: codec::read_status(&row.get::<_, String>(4)?)?,
        visit: row.get(5)?,
        started_at: time(row, 6)?,
        entered_at: time(row, 7)?,
        parent: row.get(8)?,
        seq: row.get(9)?,
        visits: codec::read_counts("tokens.visits", &row.get::<_, String>(10)?)?,
        counts: codec::read_counts("tokens.counts", &row.get::<_, String>(11)?)?,
        entered_by: EventRecord {
            name: row.get(12)?,
            payload: object(row, 13, "tokens.entered_by_payload")?,
        },
        paused_at: row.get::<_, Option<i64>>(14)?.map(Timestamp),
        ended_by: match row.get(15)? {
            Some(name) => Some(EventRecord { name, payload: object(row, 16, "tokens.ended_by_payload")? }),
            None => None,
        },
    })
}

/// Columns of a token in a listing; the tables are called `t` and `c` where they are read.
pub(crate) const LISTED: &str = "t.id, t.state, t.status, t.visit, t.entered_at, t.parent, c.context";

pub(crate) fn listed(row: &Row<'_>) -> Result<ListedToken, Broken> {
    Ok(ListedToken {
        id: row.get(0)?,
        state: row.get(1)?,
        status: codec::read_status(&row.get::<_, String>(2)?)?,
        visit: row.get(3)?,
        entered_at: time(row, 4)?,
        parent: row.get(5)?,
        context: row.get(6)?,
    })
}

/// Columns of a task.
pub(crate) const TASK: &str = "id, token, workflow, state, visit, status, attempt, failures, claimed_by, request, \
    lease_until, queued_at";

pub(crate) fn task(row: &Row<'_>) -> Result<Task, Broken> {
    Ok(Task {
        id: row.get(0)?,
        token: row.get(1)?,
        workflow: row.get(2)?,
        state: row.get(3)?,
        visit: row.get(4)?,
        status: codec::read_task_status(&row.get::<_, String>(5)?)?,
        attempt: row.get(6)?,
        failures: row.get(7)?,
        claimed_by: row.get(8)?,
        request: row.get(9)?,
        lease_until: row.get::<_, Option<i64>>(10)?.map(Timestamp),
        queued_at: time(row, 11)?,
    })
}

/// Columns of a timer.
pub(crate) const TIMER: &str = "id, token, state, visit, event, payload, set_at, due_at, kind";

pub(crate) fn timer(row: &Row<'_>) -> Result<Timer, Broken> {
    Ok(Timer {
        id: row.get(0)?,
        token: row.get(1)?,
        state: row.get(2)?,
        visit: row.get(3)?,
        event: row.get(4)?,
        payload: object(row, 5, "timers.payload")?,
        set_at: time(row, 6)?,
        due_at: time(row, 7)?,
        kind: codec::read_timer_kind(&row.get::<_, String>(8)?)?,
    })
}

/// Columns of a held event.
pub(crate) const HELD: &str = "top, arrival, token, event, payload, origin_task, origin_state, origin_visit, context, \
    schedules";

pub(crate) fn held(row: &Row<'_>) -> Result<Held, Broken> {
    let task: Option<u64> = row.get(5)?;
    let origin = task.map(|task| Ok::<_, Broken>(Origin { task, state: row.get(6)?, visit: row.get(7)? }));
    Ok(Held {
        top: row.get(0)?,
        arrival: row.get(1)?,
        token: row.get(2)?,
        event: row.get(3)?,
        payload: object(row, 4, "held.payload")?,
        origin: origin.transpose()?,
        context: codec::read_object("held.context", &row.get::<_, String>(8)?)?,
        schedules: codec::read_schedules(&row.get::<_, String>(9)?)?,
    })
}

/// Columns of a memory cell.
pub(crate) const CELL: &str = "key, value";

pub(crate) fn cell(row: &Row<'_>) -> Result<MemoryCell, Broken> {
    Ok(MemoryCell { key: row.get(0)?, value: row.get(1)? })
}

/// Columns of a ledger entry.
pub(crate) const ENTRY: &str = "token, seq, at, kind, key, data, private";

pub(crate) fn entry(row: &Row<'_>) -> Result<Entry, Broken> {
    let (kind, data) = codec::read_entry(&row.get::<_, String>(3)?, &row.get::<_, String>(5)?)?;
    let private = row.get::<_, Option<String>>(6)?.map(|text| codec::read_private(&text)).transpose()?;
    Ok(Entry {
        token: row.get(0)?,
        seq: row.get(1)?,
        at: time(row, 2)?,
        kind,
        data,
        key: row.get(4)?,
        private,
    })
}

/// Columns of an assignment; the table is called `a` where they are read.
pub(crate) const ASSIGNMENT: &str =
    "a.workflow, a.state, a.version, a.digest, a.name, a.limits, a.assigned_at";
/// How many columns an assignment has.
pub(crate) const ASSIGNMENT_WIDTH: usize = 7;

pub(crate) fn assignment(row: &Row<'_>) -> Result<Assignment, Broken> {
    Ok(Assignment {
        workflow: row.get(0)?,
        state: row.get(1)?,
        version: row.get(2)?,
        digest: row.get(3)?,
        name: row.get(4)?,
        limits: codec::read_limits(&row.get::<_, String>(5)?)?,
        assigned_at: time(row, 6)?,
    })
}

/// Columns of an upload; the table is called `c` where they are read.
pub(crate) const UPLOAD: &str = "c.digest, c.size, c.sdk, c.uploaded_at";

/// Reads an upload whose first column is the one with number `from`.
pub(crate) fn upload(row: &Row<'_>, from: usize) -> Result<Upload, Broken> {
    Ok(Upload {
        digest: row.get(from)?,
        size: row.get(from + 1)?,
        sdk: row.get(from + 2)?,
        uploaded_at: time(row, from + 3)?,
    })
}

/// Columns of the control plane's row.
pub(crate) const CONTROL: &str = "database_id, structure, checksum, alive_at, latest";

pub(crate) fn control(row: &Row<'_>) -> Result<ControlRow, Broken> {
    Ok(ControlRow {
        database_id: row.get(0)?,
        structure: row.get(1)?,
        checksum: row.get(2)?,
        alive_at: time(row, 3)?,
        latest: time(row, 4)?,
    })
}

fn time(row: &Row<'_>, column: usize) -> Result<Timestamp, rusqlite::Error> {
    row.get(column).map(Timestamp)
}

fn object(
    row: &Row<'_>,
    column: usize,
    name: &'static str,
) -> Result<Option<stateous_engine::json::Object>, Broken> {
    let text: Option<String> = row.get(column)?;
    Ok(text.map(|text| codec::read_object(name, &text)).transpose()?)
}
