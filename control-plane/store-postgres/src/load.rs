//! Loads what decisions need to see, and nothing else: every lookup here is asked for by name in [`Wanted`].
//!
//! A lookup costs a round trip however many rows it brings, so each is made once for everything that is loaded together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stateous_engine::limits;
use stateous_engine::loaded::{Loaded, Member, Wanted};
use stateous_engine::model::{Held, MemoryCell, Status, Task, Timer, Token};

use crate::connection::Connection;
use crate::failure::Broken;
use crate::pending::CellKey;
use crate::rows::{self, CELL, HELD, TASK, TIMER, TOKEN, get, whole};
use crate::sql::{self, params};

/// The most bytes of a memory that is looked up together with others.
const MEMORY_SMALL: i64 = 64 << 10;

/// What Postgres holds for `wanted`; the ids of the next task and timer are the writer's to add.
pub(crate) fn load(conn: &mut Connection, wanted: &Wanted) -> Result<Loaded, Broken> {
    Ok(load_all(conn, std::slice::from_ref(wanted))?.pop().unwrap_or_default())
}

/// What Postgres holds for each of `all`: one lookup of a kind for all of them together.
pub(crate) fn load_all(conn: &mut Connection, all: &[Wanted]) -> Result<Vec<Loaded>, Broken> {
    let tasks = tasks(conn, all.iter().filter_map(|wanted| wanted.task))?;
    let timers = timers(conn, all.iter().filter_map(|wanted| wanted.timer))?;
    let mut loaded: Vec<Loaded> = all
        .iter()
        .map(|wanted| Loaded {
            task: wanted.task.and_then(|id| tasks.get(&id).cloned()),
            timer: wanted.timer.and_then(|id| timers.get(&id).cloned()),
            ..Loaded::default()
        })
        .collect();
    // The token that each starts from.
    let ids: Vec<Option<String>> = all
        .iter()
        .zip(&loaded)
        .map(|(wanted, loaded)| {
            let of_task = loaded.task.as_ref().map(|task| &task.token);
            let of_timer = loaded.timer.as_ref().map(|timer| &timer.token);
            wanted.token.as_ref().or(of_task).or(of_timer).cloned()
        })
        .collect();
    let others = all.iter().flat_map(|wanted| &wanted.members);
    let tokens = tokens(conn, ids.iter().flatten().chain(others))?;
    members(conn, all, &ids, &tokens, &mut loaded)?;
    families(conn, all, &mut loaded)?;
    let taken = taken(conn, all.iter().flat_map(|wanted| &wanted.taken))?;
    let keys = all.iter().zip(&ids).filter_map(|(wanted, id)| Some((id.as_ref()?, wanted.key.as_ref()?)));
    let keys = keys_used(conn, keys.collect())?;
    for ((wanted, id), loaded) in all.iter().zip(&ids).zip(&mut loaded) {
        loaded.taken = wanted.taken.iter().map(|id| (id.clone(), taken.contains(id))).collect();
        if let (Some(id), Some(key)) = (id, &wanted.key) {
            loaded.key_used = keys.contains(&(id.clone(), key.clone()));
        }
    }
    memories(conn, all, &mut loaded)?;
    Ok(loaded)
}

