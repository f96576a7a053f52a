//! How a token moves: choose a transition, leave, enter, end. Every event of every origin comes through here; what that
//! means for the tokens above and below is in `family`.

use serde_json::json;

use super::draft::{Draft, Seat};
use super::family;
use super::words::{quote, quote_all};
use crate::change::Change;
use crate::graph::{END, JOINED, Transition};
use crate::guard::Facts;
use crate::json::{Json, Object};
use crate::loaded::Missing;
use crate::model::{EventRecord, Kind, Status, TaskStatus, TimerKind};

/// What an event finds where the token is.
#[derive(Debug)]
pub(super) enum Choice<'a> {
    /// The transition that takes it.
    Take(&'a Transition),
    /// Nothing takes the event; the token stays.
    Refused(String),
    /// The graph is wrong about it (two guards hold): to choose would be to guess, so the token fails.
    Fatal(String),
}

/// The transition that `event` takes from where the token is, with this context. A transition into a parallel state
/// whose children cannot start is refused. Changes nothing.
pub(super) fn choose<'a>(
    draft: &Draft<'a>,
    seat: Seat,
    event: &str,
    payload: Option<&Object>,
    context: &Object,
) -> Result<Choice<'a>, Missing> {
    let (token, workflow) = (&draft[seat], draft.workflow(seat));
    let candidates = workflow.candidates(&token.state, event);
    let (told, from) = (quote(event), quote(&token.state));
    if candidates.is_empty() {
        return Ok(Choice::Refused(format!("no transition for {told} from {from}")));
    }
    let empty = Object::new();
    let payload = payload.unwrap_or(&empty);
    let branches = match payload.get("branches") {
        Some(Json::Array(branches)) if event == JOINED => &branches[..],
        _ => &[],
    };
    // `count('e')` includes the event that is being routed.
    let counts = |name: &str| token.counts.get(name).copied().unwrap_or(0) + u64::from(name == event);
    let facts = Facts { context, payload, counts: &counts, branches };
    let chosen = match pick(candidates, &facts) {
        Ok(Some(chosen)) => chosen,
        Ok(None) => {
            return Ok(Choice::Refused(format!("no guard matched {told} from {from}, and no otherwise")));
        }
        Err(targets) => {
            return Ok(Choice::Fatal(format!(
                "{told} from {from} matched more than one guard ({targets}); compile the workflow again, which refuses \
                 such guards"
            )));
        }
    };
    let problem = family::cannot_enter(draft, seat, &chosen.target, context)?;
    Ok(problem.map_or_else(|| Choice::Take(chosen), Choice::Refused))
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

/// Routes an event of an active token: moves the token, or fails it, or answers why nothing takes the event.
pub(super) fn route(
    draft: &mut Draft<'_>,
    seat: Seat,
    event: &str,
    payload: Option<&Object>,
    key: Option<&str>,
) -> Result<Option<String>, Missing> {
    let context = draft.context(seat)?;
    match choose(draft, seat, event, payload, &context)? {
        Choice::Take(chosen) => take(draft, seat, chosen, event, payload, key)?,
        Choice::Fatal(reason) => fail(draft, seat, &reason)?,
        Choice::Refused(reason) => return Ok(Some(reason)),
    }
    Ok(None)
}

/// Moves the token along a transition.
pub(super) fn take(
    draft: &mut Draft<'_>,
    seat: Seat,
    chosen: &Transition,
    event: &str,
    payload: Option<&Object>,
    key: Option<&str>,
) -> Result<(), Missing> {
    let why = format!("the parent left {} on {}", quote(&draft[seat].state), quote(event));
    accept(draft, seat, event, payload, key);
    leave(draft, seat, Some(event), &why)?;
    let by = EventRecord { name: event.to_owned(), payload: payload.cloned() };
    arrive(draft, seat, &chosen.target, by)
}

/// Brings the token to where an accepted event leads: a state, or its end.
pub(super) fn arrive(
    draft: &mut Draft<'_>,
    seat: Seat,
    target: &str,
    by: EventRecord,
) -> Result<(), Missing> {
    if target == END {
        draft[seat].ended_by = Some(by);
        end(draft, seat, Status::Completed, json!({}))
    } else {
        draft[seat].entered_by = by;
        enter(draft, seat, target)
    }
}

