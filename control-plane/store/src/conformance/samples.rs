//! Rows to write: plain ones, to be changed field by field where a property is about that field.

use std::collections::BTreeMap;

use stateous_engine::change::Change;
use stateous_engine::input::Schedule;
use stateous_engine::json::{Object, parse_stored};
use stateous_engine::model::{
    Entry, EventRecord, Held, Kind, MemoryCell, Origin, Status, Task, TaskStatus, Timer, TimerKind, Token,
};

use super::db::NOW;

/// An active token in `draft`, with one visit behind it.
pub(super) fn token(id: &str) -> Token {
    Token {
        id: id.to_owned(),
        workflow: "orders".to_owned(),
        structure: format!("sha256:{}", "a".repeat(64)),
        state: "draft".to_owned(),
        status: Status::Active,
        visit: 1,
        started_at: NOW,
        entered_at: NOW,
        paused_at: None,
        parent: None,
        seq: 0,
        visits: BTreeMap::from([("draft".to_owned(), 1)]),
        counts: BTreeMap::from([("__started__".to_owned(), 1)]),
        entered_by: EventRecord { name: "__started__".to_owned(), payload: None },
        ended_by: None,
    }
}

/// A token and its context.
pub(super) fn insert(token: Token) -> Change {
    Change::InsertToken { token, context: r#"{"title":"first order"}"#.into() }
}

/// A queued task of a token in `orders/draft`.
pub(super) fn task(id: u64, token: &str) -> Task {
    Task {
        id,
        token: token.to_owned(),
        workflow: "orders".to_owned(),
        state: "draft".to_owned(),
        visit: 1,
        status: TaskStatus::Queued,
        attempt: 0,
        failures: 0,
        claimed_by: None,
        request: None,
        lease_until: None,
        queued_at: NOW,
    }
}

/// The task, as a supervisor holds it.
pub(super) fn claimed(task: Task, supervisor: &str, request: Option<&str>, lease_ms: i64) -> Task {
    Task {
        status: TaskStatus::Claimed,
        attempt: task.attempt + 1,
        claimed_by: Some(supervisor.to_owned()),
        request: request.map(str::to_owned),
        lease_until: Some(NOW.plus_ms(lease_ms)),
        ..task
    }
}

/// A timeout of a token in `draft`.
pub(super) fn timer(id: u64, token: &str, after_ms: i64) -> Timer {
    Timer {
        id,
        token: token.to_owned(),
        state: "draft".to_owned(),
        visit: 1,
        event: "timeout".to_owned(),
        payload: None,
        set_at: NOW,
        due_at: NOW.plus_ms(after_ms),
        kind: TimerKind::Timeout,
    }
}

/// A token that was paused at [`NOW`].
pub(super) fn paused(id: &str) -> Token {
    Token { status: Status::Paused, paused_at: Some(NOW), ..token(id) }
}

/// An event from outside that a top token holds.
pub(super) fn held(top: &str, arrival: u64) -> Held {
    Held {
        top: top.to_owned(),
        arrival,
        token: top.to_owned(),
        event: "nudge".to_owned(),
        payload: None,
        origin: None,
        context: Object::new(),
        schedules: Vec::new(),
    }
}

/// An outcome that a top token holds.
pub(super) fn held_outcome(top: &str, arrival: u64, text: &str) -> Held {
    let payload = Some(object(text));
    let schedule = Schedule { event: "nudge".to_owned(), payload: payload.clone(), after: "10m".to_owned() };
    Held {
        payload,
        origin: Some(Origin { task: 7, state: "draft".to_owned(), visit: 3 }),
        context: object(text),
        schedules: vec![schedule],
        ..held(top, arrival)
    }
}

/// An entry without a key.
pub(super) fn entry(token: &str, seq: u64, kind: Kind, data: &str) -> Entry {
    Entry { token: token.to_owned(), seq, at: NOW, kind, data: object(data), key: None, private: None }
}

/// A note of a token.
pub(super) fn note(token: &str, seq: u64) -> Change {
    Change::Append(entry(token, seq, Kind::Note, r#"{"task":1,"text":"on the way"}"#))
}

/// A memory cell of a token in `draft`.
pub(super) fn memory(token: &str, key: &str, value: &str) -> Change {
    let cell = MemoryCell { key: key.to_owned(), value: value.into() };
    Change::PutMemory { token: token.to_owned(), state: "draft".to_owned(), cell }
}

/// An object from its text.
pub(super) fn object(text: &str) -> Object {
    parse_stored(text).unwrap()
}