/// The tokens that were found, with what belongs to them.
fn members(
    conn: &mut Connection,
    all: &[Wanted],
    ids: &[Option<String>],
    tokens: &BTreeMap<String, Token>,
    loaded: &mut [Loaded],
) -> Result<(), Broken> {
    // Another token whose id differs only in case is somebody else's.
    let exact = |id: &String| tokens.get(&id.to_ascii_lowercase()).filter(|token| token.id == *id);
    let (mut open, mut with_context) = (BTreeSet::new(), BTreeSet::new());
    for (wanted, id) in all.iter().zip(ids) {
        let own = id.as_ref().and_then(exact).map(|token| token.id.as_str());
        open.extend(own.filter(|_| wanted.open));
        open.extend(wanted.members.iter().filter_map(exact).map(|token| token.id.as_str()));
        with_context.extend(own.filter(|_| wanted.context));
        with_context.extend(wanted.contexts.iter().map(String::as_str));
    }
    let tasks = open_tasks(conn, &open)?;
    let timers = pending_timers(conn, &open)?;
    let contexts = contexts(conn, &with_context)?;
    let member = |token: &Token, open: bool, context: bool| Member {
        context: contexts.get(&token.id).filter(|_| context).cloned().unwrap_or_default(),
        tasks: tasks.get(&token.id).filter(|_| open).cloned().unwrap_or_default(),
        timers: timers.get(&token.id).filter(|_| open).cloned().unwrap_or_default(),
        token: token.clone(),
    };
    for ((wanted, id), loaded) in all.iter().zip(ids).zip(loaded) {
        match id.as_ref().and_then(|id| Some((id, tokens.get(&id.to_ascii_lowercase())?))) {
            Some((id, token)) if token.id == *id => {
                loaded.member = Some(member(token, wanted.open, wanted.context));
            }
            Some((_, other)) if wanted.folded => loaded.folded = Some(other.id.clone()),
            _ => {}
        }
        let others = wanted.members.iter();
        loaded.members =
            others.map(|id| (id.clone(), exact(id).map(|token| member(token, true, false)))).collect();
        let wanted = wanted.contexts.iter();
        loaded.contexts = wanted.filter_map(|id| Some((id.clone(), contexts.get(id)?.clone()))).collect();
    }
    Ok(())
}

/// The tops of families, and what those of paused tokens hold.
fn families(conn: &mut Connection, all: &[Wanted], loaded: &mut [Loaded]) -> Result<(), Broken> {
    let of_family = |wanted: &Wanted, loaded: &Loaded| {
        loaded.member.as_ref().filter(|_| wanted.family || wanted.held).map(|member| member.token.clone())
    };
    let tokens: Vec<Option<Token>> = all.iter().zip(&*loaded).map(|(w, l)| of_family(w, l)).collect();
    let tops = tops(conn, tokens.iter().flatten())?;
    let (mut counted, mut holding) = (BTreeSet::new(), BTreeSet::new());
    for ((wanted, token), loaded) in all.iter().zip(&tokens).zip(&mut *loaded) {
        let Some(token) = token else { continue };
        loaded.top = tops.get(&token.id).cloned();
        if let Some(top) = loaded.top.as_deref().filter(|_| token.status == Status::Paused) {
            counted.extend(wanted.family.then(|| top.to_owned()));
            holding.extend(wanted.held.then(|| top.to_owned()));
        }
    }
    let next = next_arrivals(conn, &counted)?;
    let held = held(conn, &holding)?;
    for ((wanted, token), loaded) in all.iter().zip(&tokens).zip(loaded) {
        let paused = token.as_ref().is_some_and(|token| token.status == Status::Paused);
        let Some(top) = loaded.top.as_ref().filter(|_| paused) else { continue };
        if wanted.family {
            loaded.next_arrival = next.get(top).copied().unwrap_or(1);
        }
        if wanted.held {
            loaded.held = held.get(top).cloned().unwrap_or_default();
        }
    }
    Ok(())
}

