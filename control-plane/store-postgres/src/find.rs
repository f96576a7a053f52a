//! Finds work: queued tasks, leases that are over, timers that are due. Each question has its own partial index, so that
//! an answer costs the same beside a million rows that are none of its business.
//!
//! Whether a row's token is active is asked for each row that an index names, in a subquery of its own: a join could be
//! turned into a walk over every token.

use sqlx::postgres::PgRow;
use stateous_engine::Timestamp;
use stateous_engine::model::Incarnation;
use stateous_store::QueuedFilter;

use crate::connection::Connection;
use crate::failure::Broken;
use crate::load::cannot_be_there;
use crate::rows::{get, time, whole};
use crate::sql::{self, params};

/// Queued tasks of active tokens that a claim may take, lowest id first.
pub(crate) fn queued_tasks(
    conn: &mut Connection,
    filter: &QueuedFilter,
    limit: u32,
) -> Result<Vec<u64>, Broken> {
    // Each state is read no further than the claim can take.
    const SQL: &str = "SELECT found.id FROM unnest($1::text[], $2::text[]) AS wanted (workflow, state) \
        CROSS JOIN LATERAL (SELECT id FROM tasks \
            WHERE status = 'queued' AND workflow = wanted.workflow AND state = wanted.state \
            AND (SELECT t.status FROM tokens t WHERE t.folded = lower(tasks.token)) = 'active' \
            ORDER BY id LIMIT $3) AS found \
        WHERE NOT $4 OR EXISTS (SELECT 1 FROM assignments a \
            WHERE a.workflow = wanted.workflow AND a.state = wanted.state) \
        ORDER BY found.id LIMIT $3";
    let mut pairs = match &filter.states {
        Some(states) => states.clone(),
        None => queued_states(conn)?,
    };
    // A pair that is named twice would be granted twice.
    pairs.sort_unstable();
    pairs.dedup();
    pairs.retain(|(workflow, state)| !cannot_be_there(workflow) && !cannot_be_there(state));
    let (workflows, states): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
    sql::all(conn, SQL, params![workflows, states, i64::from(limit), filter.assigned], id)
}

/// Every (workflow, state) in which a task is queued: few, whatever the number of tasks, so each is looked up by the
/// one before it.
pub(crate) fn queued_states(conn: &mut Connection) -> Result<Vec<(String, String)>, Broken> {
    const SQL: &str = "WITH RECURSIVE pairs AS ( \
        (SELECT workflow, state FROM tasks WHERE status = 'queued' ORDER BY workflow, state LIMIT 1) \
        UNION ALL SELECT next.workflow, next.state FROM pairs CROSS JOIN LATERAL ( \
            SELECT workflow, state FROM tasks \
            WHERE status = 'queued' AND (workflow, state) > (pairs.workflow, pairs.state) \
            ORDER BY workflow, state LIMIT 1) AS next) \
        SELECT workflow, state FROM pairs";
    sql::all(conn, SQL, params![], |row| Ok((get(row, 0)?, get(row, 1)?)))
}

/// Every (workflow, state) to which a component is assigned. They are as few as states are.
pub(crate) fn assigned_states(conn: &mut Connection) -> Result<Vec<(String, String)>, Broken> {
    const SQL: &str = "SELECT DISTINCT workflow, state FROM assignments";
    sql::all(conn, SQL, params![], |row| Ok((get(row, 0)?, get(row, 1)?)))
}

/// Held tasks that a supervisor got with a request, by id.
pub(crate) fn tasks_of_request(
    conn: &mut Connection,
    supervisor: &str,
    request: &str,
) -> Result<Vec<u64>, Broken> {
    const SQL: &str = "SELECT id FROM tasks \
        WHERE status IN ('claimed', 'started') AND claimed_by = $1 AND request = $2 ORDER BY id";
    if cannot_be_there(supervisor) || cannot_be_there(request) {
        return Ok(Vec::new());
    }
    sql::all(conn, SQL, params![supervisor, request], id)
}

