//! Loads what a decision needs to see, and nothing else: every lookup here is asked for by name in [`Wanted`].

use std::collections::BTreeMap;
use std::sync::Arc;

use stateous_engine::limits;
use stateous_engine::loaded::{Loaded, Member, Wanted};
use stateous_engine::model::{Held, MemoryCell, Status, Task, Timer, Token};

use crate::connection::Connection;
use crate::failure::Broken;
use crate::pending::CellKey;
use crate::rows::{self, CELL, HELD, TASK, TIMER, TOKEN, bigint, get, whole};
use crate::sql::{self, params};

/// What Postgres holds for `wanted`; the ids of the next task and timer are the writer's to add.
pub(crate) fn load(conn: &mut Connection, wanted: &Wanted) -> Result<Loaded, Broken> {
    let mut loaded = Loaded::default();
    if let Some(id) = wanted.task {
        loaded.task = task(conn, id)?;
    }
    if let Some(id) = wanted.timer {
        loaded.timer = timer(conn, id)?;
    }
    let id = wanted
        .token
        .as_ref()
        .or(loaded.task.as_ref().map(|task| &task.token))
        .or(loaded.timer.as_ref().map(|timer| &timer.token));
    if let Some(id) = id.cloned() {
        let found = token(conn, &id)?;
        match found {
            Some(token) if token.id == id => {
                loaded.member = Some(member(conn, token, wanted.context, wanted.open)?);
            }
            Some(other) if wanted.folded => loaded.folded = Some(other.id),
            _ => {}
        }
        if let Some(token) = loaded.member.as_ref().map(|member| &member.token)
            && (wanted.family || wanted.held)
        {
            let top = top(conn, token)?;
            if token.status == Status::Paused {
                loaded.next_arrival = if wanted.family { next_arrival(conn, &top)? } else { 0 };
                loaded.held = if wanted.held { held(conn, &top)? } else { Vec::new() };
            }
            loaded.top = Some(top);
        }
        if let Some(key) = &wanted.key {
            loaded.key_used = key_used(conn, &id, key)?;
        }
    }
    loaded.members = members(conn, &wanted.members)?;
    loaded.contexts = contexts(conn, &wanted.contexts)?;
    loaded.taken = taken(conn, &wanted.taken)?;
    if let Some(task) = &loaded.task {
        if wanted.memory {
            loaded.memory = memory(conn, task)?;
        }
        if let Some(key) = &wanted.memory_key {
            (loaded.memory_key_exists, loaded.memory_bytes_of_others) = memory_bytes(conn, task, key)?;
        }
    }
    Ok(loaded)
}

fn member(conn: &mut Connection, token: Token, with_context: bool, open: bool) -> Result<Member, Broken> {
    let mut member = Member { context: "".into(), tasks: Vec::new(), timers: Vec::new(), token };
    let id = member.token.id.as_str();
    if with_context {
        member.context = contexts(conn, &[id])?.remove(id).unwrap_or_default();
    }
    if open {
        member.tasks = open_tasks(conn, &[id])?;
        member.timers = pending_timers(conn, &[id])?;
    }
    Ok(member)
}

/// Other tokens with their open tasks and pending timers, however many, in three lookups.
fn members(
    conn: &mut Connection,
    ids: &[String],
) -> Result<BTreeMap<String, Option<Member>>, Broken> {
    let mut members: BTreeMap<String, Option<Member>> = ids.iter().map(|id| (id.clone(), None)).collect();
    let folded: Vec<String> =
        members.keys().filter(|id| !cannot_be_there(id)).map(|id| id.to_ascii_lowercase()).collect();
    if folded.is_empty() {
        return Ok(members);
    }
    let sql = format!("SELECT {TOKEN} FROM tokens t WHERE t.folded = ANY($1)");
    let mut found: BTreeMap<String, Member> = BTreeMap::new();
    for token in sql::all(conn, &sql, params![folded], rows::token)? {
        // Another token whose id differs only in case is somebody else's.
        if members.contains_key(&token.id) {
            let member = Member { context: "".into(), tasks: Vec::new(), timers: Vec::new(), token };
            found.insert(member.token.id.clone(), member);
        }
    }
    let ids: Vec<&str> = found.keys().map(String::as_str).collect();
    let (tasks, timers) = (open_tasks(conn, &ids)?, pending_timers(conn, &ids)?);
    for task in tasks {
        if let Some(member) = found.get_mut(&task.token) {
            member.tasks.push(task);
        }
    }
    for timer in timers {
        if let Some(member) = found.get_mut(&timer.token) {
            member.timers.push(timer);
        }
    }
    members.extend(found.into_iter().map(|(id, member)| (id, Some(member))));
    Ok(members)
}