/// Memories of tasks: whole, or one cell's place in them.
fn memories(conn: &mut Connection, all: &[Wanted], loaded: &mut [Loaded]) -> Result<(), Broken> {
    let of = |loaded: &Loaded| loaded.task.as_ref().map(|task| (task.token.clone(), task.state.clone()));
    let with_memory = |wanted: &Wanted| wanted.memory || wanted.memory_key.is_some();
    let places: BTreeSet<(String, String)> =
        all.iter().zip(&*loaded).filter(|(w, _)| with_memory(w)).filter_map(|(_, l)| of(l)).collect();
    let totals = memory_totals(conn, &places)?;
    let whole = all.iter().zip(&*loaded).filter(|(w, _)| w.memory).filter_map(|(_, l)| of(l));
    let small: BTreeSet<_> =
        whole.filter(|place| totals.get(place).is_some_and(|bytes| *bytes <= MEMORY_SMALL)).collect();
    let cells = memory(conn, &small)?;
    for (wanted, loaded) in all.iter().zip(loaded) {
        let Some(place) = of(loaded) else { continue };
        let total = totals.get(&place).copied().unwrap_or(0);
        if wanted.memory && total > MEMORY_SMALL {
            loaded.memory = memory(conn, &[place.clone()].into())?.remove(&place).unwrap_or_default();
        } else if wanted.memory {
            loaded.memory = cells.get(&place).cloned().unwrap_or_default();
        }
        if let Some(key) = &wanted.memory_key {
            let cell = (place.0, place.1, key.clone());
            let own = if cannot_be_there(key) { None } else { cell_bytes(conn, [&cell])?.remove(&cell) };
            loaded.memory_key_exists = own.is_some();
            let total = u64::try_from(total).unwrap_or(0);
            loaded.memory_bytes_of_others = total.saturating_sub(own.unwrap_or(0));
        }
    }
    Ok(())
}

/// Postgres keeps no text with a NUL in it, and could not even be asked for one.
pub(crate) fn cannot_be_there(text: &str) -> bool {
    text.contains('\0')
}

/// Tokens by their folded ids: whoever asks compares the ids.
fn tokens<'a>(
    conn: &mut Connection,
    ids: impl Iterator<Item = &'a String>,
) -> Result<BTreeMap<String, Token>, Broken> {
    let folded: BTreeSet<String> =
        ids.filter(|id| !cannot_be_there(id)).map(|id| id.to_ascii_lowercase()).collect();
    if folded.is_empty() {
        return Ok(BTreeMap::new());
    }
    let sql = format!("SELECT {TOKEN} FROM tokens t WHERE t.folded = ANY($1)");
    let found = sql::all(conn, &sql, params![Vec::from_iter(folded)], rows::token)?;
    Ok(found.into_iter().map(|token| (token.id.to_ascii_lowercase(), token)).collect())
}

fn tasks(conn: &mut Connection, ids: impl Iterator<Item = u64>) -> Result<BTreeMap<u64, Task>, Broken> {
    let ids = numbers(ids);
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let sql = format!("SELECT {TASK} FROM tasks WHERE id = ANY($1)");
    let found = sql::all(conn, &sql, params![ids], rows::task)?;
    Ok(found.into_iter().map(|task| (task.id, task)).collect())
}

fn timers(conn: &mut Connection, ids: impl Iterator<Item = u64>) -> Result<BTreeMap<u64, Timer>, Broken> {
    let ids = numbers(ids);
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let sql = format!("SELECT {TIMER} FROM timers WHERE id = ANY($1)");
    let found = sql::all(conn, &sql, params![ids], rows::timer)?;
    Ok(found.into_iter().map(|timer| (timer.id, timer)).collect())
}

/// Ids as Postgres has them. No row has a larger one, and Postgres could not even be asked for it.
fn numbers(ids: impl Iterator<Item = u64>) -> Vec<i64> {
    ids.filter_map(|id| i64::try_from(id).ok()).collect()
}

fn open_tasks(conn: &mut Connection, tokens: &BTreeSet<&str>) -> Result<BTreeMap<String, Vec<Task>>, Broken> {
    let sql = format!(
        "SELECT {TASK} FROM tasks WHERE token = ANY($1) AND status IN ('queued', 'claimed', 'started', 'waiting') \
         ORDER BY id"
    );
    if tokens.is_empty() {
        return Ok(BTreeMap::new());
    }
    let found = sql::all(conn, &sql, params![Vec::from_iter(tokens.iter().copied())], rows::task)?;
    Ok(grouped(found.into_iter().map(|task| (task.token.clone(), task))))
}

