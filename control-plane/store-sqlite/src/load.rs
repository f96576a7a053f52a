//! Loads what a decision needs to see, and nothing else: every lookup here is asked for by name in [`Wanted`].
//!
//! Where a table has more than one index that a lookup could use, it names the one that holds no other rows: SQLite would
//! choose without knowing how many tasks a token has had.

use std::sync::Arc;

use rusqlite::{Connection, params};
use stateous_engine::limits;
use stateous_engine::loaded::{Loaded, Member, Wanted};
use stateous_engine::model::{Held, Status, Task, Timer, Token};

use crate::failure::Broken;
use crate::rows::{self, CELL, HELD, TASK, TIMER, TOKEN};
use crate::sql;

/// What SQLite holds for `wanted`; the ids of the next task and timer are the writer's to add.
pub(crate) fn load(conn: &Connection, wanted: &Wanted) -> Result<Loaded, Broken> {
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
    for id in &wanted.members {
        // Another token whose id differs only in case is somebody else's.
        let found = token(conn, id)?.filter(|token| token.id == *id);
        let member = found.map(|token| member(conn, token, false, true)).transpose()?;
        loaded.members.insert(id.clone(), member);
    }
    for id in &wanted.contexts {
        if let Some(context) = context(conn, id)? {
            loaded.contexts.insert(id.clone(), context);
        }
    }
    for folded in &wanted.taken {
        loaded.taken.insert(folded.clone(), is_taken(conn, folded)?);
    }
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

fn member(conn: &Connection, token: Token, with_context: bool, open: bool) -> Result<Member, Broken> {
    let mut member = Member { context: "".into(), tasks: Vec::new(), timers: Vec::new(), token };
    let id = &member.token.id;
    if with_context {
        member.context = context(conn, id)?.unwrap_or_default();
    }
    if open {
        let tasks = format!(
            "SELECT {TASK} FROM tasks INDEXED BY tasks_open WHERE token = ?1 AND status IN ('queued', 'claimed', 'started', 'waiting') \
             ORDER BY id"
        );
        member.tasks = sql::all(conn, &tasks, [id], rows::task)?;
        let timers =
            format!("SELECT {TIMER} FROM timers INDEXED BY timers_token WHERE token = ?1 ORDER BY id");
        member.timers = sql::all(conn, &timers, [id], rows::timer)?;
    }
    Ok(member)
}

fn context(conn: &Connection, token: &str) -> Result<Option<Arc<str>>, Broken> {
    const SQL: &str = "SELECT context FROM contexts WHERE token = ?1";
    sql::first(conn, SQL, [token], |row| Ok(row.get(0)?))
}

fn is_taken(conn: &Connection, folded: &str) -> Result<bool, Broken> {
    const SQL: &str = "SELECT 1 FROM tokens WHERE folded = ?1";
    Ok(sql::first(conn, SQL, [folded], |_| Ok(()))?.is_some())
}

/// The token whose id is `id` when ASCII case is ignored: the caller compares.
fn token(conn: &Connection, id: &str) -> Result<Option<Token>, Broken> {
    let sql = format!("SELECT {TOKEN} FROM tokens t WHERE t.folded = ?1");
    sql::first(conn, &sql, [id.to_ascii_lowercase()], rows::token)
}

fn task(conn: &Connection, id: u64) -> Result<Option<Task>, Broken> {
    // No row has a larger id, and SQLite could not even be asked for one.
    if id > limits::TASK_ID {
        return Ok(None);
    }
    sql::first(conn, &format!("SELECT {TASK} FROM tasks WHERE id = ?1"), [id], rows::task)
}

fn timer(conn: &Connection, id: u64) -> Result<Option<Timer>, Broken> {
    if id > limits::TASK_ID {
        return Ok(None);
    }
    sql::first(conn, &format!("SELECT {TIMER} FROM timers WHERE id = ?1"), [id], rows::timer)
}

/// The top token of a token's family. The id of a child is longer than its parent's, so a family that were deeper than an
/// id is long would be a damaged one.
fn top(conn: &Connection, token: &Token) -> Result<String, Broken> {
    const SQL: &str = "SELECT id, parent FROM tokens WHERE folded = ?1";
    let (mut top, mut parent) = (token.id.clone(), token.parent.clone());
    for _ in 0..limits::TOKEN_ID {
        let Some(above) = parent else { break };
        let row = sql::first(conn, SQL, [above.to_ascii_lowercase()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some(row) = row else { break };
        (top, parent) = row;
    }
    Ok(top)
}

fn next_arrival(conn: &Connection, top: &str) -> Result<u64, Broken> {
    const SQL: &str = "SELECT 1 + coalesce(max(arrival), 0) FROM held WHERE top = ?1";
    Ok(sql::first(conn, SQL, [top], |row| Ok(row.get(0)?))?.unwrap_or(1))
}

fn held(conn: &Connection, top: &str) -> Result<Vec<Held>, Broken> {
    sql::all(conn, &format!("SELECT {HELD} FROM held WHERE top = ?1 ORDER BY arrival"), [top], rows::held)
}

fn key_used(conn: &Connection, token: &str, key: &str) -> Result<bool, Broken> {
    const SQL: &str = "SELECT 1 FROM ledger WHERE token = ?1 AND key = ?2";
    Ok(sql::first(conn, SQL, [token, key], |_| Ok(()))?.is_some())
}

fn memory(conn: &Connection, task: &Task) -> Result<Vec<stateous_engine::model::MemoryCell>, Broken> {
    let sql = format!("SELECT {CELL} FROM memory WHERE token = ?1 AND state = ?2 ORDER BY key");
    sql::all(conn, &sql, [&task.token, &task.state], rows::cell)
}

/// Whether the cell exists, and the bytes of the others.
fn memory_bytes(conn: &Connection, task: &Task, key: &str) -> Result<(bool, u64), Broken> {
    let total = memory_total(conn, &task.token, &task.state)?;
    let own = cell_bytes(conn, &task.token, &task.state, key)?;
    Ok((own.is_some(), total.saturating_sub(own.unwrap_or(0))))
}

/// Bytes of all keys and values of a (token, state).
fn memory_total(conn: &Connection, token: &str, state: &str) -> Result<u64, Broken> {
    const SQL: &str = "SELECT bytes FROM memory_totals WHERE token = ?1 AND state = ?2";
    Ok(sql::first(conn, SQL, [token, state], |row| Ok(row.get(0)?))?.unwrap_or(0))
}

/// Bytes of one cell's key and value, if the cell exists.
pub(crate) fn cell_bytes(
    conn: &Connection,
    token: &str,
    state: &str,
    key: &str,
) -> Result<Option<u64>, Broken> {
    // octet_length reads the length from the row's header: a large value is not fetched.
    const SQL: &str = "SELECT octet_length(key) + octet_length(value) FROM memory \
        WHERE token = ?1 AND state = ?2 AND key = ?3";
    sql::first(conn, SQL, params![token, state, key], |row| Ok(row.get(0)?))
}