fn open_tasks(conn: &mut Connection, tokens: &[&str]) -> Result<Vec<Task>, Broken> {
    let sql = format!(
        "SELECT {TASK} FROM tasks WHERE token = ANY($1) AND status IN ('queued', 'claimed', 'started', 'waiting') \
         ORDER BY id"
    );
    sql::all(conn, &sql, params![tokens], rows::task)
}

fn pending_timers(conn: &mut Connection, tokens: &[&str]) -> Result<Vec<Timer>, Broken> {
    let sql = format!("SELECT {TIMER} FROM timers WHERE token = ANY($1) ORDER BY id");
    sql::all(conn, &sql, params![tokens], rows::timer)
}

fn contexts(
    conn: &mut Connection,
    tokens: &[impl AsRef<str>],
) -> Result<BTreeMap<String, Arc<str>>, Broken> {
    const SQL: &str = "SELECT token, context FROM contexts WHERE token = ANY($1)";
    let tokens: Vec<&str> = tokens.iter().map(AsRef::as_ref).filter(|id| !cannot_be_there(id)).collect();
    if tokens.is_empty() {
        return Ok(BTreeMap::new());
    }
    let found = sql::all(conn, SQL, params![tokens], |row| Ok((get(row, 0)?, get::<&str>(row, 1)?.into())))?;
    Ok(found.into_iter().collect())
}

/// Which of these folded ids a token has.
fn taken(conn: &mut Connection, folded: &[String]) -> Result<BTreeMap<String, bool>, Broken> {
    const SQL: &str = "SELECT folded FROM tokens WHERE folded = ANY($1)";
    let mut taken: BTreeMap<String, bool> = folded.iter().map(|id| (id.clone(), false)).collect();
    let possible: Vec<&str> = folded.iter().map(String::as_str).filter(|id| !cannot_be_there(id)).collect();
    if !possible.is_empty() {
        let found = sql::all(conn, SQL, params![possible], |row| get::<String>(row, 0))?;
        taken.extend(found.into_iter().map(|id| (id, true)));
    }
    Ok(taken)
}

/// The token whose id is `id` when ASCII case is ignored: the caller compares.
fn token(conn: &mut Connection, id: &str) -> Result<Option<Token>, Broken> {
    if cannot_be_there(id) {
        return Ok(None);
    }
    let sql = format!("SELECT {TOKEN} FROM tokens t WHERE t.folded = $1");
    sql::first(conn, &sql, params![id.to_ascii_lowercase()], rows::token)
}

/// Postgres keeps no text with a NUL in it, and could not even be asked for one.
pub(crate) fn cannot_be_there(text: &str) -> bool {
    text.contains('\0')
}

fn task(conn: &mut Connection, id: u64) -> Result<Option<Task>, Broken> {
    // No row has a larger id, and Postgres could not even be asked for one.
    if id > limits::TASK_ID {
        return Ok(None);
    }
    sql::first(conn, &format!("SELECT {TASK} FROM tasks WHERE id = $1"), params![bigint(id)?], rows::task)
}

fn timer(conn: &mut Connection, id: u64) -> Result<Option<Timer>, Broken> {
    if id > limits::TASK_ID {
        return Ok(None);
    }
    sql::first(conn, &format!("SELECT {TIMER} FROM timers WHERE id = $1"), params![bigint(id)?], rows::timer)
}