fn pending_timers(
    conn: &mut Connection,
    tokens: &BTreeSet<&str>,
) -> Result<BTreeMap<String, Vec<Timer>>, Broken> {
    let sql = format!("SELECT {TIMER} FROM timers WHERE token = ANY($1) ORDER BY id");
    if tokens.is_empty() {
        return Ok(BTreeMap::new());
    }
    let found = sql::all(conn, &sql, params![Vec::from_iter(tokens.iter().copied())], rows::timer)?;
    Ok(grouped(found.into_iter().map(|timer| (timer.token.clone(), timer))))
}

fn contexts(conn: &mut Connection, tokens: &BTreeSet<&str>) -> Result<BTreeMap<String, Arc<str>>, Broken> {
    const SQL: &str = "SELECT token, context FROM contexts WHERE token = ANY($1)";
    let tokens: Vec<&str> = tokens.iter().copied().filter(|id| !cannot_be_there(id)).collect();
    if tokens.is_empty() {
        return Ok(BTreeMap::new());
    }
    let found = sql::all(conn, SQL, params![tokens], |row| Ok((get(row, 0)?, get::<&str>(row, 1)?.into())))?;
    Ok(found.into_iter().collect())
}

/// Which of these folded ids a token has.
fn taken<'a>(
    conn: &mut Connection,
    folded: impl Iterator<Item = &'a String>,
) -> Result<BTreeSet<String>, Broken> {
    const SQL: &str = "SELECT folded FROM tokens WHERE folded = ANY($1)";
    let folded: Vec<&str> = folded.map(String::as_str).filter(|id| !cannot_be_there(id)).collect();
    if folded.is_empty() {
        return Ok(BTreeSet::new());
    }
    Ok(sql::all(conn, SQL, params![folded], |row| get(row, 0))?.into_iter().collect())
}

/// The top token of each token's family, a generation at a time. The id of a child is longer than its parent's, so a family
/// that were deeper than an id is long would be a damaged one.
fn tops<'a>(
    conn: &mut Connection,
    tokens: impl Iterator<Item = &'a Token>,
) -> Result<BTreeMap<String, String>, Broken> {
    const SQL: &str = "SELECT folded, id, parent FROM tokens WHERE folded = ANY($1)";
    let mut tops: BTreeMap<String, (String, Option<String>)> =
        tokens.map(|token| (token.id.clone(), (token.id.clone(), token.parent.clone()))).collect();
    for _ in 0..limits::TOKEN_ID {
        let above: BTreeSet<String> =
            tops.values().filter_map(|(_, parent)| Some(parent.as_ref()?.to_ascii_lowercase())).collect();
        if above.is_empty() {
            break;
        }
        let found: BTreeMap<String, (String, Option<String>)> =
            sql::all(conn, SQL, params![Vec::from_iter(above)], |row| {
                Ok((get(row, 0)?, (get(row, 1)?, get(row, 2)?)))
            })?
            .into_iter()
            .collect();
        for top in tops.values_mut() {
            let Some(parent) = top.1.take() else { continue };
            if let Some(above) = found.get(&parent.to_ascii_lowercase()) {
                *top = above.clone();
            }
        }
    }
    Ok(tops.into_iter().map(|(id, (top, _))| (id, top)).collect())
}

/// The place after the last one that each family holds.
fn next_arrivals(conn: &mut Connection, tops: &BTreeSet<String>) -> Result<BTreeMap<String, u64>, Broken> {
    const SQL: &str = "SELECT given.top, 1 + last.arrival FROM unnest($1::text[]) AS given (top) CROSS JOIN LATERAL \
        (SELECT arrival FROM held WHERE held.top = given.top ORDER BY arrival DESC LIMIT 1) AS last";
    if tops.is_empty() {
        return Ok(BTreeMap::new());
    }
    let tops = Vec::from_iter(tops.iter().map(String::as_str));
    let found = sql::all(conn, SQL, params![tops], |row| Ok((get(row, 0)?, whole(row, 1)?)))?;
    Ok(found.into_iter().collect())
}