/// Records an accepted event and counts it.
pub(super) fn accept(
    draft: &mut Draft<'_>,
    seat: Seat,
    event: &str,
    payload: Option<&Object>,
    key: Option<&str>,
) {
    let state = draft[seat].state.clone();
    let told = payload.map_or(Json::Null, |p| Json::Object(p.clone()));
    let data = json!({"event": event, "payload": told, "state": state});
    draft.append_keyed(seat, Kind::EventAccepted, data, key);
    *draft[seat].counts.entry(event.to_owned()).or_default() += 1;
}

/// Enters a state: its task is queued, or the children of a parallel state start. Its timeout is set before they do.
pub(super) fn enter(draft: &mut Draft<'_>, seat: Seat, state: &str) -> Result<(), Missing> {
    let now = draft.now;
    let token = &mut draft[seat];
    let visits = token.visits.entry(state.to_owned()).or_default();
    *visits += 1;
    token.visit = *visits;
    state.clone_into(&mut token.state);
    token.entered_at = now;
    let visit = token.visit;
    draft.append(seat, Kind::Entered, json!({"state": state, "visit": visit}));
    let spec = draft.workflow(seat).state(state);
    let parallel = spec.and_then(|spec| spec.parallel.as_ref());
    if parallel.is_none() {
        draft.queue_task(seat);
    }
    if let Some(after) = spec.and_then(|spec| spec.timeout_ms) {
        draft.set_timer(seat, crate::graph::TIMEOUT, None, after, TimerKind::Timeout);
    }
    parallel.map_or(Ok(()), |parallel| family::start_children(draft, seat, parallel))
}

/// Stops all that the current state started: its tasks, its timers and its children, which are told `why`. When the token
/// leaves on an event that the state emits, a task that somebody works on is done; else it is cancelled, so that a
/// supervisor's heartbeat finds it lost.
fn leave(draft: &mut Draft<'_>, seat: Seat, via: Option<&str>, why: &str) -> Result<(), Missing> {
    let spec = draft.workflow(seat).state(&draft[seat].state);
    let emits = spec.map_or(&[][..], |spec| &spec.emits);
    let finished = via.is_some_and(|event| emits.iter().any(|e| e == event));
    for mut task in draft.take_tasks(seat) {
        let done = finished && (task.status.is_held() || task.status == TaskStatus::Waiting);
        task.status = if done { TaskStatus::Done } else { TaskStatus::Cancelled };
        task.lease_until = None;
        let kind = if done { Kind::TaskDone } else { Kind::TaskCancelled };
        draft.append(seat, kind, json!({"task": task.id}));
        draft.put_task(seat, task);
    }
    draft.cancel_timers(seat, |_| true);
    family::cancel_children(draft, seat, why)
}

/// The token ends. It keeps its last state; its memory goes. A child that completed or failed tells its parent; one is
/// cancelled only because its parent leaves, so that tells nobody.
pub(super) fn end(draft: &mut Draft<'_>, seat: Seat, status: Status, data: Json) -> Result<(), Missing> {
    draft[seat].status = status;
    draft[seat].paused_at = None;
    let kind = match status {
        Status::Completed => Kind::Completed,
        Status::Cancelled => Kind::Cancelled,
        Status::Failed | Status::Active | Status::Paused => Kind::Failed,
    };
    draft.append(seat, kind, data);
    draft.record(Change::DeleteAllMemory { token: draft[seat].id.clone() });
    if status == Status::Cancelled { Ok(()) } else { family::child_ended(draft, seat) }
}

/// No way to go on: the token fails where it is, and says why.
pub(super) fn fail(draft: &mut Draft<'_>, seat: Seat, reason: &str) -> Result<(), Missing> {
    leave(draft, seat, None, &format!("the parent failed: {reason}"))?;
    end(draft, seat, Status::Failed, json!({"reason": reason}))
}

/// The token is stopped for good; `data` says why, when it is because of its parent.
pub(super) fn cancel(draft: &mut Draft<'_>, seat: Seat, data: Json) -> Result<(), Missing> {
    leave(draft, seat, None, "the parent was cancelled")?;
    end(draft, seat, Status::Cancelled, data)
}
