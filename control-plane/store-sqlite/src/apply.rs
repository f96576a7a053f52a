//! Writes a decision's changes, one row each.
//!
//! SQLite writes an index anew whenever a statement sets one of its columns, whether the value changes or not. Most
//! updates leave what is indexed alone (a note moves a token's `seq`, a heartbeat a task's lease), so each update first
//! tries to be that small, and only when the row differs more than that sets everything.

use rusqlite::{Connection, params};
use stateous_engine::change::Change;
use stateous_engine::model::{Entry, Held, MemoryCell, Task, Timer, Token};
use stateous_store::{Failure, FailureKind, codec};

use crate::failure::Broken;
use crate::load::cell_bytes;
use crate::sql::run;

/// Writes one change.
pub(crate) fn apply(conn: &Connection, change: &Change) -> Result<(), Broken> {
    match change {
        Change::InsertToken { token, context } => insert_token(conn, token, context),
        Change::UpdateToken(token) => update_token(conn, token),
        Change::PutContext { token, context } => put_context(conn, token, context),
        Change::InsertTask(task) => insert_task(conn, task),
        Change::UpdateTask(task) => update_task(conn, task),
        Change::InsertTimer(timer) => insert_timer(conn, timer),
        Change::UpdateTimer(timer) => update_timer(conn, timer),
        Change::DeleteTimer(id) => delete_timer(conn, *id),
        Change::InsertHeld(held) => insert_held(conn, held),
        Change::DeleteHeld { top, arrival } => delete_held(conn, top, *arrival),
        Change::PutMemory { token, state, cell } => put_memory(conn, token, state, cell),
        Change::DeleteMemory { token, state, key } => delete_memory(conn, token, state, key),
        Change::DeleteAllMemory { token } => delete_all_memory(conn, token),
        Change::Append(entry) => append(conn, entry),
    }
}

/// What the change is called in a sentence about its failure.
pub(crate) fn doing(change: &Change) -> String {
    match change {
        Change::InsertToken { token, .. } => format!("insert token {}", token.id),
        Change::UpdateToken(token) => format!("update token {}", token.id),
        Change::PutContext { token, .. } => format!("replace the context of token {token}"),
        Change::InsertTask(task) => format!("insert task {}", task.id),
        Change::UpdateTask(task) => format!("update task {}", task.id),
        Change::InsertTimer(timer) => format!("insert timer {}", timer.id),
        Change::UpdateTimer(timer) => format!("update timer {}", timer.id),
        Change::InsertHeld(held) => format!("hold event {} of token {}", held.arrival, held.token),
        Change::DeleteHeld { top, arrival } => format!("delete held event {arrival} of token {top}"),
        Change::DeleteTimer(id) => format!("delete timer {id}"),
        Change::PutMemory { token, .. } | Change::DeleteMemory { token, .. } => {
            format!("change the memory of token {token}")
        }
        Change::DeleteAllMemory { token } => format!("delete the memory of token {token}"),
        Change::Append(entry) => format!("append entry {} to the ledger of token {}", entry.seq, entry.token),
    }
}

fn insert_token(conn: &Connection, token: &Token, context: &str) -> Result<(), Broken> {
    const SQL: &str = "INSERT INTO tokens (id, folded, workflow, structure, state, status, visit, started_at, \
        entered_at, parent, seq, visits, counts, entered_by_event, entered_by_payload, paused_at, ended_by_event, \
        ended_by_payload) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";
    run(
        conn,
        SQL,
        params![
            token.id,
            token.id.to_ascii_lowercase(),
            token.workflow,
            token.structure,
            token.state,
            token.status.as_str(),
            token.visit,
            token.started_at.0,
            token.entered_at.0,
            token.parent,
            token.seq,
            codec::write_counts(&token.visits),
            codec::write_counts(&token.counts),
            token.entered_by.name,
            token.entered_by.payload.as_ref().map(codec::write_object),
            token.paused_at.map(|at| at.0),
            token.ended_by.as_ref().map(|by| &by.name),
            token.ended_by.as_ref().and_then(|by| by.payload.as_ref()).map(codec::write_object),
        ],
    )?;
    run(conn, "INSERT INTO contexts (token, context) VALUES (?1, ?2)", params![token.id, context])?;
    Ok(())
}