fn held(conn: &mut Connection, tops: &BTreeSet<String>) -> Result<BTreeMap<String, Vec<Held>>, Broken> {
    let sql = format!("SELECT {HELD} FROM held WHERE top = ANY($1) ORDER BY top, arrival");
    if tops.is_empty() {
        return Ok(BTreeMap::new());
    }
    let tops = Vec::from_iter(tops.iter().map(String::as_str));
    let found = sql::all(conn, &sql, params![tops], rows::held)?;
    Ok(grouped(found.into_iter().map(|held| (held.top.clone(), held))))
}

/// Which of these idempotency keys are in the ledger of these tokens.
fn keys_used(
    conn: &mut Connection,
    keys: Vec<(&String, &String)>,
) -> Result<BTreeSet<(String, String)>, Broken> {
    // Said outright that it is there: Postgres takes a partial index for a join only then.
    const SQL: &str = "SELECT l.token, l.key FROM unnest($1::text[], $2::text[]) AS given (token, key) \
        JOIN ledger l ON l.token = given.token AND l.key = given.key AND l.key IS NOT NULL";
    let possible = |(token, key): &(&String, &String)| !cannot_be_there(token) && !cannot_be_there(key);
    let (tokens, keys): (Vec<&str>, Vec<&str>) =
        keys.into_iter().filter(possible).map(|(token, key)| (token.as_str(), key.as_str())).unzip();
    if tokens.is_empty() {
        return Ok(BTreeSet::new());
    }
    let found = sql::all(conn, SQL, params![tokens, keys], |row| Ok((get(row, 0)?, get(row, 1)?)))?;
    Ok(found.into_iter().collect())
}

/// Memories of (token, state) pairs, by key.
fn memory(
    conn: &mut Connection,
    places: &BTreeSet<(String, String)>,
) -> Result<BTreeMap<(String, String), Vec<MemoryCell>>, Broken> {
    let sql = format!(
        "SELECT {CELL}, token, state FROM unnest($1::text[], $2::text[]) AS given (t, s) \
         JOIN memory ON token = given.t AND state = given.s ORDER BY token, state, key"
    );
    if places.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (tokens, states): (Vec<&str>, Vec<&str>) =
        places.iter().map(|(t, s)| (t.as_str(), s.as_str())).unzip();
    let found = sql::all(conn, &sql, params![tokens, states], |row| {
        Ok(((get(row, 2)?, get(row, 3)?), rows::cell(row)?))
    })?;
    Ok(grouped(found.into_iter()))
}

/// Bytes of all keys and values of (token, state) pairs.
fn memory_totals(
    conn: &mut Connection,
    places: &BTreeSet<(String, String)>,
) -> Result<BTreeMap<(String, String), i64>, Broken> {
    const SQL: &str = "SELECT m.token, m.state, m.bytes FROM unnest($1::text[], $2::text[]) AS given (token, state) \
        JOIN memory_totals m ON m.token = given.token AND m.state = given.state";
    if places.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (tokens, states): (Vec<&str>, Vec<&str>) =
        places.iter().map(|(t, s)| (t.as_str(), s.as_str())).unzip();
    let found =
        sql::all(conn, SQL, params![tokens, states], |row| Ok(((get(row, 0)?, get(row, 1)?), get(row, 2)?)))?;
    Ok(found.into_iter().collect())
}

/// Rows by what they belong to, in the order in which they came.
fn grouped<K: Ord, T>(rows: impl Iterator<Item = (K, T)>) -> BTreeMap<K, Vec<T>> {
    let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for (key, row) in rows {
        groups.entry(key).or_default().push(row);
    }
    groups
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
