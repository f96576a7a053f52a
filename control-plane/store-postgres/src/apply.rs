//! Writes what decisions changed: one statement for each table and kind of change, whatever the number of rows.
//!
//! Rows travel as one array for each column, which Postgres makes rows of again (`unnest`). It finds out by itself which
//! indexes an update leaves alone.

use std::collections::BTreeMap;

use stateous_engine::model::{Entry, Held, Task, Timer, Token};
use stateous_store::{Failure, FailureKind, codec};

use crate::connection::Connection;
use crate::failure::{Broken, During};
use crate::load::cell_bytes;
use crate::pending::{CellKey, Pending, Rows, Write};
use crate::rows::{bigint, get, whole};
use crate::sql::{self, params, run};

/// Writes everything that waits.
pub(crate) fn apply(conn: &mut Connection, pending: &Pending) -> Result<(), Failure> {
    let Pending { tokens, contexts, tasks, timers, held, wiped, cells, entries, .. } = pending;
    insert_tokens(conn, &inserted(tokens)).during(&doing("insert token", keys(tokens)))?;
    insert_contexts(conn, contexts).during(&doing("insert the context of token", keys(contexts)))?;
    update_tokens(conn, &updated(tokens)).during(&doing("update token", keys(tokens)))?;
    put_contexts(conn, contexts).during(&doing("replace the context of token", keys(contexts)))?;
    insert_tasks(conn, &inserted(tasks)).during(&doing("insert task", keys(tasks)))?;
    update_tasks(conn, &updated(tasks)).during(&doing("update task", keys(tasks)))?;
    insert_timers(conn, &inserted(timers)).during(&doing("insert timer", keys(timers)))?;
    update_timers(conn, &updated(timers)).during(&doing("update timer", keys(timers)))?;
    delete_timers(conn, timers).during(&doing("delete timer", keys(timers)))?;
    // First what goes: its place may be given again.
    let of_families = || held.keys().map(|(top, arrival)| format!("{arrival} of token {top}"));
    delete_held(conn, held).during(&doing("delete held event", of_families()))?;
    insert_held(conn, &inserted(held)).during(&doing("hold event", of_families()))?;
    let wiped = wiped.iter().map(String::as_str).collect::<Vec<_>>();
    delete_all_memory(conn, &wiped).during(&doing("delete the memory of token", wiped.iter()))?;
    let of_cells = cells.keys().map(|(token, ..)| token);
    put_memory(conn, cells).during(&doing("change the memory of token", of_cells))?;
    let of_entries = entries.iter().map(|e| format!("{} of token {}", e.seq, e.token));
    append(conn, entries).during(&doing("append to the ledger entry", of_entries))
}

/// What is done, in a sentence about its failure: the first of what it is done to, and how many more.
fn doing(what: &str, mut to: impl ExactSizeIterator<Item = impl ToString>) -> String {
    let first = to.next().map(|first| first.to_string()).unwrap_or_default();
    match to.len() {
        0 => format!("{what} {first}"),
        more => format!("{what} {first} or one of {more} more"),
    }
}

fn keys<K: ToString + Ord, T>(rows: &Rows<K, T>) -> impl ExactSizeIterator<Item = String> {
    rows.keys().map(ToString::to_string)
}

fn inserted<K, T>(rows: &Rows<K, T>) -> Vec<&T> {
    rows.values().filter_map(|write| if let Write::Insert(row) = write { Some(row) } else { None }).collect()
}

fn updated<K, T>(rows: &Rows<K, T>) -> Vec<&T> {
    rows.values().filter_map(|write| if let Write::Update(row) = write { Some(row) } else { None }).collect()
}

fn deleted<K: Clone, T>(rows: &Rows<K, T>) -> Vec<K> {
    rows.iter().filter(|(_, write)| matches!(write, Write::Delete)).map(|(key, _)| key.clone()).collect()
}

/// One column of rows.
fn column<'a, R, T>(rows: &[&'a R], value: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(|row| value(row)).collect()
}

/// One column of numbers.
fn numbers<R>(rows: &[&R], value: impl Fn(&R) -> u64) -> Result<Vec<i64>, Broken> {
    rows.iter().map(|row| bigint(value(row))).collect()
}