/// A token keeps its workflow, structure, start and parent.
fn update_token(conn: &Connection, token: &Token) -> Result<(), Broken> {
    const COUNTERS: &str = "UPDATE tokens SET seq = ?5, state = ?6, visit = ?7, visits = ?8, counts = ?9, \
        entered_by_event = ?10, entered_by_payload = ?11, paused_at = ?12, ended_by_event = ?13, ended_by_payload = ?14 \
        WHERE folded = ?1 AND id = ?2 AND status = ?3 AND entered_at = ?4";
    const ALL: &str = "UPDATE tokens SET status = ?3, entered_at = ?4, seq = ?5, state = ?6, visit = ?7, \
        visits = ?8, counts = ?9, entered_by_event = ?10, entered_by_payload = ?11, paused_at = ?12, \
        ended_by_event = ?13, ended_by_payload = ?14 WHERE folded = ?1 AND id = ?2";
    let folded = token.id.to_ascii_lowercase();
    let visits = codec::write_counts(&token.visits);
    let counts = codec::write_counts(&token.counts);
    let payload = token.entered_by.payload.as_ref().map(codec::write_object);
    let values = params![
        folded,
        token.id,
        token.status.as_str(),
        token.entered_at.0,
        token.seq,
        token.state,
        token.visit,
        visits,
        counts,
        token.entered_by.name,
        payload,
        token.paused_at.map(|at| at.0),
        token.ended_by.as_ref().map(|by| &by.name),
        token.ended_by.as_ref().and_then(|by| by.payload.as_ref()).map(codec::write_object),
    ];
    if run(conn, COUNTERS, values)? == 1 {
        return Ok(());
    }
    one(run(conn, ALL, values)?)
}

fn put_context(conn: &Connection, token: &str, context: &str) -> Result<(), Broken> {
    one(run(conn, "UPDATE contexts SET context = ?2 WHERE token = ?1", params![token, context])?)
}

fn insert_task(conn: &Connection, task: &Task) -> Result<(), Broken> {
    const SQL: &str = "INSERT INTO tasks (id, token, workflow, state, visit, status, attempt, failures, claimed_by, \
        request, lease_until, queued_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    run(
        conn,
        SQL,
        params![
            task.id,
            task.token,
            task.workflow,
            task.state,
            task.visit,
            task.status.as_str(),
            task.attempt,
            task.failures,
            task.claimed_by,
            task.request,
            task.lease_until.map(|at| at.0),
            task.queued_at.0,
        ],
    )?;
    Ok(())
}

/// A task keeps its token, workflow, state, visit and the time at which it was queued.
fn update_task(conn: &Connection, task: &Task) -> Result<(), Broken> {
    const LEASE: &str = "UPDATE tasks SET attempt = ?5, failures = ?6, lease_until = ?7 \
        WHERE id = ?1 AND status = ?2 AND claimed_by IS ?3 AND request IS ?4";
    const ALL: &str = "UPDATE tasks SET status = ?2, claimed_by = ?3, request = ?4, attempt = ?5, failures = ?6, \
        lease_until = ?7 WHERE id = ?1";
    let lease = task.lease_until.map(|at| at.0);
    let values = params![
        task.id,
        task.status.as_str(),
        task.claimed_by,
        task.request,
        task.attempt,
        task.failures,
        lease,
    ];
    if run(conn, LEASE, values)? == 1 {
        return Ok(());
    }
    one(run(conn, ALL, values)?)
}

fn insert_timer(conn: &Connection, timer: &Timer) -> Result<(), Broken> {
    const SQL: &str = "INSERT INTO timers (id, token, state, visit, event, payload, set_at, due_at, kind) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    run(
        conn,
        SQL,
        params![
            timer.id,
            timer.token,
            timer.state,
            timer.visit,
            timer.event,
            timer.payload.as_ref().map(codec::write_object),
            timer.set_at.0,
            timer.due_at.0,
            timer.kind.as_str(),
        ],
    )?;
    Ok(())
}