/// Held tasks that other starts of a supervisor's folder got, by id.
pub(crate) fn tasks_of_other_starts(
    conn: &mut Connection,
    supervisor: &str,
    incarnation: &Incarnation,
) -> Result<Vec<u64>, Broken> {
    const SQL: &str = "SELECT id FROM tasks \
        WHERE status IN ('claimed', 'started') AND claimed_by = $1 AND request > $2 AND request < $3";
    let folder = &incarnation.folder;
    if cannot_be_there(supervisor) || cannot_be_there(folder) {
        return Ok(Vec::new());
    }
    let mut between = |from: String, to: String| sql::all(conn, SQL, params![supervisor, from, to], id);
    let mut ids = between(format!("{folder}:"), format!("{incarnation}:"))?;
    ids.extend(between(format!("{incarnation};"), format!("{folder};"))?);
    ids.sort_unstable();
    Ok(ids)
}

/// Held tasks whose lease ended before `now`, earliest first.
pub(crate) fn expired_leases(conn: &mut Connection, now: Timestamp, limit: u32) -> Result<Vec<u64>, Broken> {
    const SQL: &str = "SELECT id FROM tasks \
        WHERE status IN ('claimed', 'started') AND lease_until < $1 ORDER BY lease_until, id LIMIT $2";
    sql::all(conn, SQL, params![now.0, i64::from(limit)], id)
}

/// Timers of active tokens that are due at `now`, by due time, then id.
pub(crate) fn due_timers(conn: &mut Connection, now: Timestamp, limit: u32) -> Result<Vec<u64>, Broken> {
    const SQL: &str = "SELECT id FROM timers WHERE due_at <= $1 \
        AND (SELECT t.status FROM tokens t WHERE t.folded = lower(timers.token)) = 'active' \
        ORDER BY due_at, id LIMIT $2";
    sql::all(conn, SQL, params![now.0, i64::from(limit)], id)
}

/// The first instant at which a lease will be over or a timer of an active token due.
pub(crate) fn next_due(conn: &mut Connection) -> Result<Option<Timestamp>, Broken> {
    // A lease is over one millisecond after its end, a timer is due at its own.
    const LEASE: &str = "SELECT lease_until + 1 FROM tasks \
        WHERE status IN ('claimed', 'started') AND lease_until IS NOT NULL ORDER BY lease_until LIMIT 1";
    const TIMER: &str = "SELECT due_at FROM timers \
        WHERE (SELECT t.status FROM tokens t WHERE t.folded = lower(timers.token)) = 'active' \
        ORDER BY due_at, id LIMIT 1";
    let lease = sql::first(conn, LEASE, params![], |row| time(row, 0))?;
    let timer = sql::first(conn, TIMER, params![], |row| time(row, 0))?;
    Ok([lease, timer].into_iter().flatten().min())
}

/// Moves every open lease `ms` later.
pub(crate) fn extend_leases(conn: &mut Connection, ms: i64) -> Result<u64, Broken> {
    const SQL: &str = "UPDATE tasks SET lease_until = lease_until + $1 \
        WHERE status IN ('claimed', 'started') AND lease_until IS NOT NULL";
    sql::run(conn, SQL, params![ms])
}

/// How many tasks are held under a lease.
pub(crate) fn held_tasks(conn: &mut Connection) -> Result<u64, Broken> {
    const SQL: &str = "SELECT count(*) FROM tasks WHERE status IN ('claimed', 'started')";
    Ok(sql::first(conn, SQL, params![], |row| whole(row, 0))?.unwrap_or(0))
}

/// How many top tokens are active or paused in a workflow and structure that is none of `served`.
pub(crate) fn live_tokens_outside(conn: &mut Connection, served: &[(&str, &str)]) -> Result<u64, Broken> {
    const SQL: &str = "SELECT workflow, structure, count(*) FROM tokens \
        WHERE status IN ('active', 'paused') AND parent IS NULL GROUP BY workflow, structure";
    let live: Vec<(String, String, u64)> =
        sql::all(conn, SQL, params![], |row| Ok((get(row, 0)?, get(row, 1)?, whole(row, 2)?)))?;
    let outside = live.iter().filter(|(w, s, _)| !served.contains(&(w.as_str(), s.as_str())));
    Ok(outside.map(|(_, _, tokens)| tokens).sum())
}

fn id(row: &PgRow) -> Result<u64, Broken> {
    whole(row, 0)
}
