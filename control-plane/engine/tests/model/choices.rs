//! What the small numbers of a list stand for, as the model is now: mostly something that makes sense, now and then not.

use serde_json::json;
use stateous_engine::input::Schedule;

use super::flow::{Object, Parallel};
use super::rules::Model;

pub(crate) const HELD: &[&str] = &["claimed", "started"];
pub(crate) const WORKED_ON: &[&str] = &["claimed", "started", "waiting"];
/// How many of the contexts start a token of every workflow here.
pub(crate) const GOOD: u8 = 4;
pub(crate) const CONTEXTS: &[&str] = &[
    r#"{"n":0}"#,
    r#"{"n":5}"#,
    r#"{"n":9}"#,
    r#"{"n":5,"x":true}"#,
    r#"{"n":2}"#,
    "{}",
    r#"{"n":"x"}"#,
    r#"{"n":1,"x":1,"y":2,"z":3}"#,
];
pub(crate) const WRITES: &[&str] = &[
    "{}",
    "{}",
    "{}",
    r#"{"n":1}"#,
    r#"{"n":3}"#,
    r#"{"n":8,"tries":1}"#,
    r#"{"n":"x"}"#,
    r#"{"x":1}"#,
    r#"{"y":2}"#,
    r#"{"z":3}"#,
];
/// Stands for the id of a child, in [`an_id`].
pub(crate) const CHILD: u8 = 255;
/// Stands for a long id.
pub(crate) const LONG: u8 = 254;

/// An id to start: mostly a new one, else one that exists, differs in case, stands in the way of a child, leaves no room
/// for a child's id, or is none.
pub(crate) fn an_id(model: &Model, n: u8) -> String {
    let tops = model.tokens.values().filter(|t| t.parent.is_none()).count();
    if n < 128 {
        return format!("T{tops}");
    }
    let parallel = model.flow.states.iter().find_map(|s| Some((s.name, s.parallel.as_ref()?)));
    // Once it exists, `T<tops + 1>` is the next new one.
    let child = |(state, p): (_, &Parallel)| format!("t{}.{state}.1.{}", tops + 1, p.workflows[0]);
    let child = parallel.map_or_else(|| "C".to_owned(), child);
    let long = "L".repeat(118);
    match n {
        CHILD => child,
        LONG => long,
        _ => one_of(n, &["T0", "t0", "T1", &child, &long, "-"]).to_owned(),
    }
}

/// One of the tokens; mostly one that is live.
pub(crate) fn token(model: &Model, n: u8) -> String {
    let live: Vec<_> = model.tokens.keys().filter(|id| model.is_live(id)).cloned().collect();
    if n < 240 && !live.is_empty() {
        return one_of(n, &live);
    }
    let all = model.tokens.keys().cloned().chain(["nobody".to_owned()]);
    one_of(n, &all.collect::<Vec<_>>())
}

/// A token to steer: mostly a top token in this status.
pub(crate) fn top(model: &Model, n: u8, status: &str) -> String {
    let fit = |id: &&String| model.is(id, status) && model.token(id).parent.is_none();
    let fit: Vec<_> = model.tokens.keys().filter(fit).cloned().collect();
    if n < 208 && !fit.is_empty() { one_of(n, &fit) } else { token(model, n) }
}

/// An event; mostly one that leads on.
pub(crate) fn an_event(model: &Model, token: &str, n: u8) -> String {
    let mut found: Vec<&str> = Vec::new();
    if let Some(row) = model.tokens.get(token) {
        let flow = model.flow_of(token);
        let ways = flow.moves.iter().filter(|m| m.from == row.state && flow.declares(m.on)).map(|m| m.on);
        found.extend(ways);
        if n >= 208 || found.is_empty() {
            found.extend(flow.events.iter().map(|(name, _)| *name));
        }
    }
    if n >= 240 || found.is_empty() {
        found.extend(["timeout", "error", "joined", "__started__", "unheard-of"]);
    }
    one_of(n, &found).to_owned()
}

/// A payload; mostly one that fits.
pub(crate) fn a_payload(model: &Model, token: &str, event: &str, n: u8) -> Option<Object> {
    if n >= 240 {
        return Some(object(r#"{"x":1}"#));
    }
    let flow = model.tokens.contains_key(token).then(|| model.flow_of(token))?;
    let (_, fields) = flow.events.iter().find(|(name, _)| *name == event)?;
    match fields {
        None => n.is_multiple_of(8).then(Object::new),
        Some(_) if n.is_multiple_of(16) => None,
        Some(fields) => {
            Some(fields.fields.iter().map(|f| (f.name.to_owned(), json!(n % 2 == 1))).collect::<Object>())
        }
    }
}

/// A task; mostly one in such a status.
pub(crate) fn a_task(model: &Model, n: u8, status: &[&str]) -> u64 {
    let mut found: Vec<u64> =
        model.tasks.iter().filter(|t| status.contains(&t.status)).map(|t| t.id).collect();
    if n >= 240 || found.is_empty() {
        found = (1..model.tasks.len() as u64 + 2).collect();
    }
    one_of(n, &found)
}

/// A supervisor; mostly the one that holds the task.
pub(crate) fn a_supervisor(model: &Model, task: u64, n: u8) -> String {
    let holder = model.tasks.iter().find(|t| t.id == task).and_then(|t| t.held_by.clone());
    holder.filter(|_| !n.is_multiple_of(8)).unwrap_or_else(|| one_of(n / 8, &["a", "b"]).to_owned())
}

/// An attempt; mostly the present one or none.
pub(crate) fn an_attempt(model: &Model, task: u64, n: u8) -> Option<u64> {
    let now = model.tasks.iter().find(|t| t.id == task).map_or(1, |t| t.attempt);
    match n % 16 {
        0 => Some(now.saturating_sub(1)),
        1 => Some(now + 1),
        n if n % 2 == 0 => None,
        _ => Some(now),
    }
}

/// A memory key; to be deleted mostly one that is there.
pub(crate) fn a_key(model: &Model, task: u64, deleted: bool, n: u8) -> String {
    let task = model.tasks.iter().find(|t| t.id == task).filter(|_| deleted && n < 208);
    let here =
        |key: &&(String, String, String)| task.is_some_and(|t| (&key.0, &key.1) == (&t.token, &t.state));
    let found: Vec<_> = model.memory.keys().filter(here).map(|key| key.2.clone()).collect();
    let any = ["k", "k", "l", "l", "m", "", "nul\0"].map(str::to_owned);
    one_of(n, if found.is_empty() { &any } else { &found })
}

/// Timers that a routine asks for; mostly none.
pub(crate) fn schedules(model: &Model, token: &str, n: u8) -> Vec<Schedule> {
    let event = an_event(model, token, n / 2);
    let payload = a_payload(model, token, &event, n.wrapping_mul(31));
    let timer =
        |after: &str| Schedule { event: event.clone(), payload: payload.clone(), after: after.into() };
    match n % 8 {
        0 => vec![timer("45s")],
        1 => vec![timer("90s"), timer("10m")],
        2 if n >= 192 => vec![timer("1w")],
        _ => Vec::new(),
    }
}

pub(crate) fn one_of<T: Clone>(n: u8, from: &[T]) -> T {
    from[usize::from(n) % from.len()].clone()
}

pub(crate) fn object(text: &str) -> Object {
    stateous_engine::json::parse_stored(text).unwrap()
}
