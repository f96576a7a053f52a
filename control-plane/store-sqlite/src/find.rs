//! Finds work: queued tasks, leases that are over, timers that are due. Each question has its own partial index, so that
//! an answer costs the same beside a million rows that are none of its business.

use std::collections::BinaryHeap;

use rusqlite::{Connection, params};
use stateous_engine::Timestamp;
use stateous_engine::model::Incarnation;
use stateous_store::QueuedFilter;

use crate::failure::Broken;
use crate::sql;

/// Queued tasks of active tokens that a claim may take, lowest id first.
pub(crate) fn queued_tasks(conn: &Connection, filter: &QueuedFilter, limit: u32) -> Result<Vec<u64>, Broken> {
    let mut pairs = match &filter.states {
        Some(states) => states.clone(),
        None => queued_states(conn)?,
    };
    // A pair that is named twice would be granted twice.
    pairs.sort_unstable();
    pairs.dedup();
    // The lowest ids so far, the highest of them on top: a pair is read no further than it can still lower them.
    let mut lowest = BinaryHeap::new();
    for (workflow, state) in &pairs {
        if filter.assigned && !is_assigned(conn, workflow, state)? {
            continue;
        }
        let full = lowest.len() >= limit as usize;
        let below = lowest.peek().copied().filter(|_| full).unwrap_or(i64::MAX as u64);
        lowest.extend(queued_in(conn, workflow, state, below, limit)?);
        while lowest.len() > limit as usize {
            lowest.pop();
        }
    }
    Ok(lowest.into_sorted_vec())
}

/// Queued tasks of one state with an id up to `below`, lowest first.
fn queued_in(
    conn: &Connection,
    workflow: &str,
    state: &str,
    below: u64,
    limit: u32,
) -> Result<Vec<u64>, Broken> {
    const SQL: &str = "SELECT id FROM tasks INDEXED BY tasks_queued \
        WHERE status = 'queued' AND workflow = ?1 AND state = ?2 AND id <= ?3 \
        AND EXISTS (SELECT 1 FROM tokens t WHERE t.folded = lower(tasks.token) AND t.status = 'active') \
        ORDER BY id LIMIT ?4";
    sql::all(conn, SQL, params![workflow, state, below, limit], |row| Ok(row.get(0)?))
}

/// Every (workflow, state) in which a task is queued: few, whatever the number of tasks, so each is looked up by the
/// one before it. (SQLite would compare a pair of columns only after walking over every task of the last pair.)
pub(crate) fn queued_states(conn: &Connection) -> Result<Vec<(String, String)>, Broken> {
    const WORKFLOW: &str = "SELECT workflow FROM tasks INDEXED BY tasks_queued \
        WHERE status = 'queued' AND workflow > ?1 ORDER BY workflow LIMIT 1";
    const STATE: &str = "SELECT state FROM tasks INDEXED BY tasks_queued \
        WHERE status = 'queued' AND workflow = ?1 AND state > ?2 ORDER BY state LIMIT 1";
    let mut pairs = Vec::new();
    let mut workflow = String::new();
    while let Some(next) = sql::first(conn, WORKFLOW, [&workflow], |row| Ok(row.get(0)?))? {
        workflow = next;
        let mut state = String::new();
        while let Some(next) = sql::first(conn, STATE, [&workflow, &state], |row| Ok(row.get(0)?))? {
            state = next;
            pairs.push((workflow.clone(), state.clone()));
        }
    }
    Ok(pairs)
}

pub(crate) fn is_assigned(conn: &Connection, workflow: &str, state: &str) -> Result<bool, Broken> {
    const SQL: &str = "SELECT 1 FROM assignments WHERE workflow = ?1 AND state = ?2 LIMIT 1";
    Ok(sql::first(conn, SQL, [workflow, state], |_| Ok(()))?.is_some())
}

/// Held tasks that a supervisor got with a request, by id.
pub(crate) fn tasks_of_request(
    conn: &Connection,
    supervisor: &str,
    request: &str,
) -> Result<Vec<u64>, Broken> {
    const SQL: &str = "SELECT id FROM tasks INDEXED BY tasks_requested \
        WHERE status IN ('claimed', 'started') AND claimed_by = ?1 AND request = ?2 ORDER BY id";
    sql::all(conn, SQL, [supervisor, request], |row| Ok(row.get(0)?))
}