fn insert_tokens(conn: &mut Connection, tokens: &[&Token]) -> Result<(), Broken> {
    const SQL: &str = "INSERT INTO tokens (id, folded, workflow, structure, state, status, visit, started_at, \
        entered_at, parent, seq, visits, counts, entered_by_event, entered_by_payload, paused_at, ended_by_event, \
        ended_by_payload) \
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], \
        $8::bigint[], $9::bigint[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[], \
        $16::bigint[], $17::text[], $18::text[])";
    if tokens.is_empty() {
        return Ok(());
    }
    let values = params![
        column(tokens, |t| t.id.as_str()),
        column(tokens, |t| t.id.to_ascii_lowercase()),
        column(tokens, |t| t.workflow.as_str()),
        column(tokens, |t| t.structure.as_str()),
        column(tokens, |t| t.state.as_str()),
        column(tokens, |t| t.status.as_str()),
        numbers(tokens, |t| t.visit)?,
        column(tokens, |t| t.started_at.0),
        column(tokens, |t| t.entered_at.0),
        column(tokens, |t| t.parent.as_deref()),
        numbers(tokens, |t| t.seq)?,
        column(tokens, |t| codec::write_counts(&t.visits)),
        column(tokens, |t| codec::write_counts(&t.counts)),
        column(tokens, |t| t.entered_by.name.as_str()),
        column(tokens, |t| t.entered_by.payload.as_ref().map(codec::write_object)),
        column(tokens, |t| t.paused_at.map(|at| at.0)),
        column(tokens, |t| t.ended_by.as_ref().map(|by| by.name.as_str())),
        column(tokens, |t| t.ended_by.as_ref().and_then(|by| by.payload.as_ref()).map(codec::write_object)),
    ];
    run(conn, SQL, values).map(drop)
}

fn insert_contexts(
    conn: &mut Connection,
    contexts: &Rows<String, std::sync::Arc<str>>,
) -> Result<(), Broken> {
    const SQL: &str = "INSERT INTO contexts (token, context) SELECT * FROM unnest($1::text[], $2::text[])";
    let (tokens, texts): (Vec<&str>, Vec<&str>) = contexts
        .iter()
        .filter_map(|(token, write)| match write {
            Write::Insert(context) => Some((token.as_str(), &**context)),
            _ => None,
        })
        .unzip();
    if tokens.is_empty() {
        return Ok(());
    }
    run(conn, SQL, params![tokens, texts]).map(drop)
}

/// A token keeps its workflow, structure, start and parent.
fn update_tokens(conn: &mut Connection, tokens: &[&Token]) -> Result<(), Broken> {
    const SQL: &str = "UPDATE tokens t SET status = g.status, entered_at = g.entered_at, seq = g.seq, \
        state = g.state, visit = g.visit, visits = g.visits, counts = g.counts, \
        entered_by_event = g.entered_by_event, entered_by_payload = g.entered_by_payload, paused_at = g.paused_at, \
        ended_by_event = g.ended_by_event, ended_by_payload = g.ended_by_payload \
        FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], \
        $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[], $14::text[]) AS g (folded, id, \
        status, entered_at, seq, state, visit, visits, counts, entered_by_event, entered_by_payload, paused_at, \
        ended_by_event, ended_by_payload) \
        WHERE t.folded = g.folded AND t.id = g.id RETURNING t.id";
    if tokens.is_empty() {
        return Ok(());
    }
    let values = params![
        column(tokens, |t| t.id.to_ascii_lowercase()),
        column(tokens, |t| t.id.as_str()),
        column(tokens, |t| t.status.as_str()),
        column(tokens, |t| t.entered_at.0),
        numbers(tokens, |t| t.seq)?,
        column(tokens, |t| t.state.as_str()),
        numbers(tokens, |t| t.visit)?,
        column(tokens, |t| codec::write_counts(&t.visits)),
        column(tokens, |t| codec::write_counts(&t.counts)),
        column(tokens, |t| t.entered_by.name.as_str()),
        column(tokens, |t| t.entered_by.payload.as_ref().map(codec::write_object)),
        column(tokens, |t| t.paused_at.map(|at| at.0)),
        column(tokens, |t| t.ended_by.as_ref().map(|by| by.name.as_str())),
        column(tokens, |t| t.ended_by.as_ref().and_then(|by| by.payload.as_ref()).map(codec::write_object)),
    ];
    let found = sql::all(conn, SQL, values, |row| get::<String>(row, 0))?;
    each(&column(tokens, |t| t.id.clone()), found, "token")
}