/// A timer keeps all but the time at which it is due.
fn update_timer(conn: &Connection, timer: &Timer) -> Result<(), Broken> {
    one(run(conn, "UPDATE timers SET due_at = ?2 WHERE id = ?1", params![timer.id, timer.due_at.0])?)
}

fn delete_timer(conn: &Connection, id: u64) -> Result<(), Broken> {
    one(run(conn, "DELETE FROM timers WHERE id = ?1", [id])?)
}

fn insert_held(conn: &Connection, held: &Held) -> Result<(), Broken> {
    const SQL: &str = "INSERT INTO held (top, arrival, token, event, payload, origin_task, origin_state, origin_visit, \
        context, schedules) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let origin = held.origin.as_ref();
    run(
        conn,
        SQL,
        params![
            held.top,
            held.arrival,
            held.token,
            held.event,
            held.payload.as_ref().map(codec::write_object),
            origin.map(|o| o.task),
            origin.map(|o| &o.state),
            origin.map(|o| o.visit),
            codec::write_object(&held.context),
            codec::write_schedules(&held.schedules),
        ],
    )?;
    Ok(())
}

fn delete_held(conn: &Connection, top: &str, arrival: u64) -> Result<(), Broken> {
    one(run(conn, "DELETE FROM held WHERE top = ?1 AND arrival = ?2", params![top, arrival])?)
}

fn put_memory(conn: &Connection, token: &str, state: &str, cell: &MemoryCell) -> Result<(), Broken> {
    const CELL: &str = "INSERT INTO memory (token, state, key, value) VALUES (?1, ?2, ?3, ?4) \
        ON CONFLICT (token, state, key) DO UPDATE SET value = excluded.value";
    const TOTAL: &str = "INSERT INTO memory_totals (token, state, bytes) VALUES (?1, ?2, ?3) \
        ON CONFLICT (token, state) DO UPDATE SET bytes = bytes + excluded.bytes - ?4";
    let before = cell_bytes(conn, token, state, &cell.key)?.unwrap_or(0);
    let after = cell.key.len() + cell.value.len();
    run(conn, CELL, params![token, state, cell.key, cell.value])?;
    run(conn, TOTAL, params![token, state, after, before])?;
    Ok(())
}

/// Deleting a cell that does not exist changes nothing.
fn delete_memory(conn: &Connection, token: &str, state: &str, key: &str) -> Result<(), Broken> {
    const CELL: &str = "DELETE FROM memory WHERE token = ?1 AND state = ?2 AND key = ?3";
    const TOTAL: &str = "UPDATE memory_totals SET bytes = bytes - ?3 WHERE token = ?1 AND state = ?2";
    if let Some(bytes) = cell_bytes(conn, token, state, key)? {
        run(conn, CELL, params![token, state, key])?;
        run(conn, TOTAL, params![token, state, bytes])?;
    }
    Ok(())
}

fn delete_all_memory(conn: &Connection, token: &str) -> Result<(), Broken> {
    run(conn, "DELETE FROM memory WHERE token = ?1", [token])?;
    run(conn, "DELETE FROM memory_totals WHERE token = ?1", [token])?;
    Ok(())
}

fn append(conn: &Connection, entry: &Entry) -> Result<(), Broken> {
    const SQL: &str = "INSERT INTO ledger (token, seq, at, kind, key, data, private) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let stored = codec::write_entry(entry.kind, &entry.data);
    let private = entry.private.as_ref().map(codec::write_private);
    run(
        conn,
        SQL,
        params![entry.token, entry.seq, entry.at.0, stored.kind, entry.key, stored.data, private],
    )?;
    Ok(())
}

/// A change that speaks of a row speaks of one that exists.
fn one(rows: usize) -> Result<(), Broken> {
    if rows == 1 {
        return Ok(());
    }
    Err(Failure::new(FailureKind::Statement, format!("{rows} rows were there to change, not 1")).into())
}
