//! Rows as they are read: which columns, in which order, and how they become the engine's types.
//!
//! Each list of columns stands next to its reader, and the reader counts along it. Writing is left to `apply`.

use sqlx::postgres::{PgRow, Postgres};
use sqlx::{Decode, Row as _, Type};
use stateous_engine::Timestamp;
use stateous_engine::model::{Entry, EventRecord, Held, MemoryCell, Origin, Task, Timer, Token};
use stateous_store::{Assignment, ControlRow, Failure, FailureKind, ListedToken, Upload, codec};

use crate::failure::Broken;

/// Columns of a token; the table is called `t` where they are read.
pub(crate) const TOKEN: &str = "t.id, t.workflow, t.structure, t.state, t.status, t.visit, t.started_at, \
    t.entered_at, t.parent, t.seq, t.visits, t.counts, t.entered_by_event, t.entered_by_payload, t.paused_at, \
    t.ended_by_event, t.ended_by_payload";
/// How many columns a token has: what is read besides it comes after.
pub(crate) const TOKEN_WIDTH: usize = 17;

pub(crate) fn token(row: &PgRow) -> Result<Token, Broken> {
    Ok(Token {
        id: get(row, 0)?,
        workflow: get(row, 1)?,
        structure: get(row, 2)?,
        state: get(row, 3)?,
        status: codec::read_status(get(row, 4)?)?,
        visit: whole(row, 5)?,
        started_at: time(row, 6)?,
        entered_at: time(row, 7)?,
        parent: get(row, 8)?,
        seq: whole(row, 9)?,
        visits: codec::read_counts("tokens.visits", get(row, 10)?)?,
        counts: codec::read_counts("tokens.counts", get(row, 11)?)?,
        entered_by: EventRecord {
            name: get(row, 12)?,
            payload: object(row, 13, "tokens.entered_by_payload")?,
        },
        paused_at: get::<Option<i64>>(row, 14)?.map(Timestamp),
        ended_by: match get(row, 15)? {
            Some(name) => Some(EventRecord { name, payload: object(row, 16, "tokens.ended_by_payload")? }),
            None => None,
        },
    })
}

/// Columns of a token in a listing; the tables are called `t` and `c` where they are read.
pub(crate) const LISTED: &str = "t.id, t.state, t.status, t.visit, t.entered_at, t.parent, c.context";

pub(crate) fn listed(row: &PgRow) -> Result<ListedToken, Broken> {
    Ok(ListedToken {
        id: get(row, 0)?,
        state: get(row, 1)?,
        status: codec::read_status(get(row, 2)?)?,
        visit: whole(row, 3)?,
        entered_at: time(row, 4)?,
        parent: get(row, 5)?,
        context: get::<&str>(row, 6)?.into(),
    })
}

/// Columns of a task.
pub(crate) const TASK: &str = "id, token, workflow, state, visit, status, attempt, failures, claimed_by, request, \
    lease_until, queued_at";

pub(crate) fn task(row: &PgRow) -> Result<Task, Broken> {
    Ok(Task {
        id: whole(row, 0)?,
        token: get(row, 1)?,
        workflow: get(row, 2)?,
        state: get(row, 3)?,
        visit: whole(row, 4)?,
        status: codec::read_task_status(get(row, 5)?)?,
        attempt: whole(row, 6)?,
        failures: whole(row, 7)?,
        claimed_by: get(row, 8)?,
        request: get(row, 9)?,
        lease_until: get::<Option<i64>>(row, 10)?.map(Timestamp),
        queued_at: time(row, 11)?,
    })
}

/// Columns of a timer.
pub(crate) const TIMER: &str = "id, token, state, visit, event, payload, set_at, due_at, kind";

pub(crate) fn timer(row: &PgRow) -> Result<Timer, Broken> {
    Ok(Timer {
        id: whole(row, 0)?,
        token: get(row, 1)?,
        state: get(row, 2)?,
        visit: whole(row, 3)?,
        event: get(row, 4)?,
        payload: object(row, 5, "timers.payload")?,
        set_at: time(row, 6)?,
        due_at: time(row, 7)?,
        kind: codec::read_timer_kind(get(row, 8)?)?,
    })
}

/// Columns of a held event.
pub(crate) const HELD: &str = "top, arrival, token, event, payload, origin_task, origin_state, origin_visit, context, \
    schedules";

