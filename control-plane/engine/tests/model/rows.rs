//! The engine's rows and answers as the model has them.

use serde_json::Value as Json;
use stateous_engine::change::Grant;
use stateous_engine::input::Schedule;
use stateous_engine::json::parse_stored;
use stateous_engine::model::{self, TimerKind};

use super::flow::Object;
use super::rules::{AskedTimer, Entry, Granted, Held, Task, Timer, Token};

pub(crate) fn asked(schedule: &Schedule) -> AskedTimer {
    let Schedule { event, payload, after } = schedule.clone();
    AskedTimer { event, payload, after }
}

fn object(text: &str) -> Object {
    parse_stored(text).unwrap()
}

pub(crate) fn token(row: &model::Token, context: &str) -> Token {
    Token {
        id: row.id.clone(),
        workflow: row.workflow.clone(),
        parent: row.parent.clone(),
        state: row.state.clone(),
        status: row.status.as_str(),
        visit: row.visit,
        context: object(context),
        entered_at: row.entered_at.0,
    }
}

pub(crate) fn task(row: &model::Task) -> Task {
    known(&Task {
        id: row.id,
        token: row.token.clone(),
        state: row.state.clone(),
        visit: row.visit,
        status: row.status.as_str(),
        attempt: row.attempt,
        failures: row.failures,
        held_by: row.claimed_by.clone(),
        request: row.request.clone(),
        lease_until: row.lease_until.map(|t| t.0),
    })
}

/// A task without what means nothing any more: who held it.
pub(crate) fn known(task: &Task) -> Task {
    let held = task.lease_until.is_some();
    Task {
        held_by: task.held_by.clone().filter(|_| held),
        request: task.request.clone().filter(|_| held),
        ..task.clone()
    }
}

pub(crate) fn timer(row: &model::Timer) -> Timer {
    Timer {
        id: row.id,
        token: row.token.clone(),
        state: row.state.clone(),
        visit: row.visit,
        event: row.event.clone(),
        payload: row.payload.clone(),
        set_at: row.set_at.0,
        due_at: row.due_at.0,
        kind: if row.kind == TimerKind::Timeout { "timeout" } else { "timer" },
        pending: true,
    }
}

pub(crate) fn held(row: &model::Held) -> Held {
    Held {
        token: row.token.clone(),
        arrival: row.arrival,
        event: row.event.clone(),
        payload: row.payload.clone(),
        origin: row.origin.clone().map(|from| (from.task, from.state, from.visit)),
        context: row.context.clone(),
        timers: row.schedules.iter().map(asked).collect(),
    }
}

pub(crate) fn entry(row: &model::Entry) -> Entry {
    let data = Json::Object(row.data.clone());
    without_words(&Entry { at: row.at.0, kind: row.kind.as_str(), data, key: row.key.clone() })
}

/// An entry without the words of the schema library, which the model does not know.
pub(crate) fn without_words(entry: &Entry) -> Entry {
    let mut entry = entry.clone();
    if let Some(Json::String(reason)) = entry.data.get_mut("reason") {
        for mark in ["break the schema: ", "breaks the schema: "] {
            if let Some(at) = reason.find(mark) {
                reason.truncate(at + mark.len());
            }
        }
    }
    entry
}

pub(crate) fn granted(grant: Grant) -> Granted {
    Granted {
        task: grant.task.id,
        attempt: grant.task.attempt,
        child: grant.child,
        context: object(&grant.context),
        memory: grant.memory.into_iter().map(|cell| (cell.key, cell.value.to_string())).collect(),
        entered_by: (grant.entered_by.name, grant.entered_by.payload),
        deadline: grant.deadline.map(|t| t.0),
    }
}
