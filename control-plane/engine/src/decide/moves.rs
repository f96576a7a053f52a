//! How a token moves: choose a transition, leave, enter, end. Every event of every origin comes through here.

use serde_json::json;

use super::draft::Draft;
use super::words::{quote, quote_all};
use crate::change::Change;
use crate::graph::{END, Transition};
use crate::guard::Facts;
use crate::json::{Json, Object};
use crate::model::{EventRecord, Kind, Status, TaskStatus, TimerKind};

/// Why an event moves no token.
#[derive(Debug)]
pub(super) enum NoMove {
    /// Nothing takes the event; the token stays.
    Refused(String),
    /// The graph is wrong about it (two guards hold): to choose would be to guess, so the token fails.
    Fatal(String),
}

/// The transition that `event` takes from where the token is, with this context. Changes nothing.
pub(super) fn choose(
    draft: &Draft<'_>,
    event: &str,
    payload: Option<&Object>,
    context: &Object,
) -> Result<Transition, NoMove> {
    let state = &draft.token.state;
    let candidates = draft.workflow.candidates(state, event);
    if candidates.is_empty() {
        return Err(NoMove::Refused(format!("no transition for {} from {}", quote(event), quote(state))));
    }
    let empty = Object::new();
    // `count('e')` includes the event that is being routed.
    let counts = |name: &str| draft.token.counts.get(name).copied().unwrap_or(0) + u64::from(name == event);
    let facts = Facts { context, payload: payload.unwrap_or(&empty), counts: &counts, branches: &[] };
    let chosen = pick(candidates, &facts).map_err(|targets| {
        NoMove::Fatal(format!(
            "{} from {} matched more than one guard ({targets}); compile the workflow again, which refuses such guards",
            quote(event),
            quote(state),
        ))
    })?;
    chosen.cloned().ok_or_else(|| {
        NoMove::Refused(format!("no guard matched {} from {}, and no otherwise", quote(event), quote(state)))
    })
}

/// The one transition whose guard holds, else the one without a guard. When more than one guard holds, their targets: to
/// choose would be to guess.
pub(super) fn pick<'t>(
    transitions: &'t [Transition],
    facts: &Facts<'_>,
) -> Result<Option<&'t Transition>, String> {
    let holding: Vec<&Transition> =
        transitions.iter().filter(|t| t.when.as_ref().is_some_and(|guard| guard.holds(facts))).collect();
    match holding[..] {
        [] => Ok(transitions.iter().find(|t| t.when.is_none())),
        [one] => Ok(Some(one)),
        _ => Err(quote_all(holding.iter().map(|t| t.target.as_str()))),
    }
}

/// Routes an event of an active token: moves the token, or fails it, or says why nothing takes the event.
pub(super) fn route(
    draft: &mut Draft<'_>,
    event: &str,
    payload: Option<&Object>,
    key: Option<&str>,
) -> Result<(), String> {
    let context = draft.context();
    match choose(draft, event, payload, &context) {
        Ok(chosen) => take(draft, &chosen, event, payload, key),
        Err(NoMove::Fatal(reason)) => fail(draft, &reason),
        Err(NoMove::Refused(reason)) => return Err(reason),
    }
    Ok(())
}

/// Moves the token along a transition.
pub(super) fn take(
    draft: &mut Draft<'_>,
    chosen: &Transition,
    event: &str,
    payload: Option<&Object>,
    key: Option<&str>,
) {
    accept(draft, event, payload, key);
    leave(draft, Some(event));
    if chosen.target == END {
        end(draft, Status::Completed, json!({}));
    } else {
        enter(draft, &chosen.target);
    }
}

/// Records an accepted event and counts it.
pub(super) fn accept(draft: &mut Draft<'_>, event: &str, payload: Option<&Object>, key: Option<&str>) {
    let state = draft.token.state.clone();
    let told = payload.map_or(Json::Null, |p| Json::Object(p.clone()));
    draft.append_keyed(Kind::EventAccepted, json!({"event": event, "payload": told, "state": state}), key);
    *draft.token.counts.entry(event.to_owned()).or_default() += 1;
    draft.token.entered_by = EventRecord { name: event.to_owned(), payload: payload.cloned() };
}

/// Enters a state: its task is queued and its timeout set.
pub(super) fn enter(draft: &mut Draft<'_>, state: &str) {
    let visits = draft.token.visits.entry(state.to_owned()).or_default();
    *visits += 1;
    draft.token.visit = *visits;
    state.clone_into(&mut draft.token.state);
    draft.token.entered_at = draft.now;
    draft.append(Kind::Entered, json!({"state": state, "visit": draft.token.visit}));
    draft.queue_task();
    let timeout = draft.workflow.state(state).and_then(|spec| spec.timeout_ms);
    if let Some(after) = timeout {
        draft.set_timer(crate::graph::TIMEOUT, None, after, TimerKind::Timeout);
    }
}

/// Stops all that the current state started. When the token leaves on an event that the state emits, a task that
/// somebody works on is done; else it is cancelled, so that a supervisor's heartbeat finds it lost.
fn leave(draft: &mut Draft<'_>, via: Option<&str>) {
    let emits = draft.workflow.state(&draft.token.state).map_or(&[][..], |spec| &spec.emits);
    let finished = via.is_some_and(|event| emits.iter().any(|e| e == event));
    for mut task in draft.take_tasks() {
        let done = finished && (task.status.is_held() || task.status == TaskStatus::Waiting);
        task.status = if done { TaskStatus::Done } else { TaskStatus::Cancelled };
        task.lease_until = None;
        draft.append(if done { Kind::TaskDone } else { Kind::TaskCancelled }, json!({"task": task.id}));
        draft.put_task(task);
    }
    draft.cancel_timers(|_| true);
}

/// The token ends. It keeps its last state; its memory goes.
pub(super) fn end(draft: &mut Draft<'_>, status: Status, data: Json) {
    draft.token.status = status;
    draft.token.paused_at = None;
    let kind = match status {
        Status::Completed => Kind::Completed,
        Status::Cancelled => Kind::Cancelled,
        Status::Failed | Status::Active | Status::Paused => Kind::Failed,
    };
    draft.append(kind, data);
    draft.record(Change::DeleteAllMemory { token: draft.token.id.clone() });
}

/// No way to go on: the token fails where it is, and says why.
pub(super) fn fail(draft: &mut Draft<'_>, reason: &str) {
    leave(draft, None);
    end(draft, Status::Failed, json!({"reason": reason}));
}

/// Somebody stops the token for good.
pub(super) fn cancel(draft: &mut Draft<'_>) {
    leave(draft, None);
    end(draft, Status::Cancelled, json!({}));
}