pub(crate) fn held(row: &PgRow) -> Result<Held, Broken> {
    let task: Option<i64> = get(row, 5)?;
    let origin = task.map(|_| {
        Ok::<_, Broken>(Origin { task: whole(row, 5)?, state: get(row, 6)?, visit: whole(row, 7)? })
    });
    Ok(Held {
        top: get(row, 0)?,
        arrival: whole(row, 1)?,
        token: get(row, 2)?,
        event: get(row, 3)?,
        payload: object(row, 4, "held.payload")?,
        origin: origin.transpose()?,
        context: codec::read_object("held.context", get(row, 8)?)?,
        schedules: codec::read_schedules(get(row, 9)?)?,
    })
}

/// Columns of a memory cell.
pub(crate) const CELL: &str = "key, value";

pub(crate) fn cell(row: &PgRow) -> Result<MemoryCell, Broken> {
    Ok(MemoryCell { key: get(row, 0)?, value: get::<&str>(row, 1)?.into() })
}

/// Columns of a ledger entry.
pub(crate) const ENTRY: &str = "token, seq, at, kind, key, data, private";

pub(crate) fn entry(row: &PgRow) -> Result<Entry, Broken> {
    let (kind, data) = codec::read_entry(get(row, 3)?, get(row, 5)?)?;
    let private = get::<Option<&str>>(row, 6)?.map(codec::read_private).transpose()?;
    let (token, seq, at) = (get(row, 0)?, whole(row, 1)?, time(row, 2)?);
    Ok(Entry { token, seq, at, kind, data, key: get(row, 4)?, private })
}

/// Columns of an assignment; the table is called `a` where they are read.
pub(crate) const ASSIGNMENT: &str =
    "a.workflow, a.state, a.version, a.digest, a.name, a.limits, a.assigned_at";
/// How many columns an assignment has.
pub(crate) const ASSIGNMENT_WIDTH: usize = 7;

pub(crate) fn assignment(row: &PgRow) -> Result<Assignment, Broken> {
    Ok(Assignment {
        workflow: get(row, 0)?,
        state: get(row, 1)?,
        version: whole(row, 2)?,
        digest: get(row, 3)?,
        name: get(row, 4)?,
        limits: codec::read_limits(get(row, 5)?)?,
        assigned_at: time(row, 6)?,
    })
}

/// Columns of an upload; the table is called `c` where they are read.
pub(crate) const UPLOAD: &str = "c.digest, c.size, c.sdk, c.uploaded_at";

/// Reads an upload whose first column is the one with number `from`.
pub(crate) fn upload(row: &PgRow, from: usize) -> Result<Upload, Broken> {
    Ok(Upload {
        digest: get(row, from)?,
        size: whole(row, from + 1)?,
        sdk: get(row, from + 2)?,
        uploaded_at: time(row, from + 3)?,
    })
}

/// Columns of the control plane's row.
pub(crate) const CONTROL: &str = "database_id, structure, checksum, alive_at, latest";

pub(crate) fn control(row: &PgRow) -> Result<ControlRow, Broken> {
    Ok(ControlRow {
        database_id: get(row, 0)?,
        structure: get(row, 1)?,
        checksum: get(row, 2)?,
        alive_at: time(row, 3)?,
        latest: time(row, 4)?,
    })
}

/// A column as it is.
pub(crate) fn get<'r, T: Decode<'r, Postgres> + Type<Postgres>>(
    row: &'r PgRow,
    column: usize,
) -> Result<T, Broken> {
    Ok(row.try_get(column)?)
}

/// A number that is never negative.
pub(crate) fn whole(row: &PgRow, column: usize) -> Result<u64, Broken> {
    let number: i64 = get(row, column)?;
    u64::try_from(number).map_err(|_| {
        let message = format!("a column holds {number}, which is below 0; restore the row from a backup");
        Failure::new(FailureKind::Statement, message).into()
    })
}

/// An instant.
pub(crate) fn time(row: &PgRow, column: usize) -> Result<Timestamp, Broken> {
    get(row, column).map(Timestamp)
}

/// A number as Postgres holds it.
pub(crate) fn bigint(number: u64) -> Result<i64, Broken> {
    i64::try_from(number).map_err(|e| sqlx::Error::Encode(e.into()).into())
}

fn object(
    row: &PgRow,
    column: usize,
    name: &'static str,
) -> Result<Option<stateous_engine::json::Object>, Broken> {
    let text: Option<&str> = get(row, column)?;
    Ok(text.map(|text| codec::read_object(name, text)).transpose()?)
}