/// The top token of a token's family. The id of a child is longer than its parent's, so a family that were deeper than an
/// id is long would be a damaged one.
fn top(conn: &mut Connection, token: &Token) -> Result<String, Broken> {
    const SQL: &str = "SELECT id, parent FROM tokens WHERE folded = $1";
    let (mut top, mut parent) = (token.id.clone(), token.parent.clone());
    for _ in 0..limits::TOKEN_ID {
        let Some(above) = parent else { break };
        let row =
            sql::first(conn, SQL, params![above.to_ascii_lowercase()], |row| Ok((get(row, 0)?, get(row, 1)?)))?;
        let Some(row) = row else { break };
        (top, parent) = row;
    }
    Ok(top)
}

fn next_arrival(conn: &mut Connection, top: &str) -> Result<u64, Broken> {
    const SQL: &str = "SELECT 1 + coalesce(max(arrival), 0) FROM held WHERE top = $1";
    Ok(sql::first(conn, SQL, params![top], |row| whole(row, 0))?.unwrap_or(1))
}

fn held(conn: &mut Connection, top: &str) -> Result<Vec<Held>, Broken> {
    let sql = format!("SELECT {HELD} FROM held WHERE top = $1 ORDER BY arrival");
    sql::all(conn, &sql, params![top], rows::held)
}

fn key_used(conn: &mut Connection, token: &str, key: &str) -> Result<bool, Broken> {
    const SQL: &str = "SELECT 1 FROM ledger WHERE token = $1 AND key = $2";
    if cannot_be_there(token) || cannot_be_there(key) {
        return Ok(false);
    }
    Ok(sql::first(conn, SQL, params![token, key], |_| Ok(()))?.is_some())
}

fn memory(conn: &mut Connection, task: &Task) -> Result<Vec<MemoryCell>, Broken> {
    let sql = format!("SELECT {CELL} FROM memory WHERE token = $1 AND state = $2 ORDER BY key");
    sql::all(conn, &sql, params![task.token.as_str(), task.state.as_str()], rows::cell)
}

/// Whether the cell exists, and the bytes of the others.
fn memory_bytes(conn: &mut Connection, task: &Task, key: &str) -> Result<(bool, u64), Broken> {
    let total = memory_total(conn, &task.token, &task.state)?;
    if cannot_be_there(key) {
        return Ok((false, total));
    }
    let cell = (task.token.clone(), task.state.clone(), key.to_owned());
    let own = cell_bytes(conn, [&cell])?.remove(&cell);
    Ok((own.is_some(), total.saturating_sub(own.unwrap_or(0))))
}

/// Bytes of all keys and values of a (token, state).
fn memory_total(conn: &mut Connection, token: &str, state: &str) -> Result<u64, Broken> {
    const SQL: &str = "SELECT bytes FROM memory_totals WHERE token = $1 AND state = $2";
    Ok(sql::first(conn, SQL, params![token, state], |row| whole(row, 0))?.unwrap_or(0))
}

/// Bytes of each cell's key and value, of the cells that exist.
pub(crate) fn cell_bytes<'a>(
    conn: &mut Connection,
    cells: impl IntoIterator<Item = &'a CellKey>,
) -> Result<BTreeMap<CellKey, u64>, Broken> {
    // octet_length reads the length from the row: a large value is not fetched.
    const SQL: &str = "SELECT m.token, m.state, m.key, octet_length(m.key)::bigint + octet_length(m.value) \
        FROM unnest($1::text[], $2::text[], $3::text[]) AS g (token, state, key) \
        JOIN memory m ON m.token = g.token AND m.state = g.state AND m.key = g.key";
    let (mut tokens, mut states, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for (token, state, key) in cells {
        tokens.push(token.as_str());
        states.push(state.as_str());
        keys.push(key.as_str());
    }
    let found = sql::all(conn, SQL, params![tokens, states, keys], |row| {
        Ok(((get(row, 0)?, get(row, 1)?, get(row, 2)?), whole(row, 3)?))
    })?;
    Ok(found.into_iter().collect())
}