fn put_contexts(conn: &mut Connection, contexts: &Rows<String, std::sync::Arc<str>>) -> Result<(), Broken> {
    const SQL: &str = "UPDATE contexts c SET context = g.context \
        FROM unnest($1::text[], $2::text[]) AS g (token, context) WHERE c.token = g.token RETURNING c.token";
    let (tokens, texts): (Vec<&str>, Vec<&str>) = contexts
        .iter()
        .filter_map(|(token, write)| match write {
            Write::Update(context) => Some((token.as_str(), &**context)),
            _ => None,
        })
        .unzip();
    if tokens.is_empty() {
        return Ok(());
    }
    let wanted: Vec<String> = tokens.iter().map(|&token| token.to_owned()).collect();
    let found = sql::all(conn, SQL, params![tokens, texts], |row| get::<String>(row, 0))?;
    each(&wanted, found, "the context of token")
}

fn insert_tasks(conn: &mut Connection, tasks: &[&Task]) -> Result<(), Broken> {
    const SQL: &str = "INSERT INTO tasks (id, token, workflow, state, visit, status, attempt, failures, claimed_by, \
        request, lease_until, queued_at) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], \
        $5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::text[], $11::bigint[], $12::bigint[])";
    if tasks.is_empty() {
        return Ok(());
    }
    let values = params![
        numbers(tasks, |t| t.id)?,
        column(tasks, |t| t.token.as_str()),
        column(tasks, |t| t.workflow.as_str()),
        column(tasks, |t| t.state.as_str()),
        numbers(tasks, |t| t.visit)?,
        column(tasks, |t| t.status.as_str()),
        numbers(tasks, |t| t.attempt)?,
        numbers(tasks, |t| t.failures)?,
        column(tasks, |t| t.claimed_by.as_deref()),
        column(tasks, |t| t.request.as_deref()),
        column(tasks, |t| t.lease_until.map(|at| at.0)),
        column(tasks, |t| t.queued_at.0),
    ];
    run(conn, SQL, values).map(drop)
}

/// A task keeps its token, workflow, state, visit and the time at which it was queued.
fn update_tasks(conn: &mut Connection, tasks: &[&Task]) -> Result<(), Broken> {
    const SQL: &str = "UPDATE tasks t SET status = g.status, claimed_by = g.claimed_by, request = g.request, \
        attempt = g.attempt, failures = g.failures, lease_until = g.lease_until \
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[]) \
        AS g (id, status, claimed_by, request, attempt, failures, lease_until) WHERE t.id = g.id RETURNING t.id";
    if tasks.is_empty() {
        return Ok(());
    }
    let values = params![
        numbers(tasks, |t| t.id)?,
        column(tasks, |t| t.status.as_str()),
        column(tasks, |t| t.claimed_by.as_deref()),
        column(tasks, |t| t.request.as_deref()),
        numbers(tasks, |t| t.attempt)?,
        numbers(tasks, |t| t.failures)?,
        column(tasks, |t| t.lease_until.map(|at| at.0)),
    ];
    let found = sql::all(conn, SQL, values, |row| whole(row, 0))?;
    each(&column(tasks, |t| t.id), found, "task")
}

fn insert_timers(conn: &mut Connection, timers: &[&Timer]) -> Result<(), Broken> {
    const SQL: &str = "INSERT INTO timers (id, token, state, visit, event, payload, set_at, due_at, kind) \
        SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], \
        $7::bigint[], $8::bigint[], $9::text[])";
    if timers.is_empty() {
        return Ok(());
    }
    let values = params![
        numbers(timers, |t| t.id)?,
        column(timers, |t| t.token.as_str()),
        column(timers, |t| t.state.as_str()),
        numbers(timers, |t| t.visit)?,
        column(timers, |t| t.event.as_str()),
        column(timers, |t| t.payload.as_ref().map(codec::write_object)),
        column(timers, |t| t.set_at.0),
        column(timers, |t| t.due_at.0),
        column(timers, |t| t.kind.as_str()),
    ];
    run(conn, SQL, values).map(drop)
}

