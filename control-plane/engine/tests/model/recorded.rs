//! Runs of the original's engine: lists of inputs with what it told and recorded, as its package 0.2.2 did
//! (`tests/fixtures/runs.jsonl`, one run a line). Here is how an input is written in a run; `original.py` gives runs to the
//! original, and says what it cannot be given.

use serde_json::{Value as Json, json};
use stateous_engine::Input;
use stateous_engine::input::{Outcome, Schedule};

use super::rules::{Entry, Told};

/// An input as a run writes it; `None` when the original has no such input.
pub(crate) fn write(input: &Input) -> Option<Json> {
    Some(match input {
        Input::StartToken { token, workflow: None, context } => {
            json!({"do": "start", "token": token, "context": context})
        }
        Input::FireEvent { token, event, payload, key } => {
            json!({"do": "fire", "token": token, "event": event, "payload": payload, "key": key})
        }
        Input::PauseToken { token } => json!({"do": "pause", "token": token}),
        Input::ResumeToken { token } => json!({"do": "resume", "token": token}),
        Input::CancelToken { token } => json!({"do": "cancel", "token": token}),
        Input::ClaimTask { task, supervisor, .. } => {
            json!({"do": "claim", "task": task, "supervisor": supervisor})
        }
        Input::ReportTask { task, supervisor, attempt, outcome, context, schedules } => {
            let mut out = json!({
                "do": "report", "task": task, "supervisor": supervisor, "attempt": attempt, "context": context,
                "schedules": schedules.iter().map(Schedule::to_json).collect::<Vec<_>>(),
            });
            let more = match outcome {
                Outcome::Event { event, payload } => {
                    json!({"kind": "event", "event": event, "payload": payload})
                }
                Outcome::Waiting => json!({"kind": "waiting"}),
                Outcome::Failed { error, retry: true } => json!({"kind": "failed", "error": error}),
                Outcome::Failed { retry: false, .. } => return None,
            };
            out.as_object_mut()?.extend(more.as_object().cloned()?);
            out
        }
        Input::AddNote { task, attempt, text } => {
            json!({"do": "note", "task": task, "attempt": attempt, "text": text})
        }
        Input::SetMemory { task, attempt, key, value } if !key.contains('\0') => {
            let value = value.as_ref().map(ToString::to_string);
            json!({"do": "memory", "task": task, "attempt": attempt, "key": key, "value": value})
        }
        Input::ExpireLease { task } => json!({"do": "expire", "task": task}),
        Input::FireTimer { timer } => json!({"do": "timer", "timer": timer}),
        // A retry, another workflow, a routine that begins, a claim that is repeated are ours; a heartbeat tells which are lost.
        _ => return None,
    })
}

/// The input that [`write()`] wrote.
pub(crate) fn read(step: &Json) -> Input {
    let text = |name: &str| step[name].as_str().map(str::to_owned);
    let object = |name: &str| step[name].as_object().cloned();
    let (token, supervisor) = (text("token").unwrap_or_default(), text("supervisor"));
    let task = step["task"].as_u64().unwrap_or(0);
    let attempt = step["attempt"].as_u64();
    match step["do"].as_str().unwrap() {
        "start" => Input::StartToken { token, workflow: None, context: object("context").unwrap() },
        "fire" => Input::FireEvent {
            token,
            event: text("event").unwrap(),
            payload: object("payload"),
            key: text("key"),
        },
        "pause" => Input::PauseToken { token },
        "resume" => Input::ResumeToken { token },
        "cancel" => Input::CancelToken { token },
        "claim" => Input::ClaimTask { task, supervisor: supervisor.unwrap(), request: None },
        "report" => Input::ReportTask {
            task,
            supervisor,
            attempt,
            outcome: match step["kind"].as_str().unwrap() {
                "event" => Outcome::Event { event: text("event").unwrap(), payload: object("payload") },
                "waiting" => Outcome::Waiting,
                _ => Outcome::Failed { error: text("error").unwrap(), retry: true },
            },
            context: object("context").unwrap(),
            schedules: step["schedules"]
                .as_array()
                .unwrap()
                .iter()
                .map(|s| Schedule::of_json(s).unwrap())
                .collect(),
        },
        "note" => Input::AddNote { task, attempt, text: text("text").unwrap() },
        "memory" => Input::SetMemory {
            task,
            attempt,
            key: text("key").unwrap(),
            value: text("value").map(Into::into),
        },
        "expire" => Input::ExpireLease { task },
        "timer" => Input::FireTimer { timer: step["timer"].as_u64().unwrap() },
        other => panic!("no input is called {other}"),
    }
}

/// What was told, in one word: a code, or what a run calls the answer.
pub(crate) fn word(told: &Told) -> &'static str {
    match told {
        Told::Created(_) => "created",
        Told::Token(_) => "token",
        Told::Duplicate(_) => "duplicate",
        Told::Granted(_) => "granted",
        Told::Run => "run",
        Told::Skip => "skip",
        Told::Done => "done",
        Told::Stale => "stale",
        Told::Refused(code) => code,
    }
}

/// An entry as the original has it: without the event that ended a child, which is ours, and without the place of a held
/// event, since the original also counts what an ended child once held.
pub(crate) fn original(entry: &Entry) -> Json {
    let mut data = entry.data.clone();
    let fields = data.as_object_mut().unwrap();
    fields.remove("arrival");
    let branches = fields.get_mut("payload").and_then(|payload| payload.get_mut("branches"));
    for branch in branches.and_then(Json::as_array_mut).into_iter().flatten() {
        branch.as_object_mut().unwrap().remove("ended_by");
    }
    json!([entry.kind, data])
}