/// Held tasks that other starts of a folder claimed under a supervisor's name, by id. A claim's id is
/// `folder:start:request`, and `;` follows `:`, so both ranges are walked by the index and this start's own tasks are not.
pub(crate) fn tasks_of_other_starts(
    conn: &Connection,
    supervisor: &str,
    incarnation: &Incarnation,
) -> Result<Vec<u64>, Broken> {
    const SQL: &str = "SELECT id FROM tasks INDEXED BY tasks_requested \
        WHERE status IN ('claimed', 'started') AND claimed_by = ?1 AND request > ?2 AND request < ?3";
    let folder = &incarnation.folder;
    let between = |from: String, to: String| {
        sql::all(conn, SQL, [supervisor, &from, &to], |row| Ok(row.get::<_, u64>(0)?))
    };
    let mut ids = between(format!("{folder}:"), format!("{incarnation}:"))?;
    ids.extend(between(format!("{incarnation};"), format!("{folder};"))?);
    ids.sort_unstable();
    Ok(ids)
}

/// Held tasks whose lease ended before `now`, earliest first.
pub(crate) fn expired_leases(conn: &Connection, now: Timestamp, limit: u32) -> Result<Vec<u64>, Broken> {
    const SQL: &str = "SELECT id FROM tasks INDEXED BY tasks_leased \
        WHERE status IN ('claimed', 'started') AND lease_until < ?1 ORDER BY lease_until, id LIMIT ?2";
    sql::all(conn, SQL, params![now.0, limit], |row| Ok(row.get(0)?))
}

/// Timers of active tokens that are due at `now`, by due time, then id.
pub(crate) fn due_timers(conn: &Connection, now: Timestamp, limit: u32) -> Result<Vec<u64>, Broken> {
    const SQL: &str = "SELECT id FROM timers INDEXED BY timers_due WHERE due_at <= ?1 \
        AND EXISTS (SELECT 1 FROM tokens t WHERE t.folded = lower(timers.token) AND t.status = 'active') \
        ORDER BY due_at, id LIMIT ?2";
    sql::all(conn, SQL, params![now.0, limit], |row| Ok(row.get(0)?))
}

/// The first instant at which a lease will be over or a timer of an active token due.
pub(crate) fn next_due(conn: &Connection) -> Result<Option<Timestamp>, Broken> {
    // A lease is over one millisecond after its end, a timer is due at its own.
    const LEASE: &str = "SELECT lease_until + 1 FROM tasks INDEXED BY tasks_leased \
        WHERE status IN ('claimed', 'started') AND lease_until IS NOT NULL ORDER BY lease_until LIMIT 1";
    const TIMER: &str = "SELECT due_at FROM timers INDEXED BY timers_due \
        WHERE EXISTS (SELECT 1 FROM tokens t WHERE t.folded = lower(timers.token) AND t.status = 'active') \
        ORDER BY due_at LIMIT 1";
    let lease: Option<i64> = sql::first(conn, LEASE, [], |row| Ok(row.get(0)?))?;
    let timer: Option<i64> = sql::first(conn, TIMER, [], |row| Ok(row.get(0)?))?;
    Ok([lease, timer].into_iter().flatten().min().map(Timestamp))
}

/// Moves every open lease `ms` later.
pub(crate) fn extend_leases(conn: &Connection, ms: i64) -> Result<u64, Broken> {
    const SQL: &str = "UPDATE tasks SET lease_until = lease_until + ?1 \
        WHERE status IN ('claimed', 'started') AND lease_until IS NOT NULL";
    Ok(sql::run(conn, SQL, [ms])? as u64)
}

/// How many tasks are held under a lease.
pub(crate) fn held_tasks(conn: &Connection) -> Result<u64, Broken> {
    const SQL: &str =
        "SELECT count(*) FROM tasks INDEXED BY tasks_leased WHERE status IN ('claimed', 'started')";
    Ok(sql::first(conn, SQL, [], |row| Ok(row.get(0)?))?.unwrap_or(0))
}

/// How many top tokens are active or paused in a workflow and structure that is none of `served`.
pub(crate) fn live_tokens_outside(conn: &Connection, served: &[(&str, &str)]) -> Result<u64, Broken> {
    const SQL: &str = "SELECT workflow, structure, count(*) FROM tokens \
        WHERE status IN ('active', 'paused') AND parent IS NULL GROUP BY workflow, structure";
    let live: Vec<(String, String, u64)> =
        sql::all(conn, SQL, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let outside = live.iter().filter(|(w, s, _)| !served.contains(&(w.as_str(), s.as_str())));
    Ok(outside.map(|(_, _, tokens)| tokens).sum())
}