/// A timer keeps all but the time at which it is due.
fn update_timers(conn: &mut Connection, timers: &[&Timer]) -> Result<(), Broken> {
    const SQL: &str = "UPDATE timers t SET due_at = g.due_at FROM unnest($1::bigint[], $2::bigint[]) \
        AS g (id, due_at) WHERE t.id = g.id RETURNING t.id";
    if timers.is_empty() {
        return Ok(());
    }
    let values = params![numbers(timers, |t| t.id)?, column(timers, |t| t.due_at.0)];
    let found = sql::all(conn, SQL, values, |row| whole(row, 0))?;
    each(&column(timers, |t| t.id), found, "timer")
}

fn delete_timers(conn: &mut Connection, timers: &Rows<u64, Timer>) -> Result<(), Broken> {
    const SQL: &str = "DELETE FROM timers WHERE id = ANY($1::bigint[]) RETURNING id";
    let ids = deleted(timers);
    if ids.is_empty() {
        return Ok(());
    }
    let values = ids.iter().map(|id| bigint(*id)).collect::<Result<Vec<_>, _>>()?;
    let found = sql::all(conn, SQL, params![values], |row| whole(row, 0))?;
    each(&ids, found, "timer")
}

fn insert_held(conn: &mut Connection, held: &[&Held]) -> Result<(), Broken> {
    const SQL: &str = "INSERT INTO held (top, arrival, token, event, payload, origin_task, origin_state, origin_visit, \
        context, schedules) SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], \
        $6::bigint[], $7::text[], $8::bigint[], $9::text[], $10::text[])";
    if held.is_empty() {
        return Ok(());
    }
    let number = |value: Option<u64>| value.map(bigint).transpose();
    let tasks: Result<Vec<_>, _> = held.iter().map(|h| number(h.origin.as_ref().map(|o| o.task))).collect();
    let visits: Result<Vec<_>, _> = held.iter().map(|h| number(h.origin.as_ref().map(|o| o.visit))).collect();
    let values = params![
        column(held, |h| h.top.as_str()),
        numbers(held, |h| h.arrival)?,
        column(held, |h| h.token.as_str()),
        column(held, |h| h.event.as_str()),
        column(held, |h| h.payload.as_ref().map(codec::write_object)),
        tasks?,
        column(held, |h| h.origin.as_ref().map(|o| o.state.as_str())),
        visits?,
        column(held, |h| codec::write_object(&h.context)),
        column(held, |h| codec::write_schedules(&h.schedules)),
    ];
    run(conn, SQL, values).map(drop)
}

fn delete_held(conn: &mut Connection, held: &Rows<(String, u64), Held>) -> Result<(), Broken> {
    const SQL: &str = "DELETE FROM held h USING unnest($1::text[], $2::bigint[]) AS g (top, arrival) \
        WHERE h.top = g.top AND h.arrival = g.arrival RETURNING h.top, h.arrival";
    let places = deleted(held);
    if places.is_empty() {
        return Ok(());
    }
    let (tops, arrivals): (Vec<String>, Vec<u64>) = places.iter().cloned().unzip();
    let arrivals = arrivals.into_iter().map(bigint).collect::<Result<Vec<_>, _>>()?;
    let found = sql::all(conn, SQL, params![tops, arrivals], |row| Ok((get(row, 0)?, whole(row, 1)?)))?;
    let shown = |places: Vec<(String, u64)>| places.into_iter().map(|(top, n)| format!("{n} of token {top}"));
    each(&Vec::from_iter(shown(places)), shown(found).collect(), "held event")
}

/// Deleting a cell that does not exist changes nothing.
fn put_memory(
    conn: &mut Connection,
    cells: &BTreeMap<CellKey, Option<std::sync::Arc<str>>>,
) -> Result<(), Broken> {
    const PUT: &str = "INSERT INTO memory (token, state, key, value) \
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) \
        ON CONFLICT (token, state, key) DO UPDATE SET value = excluded.value";
    const DELETE: &str = "DELETE FROM memory m USING unnest($1::text[], $2::text[], $3::text[]) AS g (token, state, key) \
        WHERE m.token = g.token AND m.state = g.state AND m.key = g.key";
    // An insert checks its row before it looks for one that is there: a total that shrinks is never a row of its own.
    const TOTALS: &str = "INSERT INTO memory_totals AS t (token, state, bytes) \
        SELECT token, state, 0 FROM unnest($1::text[], $2::text[]) AS g (token, state) \
        ON CONFLICT (token, state) DO NOTHING";
    const GROWN: &str = "UPDATE memory_totals t SET bytes = t.bytes + g.bytes \
        FROM unnest($1::text[], $2::text[], $3::bigint[]) AS g (token, state, bytes) \
        WHERE t.token = g.token AND t.state = g.state";
    if cells.is_empty() {
        return Ok(());
    }
    let before = cell_bytes(conn, cells.keys())?;
    let mut grown: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    let (mut put, mut gone) = (Vec::new(), Vec::new());
    for (cell, value) in cells {
        let (token, state, key) = cell;
        let was = before.get(cell).copied().map_or(Ok(0), bigint)?;
        let is = value.as_ref().map_or(Ok(0), |value| bigint((key.len() + value.len()) as u64))?;
        *grown.entry((token, state)).or_default() += is - was;
        match value {
            Some(value) => put.push((cell, &**value)),
            None => gone.push(cell),
        }
    }
    if !put.is_empty() {
        let cells: Vec<&CellKey> = put.iter().map(|(cell, _)| *cell).collect();
        let values: Vec<&str> = put.iter().map(|(_, value)| *value).collect();
        let (tokens, states) = (column(&cells, |c| c.0.as_str()), column(&cells, |c| c.1.as_str()));
        run(conn, PUT, params![tokens, states, column(&cells, |c| c.2.as_str()), values])?;
    }
    if !gone.is_empty() {
        let (tokens, states) = (column(&gone, |c| c.0.as_str()), column(&gone, |c| c.1.as_str()));
        run(conn, DELETE, params![tokens, states, column(&gone, |c| c.2.as_str())])?;
    }
    let tokens: Vec<&str> = grown.keys().map(|(token, _)| *token).collect();
    let states: Vec<&str> = grown.keys().map(|(_, state)| *state).collect();
    let bytes: Vec<i64> = grown.into_values().collect();
    run(conn, TOTALS, params![&tokens, &states])?;
    run(conn, GROWN, params![tokens, states, bytes]).map(drop)
}

fn delete_all_memory(conn: &mut Connection, tokens: &[&str]) -> Result<(), Broken> {
    if tokens.is_empty() {
        return Ok(());
    }
    run(conn, "DELETE FROM memory WHERE token = ANY($1::text[])", params![tokens])?;
    run(conn, "DELETE FROM memory_totals WHERE token = ANY($1::text[])", params![tokens]).map(drop)
}

fn append(conn: &mut Connection, entries: &[Entry]) -> Result<(), Broken> {
    const SQL: &str = "INSERT INTO ledger (token, seq, at, kind, key, data, private) SELECT * FROM unnest($1::text[], \
        $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[])";
    if entries.is_empty() {
        return Ok(());
    }
    let entries: Vec<&Entry> = entries.iter().collect();
    let stored: Vec<_> = entries.iter().map(|entry| codec::write_entry(entry.kind, &entry.data)).collect();
    let values = params![
        column(&entries, |e| e.token.as_str()),
        numbers(&entries, |e| e.seq)?,
        column(&entries, |e| e.at.0),
        stored.iter().map(|stored| stored.kind).collect::<Vec<_>>(),
        column(&entries, |e| e.key.as_deref()),
        stored.iter().map(|stored| stored.data.as_str()).collect::<Vec<_>>(),
        column(&entries, |e| e.private.as_ref().map(codec::write_private)),
    ];
    run(conn, SQL, values).map(drop)
}

/// A change that speaks of a row speaks of one that exists: each of `wanted` was `found`.
fn each<T: Ord + ToString>(wanted: &[T], mut found: Vec<T>, what: &str) -> Result<(), Broken> {
    found.sort_unstable();
    match wanted.iter().find(|one| found.binary_search(one).is_err()) {
        None => Ok(()),
        Some(missing) => {
            let message = format!("0 rows were there to change for {what} {}, not 1", missing.to_string());
            Err(Failure::new(FailureKind::Statement, message).into())
        }
    }
}
