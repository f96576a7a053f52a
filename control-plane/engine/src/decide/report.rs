//! How a task ends: an event, waiting, or a failed attempt.

use serde_json::json;

use super::draft::{Draft, Seat};
use super::held::worked_on;
use super::moves::{self, Choice};
use super::words::quote;
use super::{Decided, Rules, deferred, refuse};
use crate::graph::{ERROR, Workflow, is_own_event};
use crate::input::{Outcome, Schedule};
use crate::json::Object;
use crate::loaded::{Loaded, Missing};
use crate::model::{Kind, Private, Status, Task, TaskStatus, TimerKind};
use crate::refusal::Code;
use crate::time::{Timestamp, parse_duration};

/// What a report says.
pub(super) struct Report<'r> {
    pub(super) outcome: &'r Outcome,
    pub(super) context: &'r Object,
    pub(super) schedules: &'r [Schedule],
}

/// A task's outcome, from the supervisor that holds it or from outside. Checked whole before anything is changed: a
/// refused report saves none of its context writes.
pub(super) fn report(
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
    id: u64,
    supervisor: Option<&str>,
    attempt: Option<u64>,
    report: &Report<'_>,
) -> Decided {
    let (task, member) = match worked_on(loaded, id, supervisor, attempt) {
        Ok(found) => found,
        Err(refusal) => return refuse(refusal.code, refusal.message),
    };
    if supervisor.is_none() && *report.outcome == Outcome::Waiting {
        return refuse(Code::TaskNotHeld, "only the supervisor that holds a task reports it waiting");
    }
    let (mut draft, seat) = match Draft::of(rules, loaded, member, now) {
        Ok(found) => found,
        Err(refusal) => return refuse(Code::TaskNotHeld, refusal.message),
    };
    if let Outcome::Failed { error, retry } = report.outcome {
        let error = if error.is_empty() { "the routine failed, and said no more" } else { error };
        attempt_failed(&mut draft, seat, task, error, *retry)?;
        return draft.finish_with(seat);
    }
    let mut context = draft.context(seat)?;
    context.extend(report.context.iter().map(|(k, v)| (k.clone(), v.clone())));
    let workflow = draft.workflow(seat);
    let errors = workflow.context_errors(&context);
    if !errors.is_empty() {
        let text = format!("the context changes break the schema: {}", errors.join("; "));
        return refuse(Code::InvalidContext, text);
    }
    if let Some(problem) = report.schedules.iter().find_map(|s| schedule_problem(workflow, s)) {
        return refuse(Code::InvalidPayload, problem);
    }
    match report.outcome {
        Outcome::Event { event, payload } => {
            event_reported(draft, seat, task, event, payload.as_ref(), &context, report)
        }
        _ => {
            save(&mut draft, seat, &context, report.context, report.schedules);
            draft.append(seat, Kind::TaskWaiting, json!({"task": task.id}));
            draft.put_task(seat, Task { status: TaskStatus::Waiting, lease_until: None, ..task.clone() });
            draft.finish_with(seat)
        }
    }
}

fn event_reported(
    mut draft: Draft<'_>,
    seat: Seat,
    task: &Task,
    event: &str,
    payload: Option<&Object>,
    context: &Object,
    report: &Report<'_>,
) -> Decided {
    let workflow = draft.workflow(seat);
    let emits = workflow.state(&task.state).map_or(&[][..], |spec| &spec.emits);
    if !emits.iter().any(|e| e == event) {
        let allowed = if emits.is_empty() { "nothing".to_owned() } else { emits.join(", ") };
        let reason = format!("{} may not emit {}; it may emit: {allowed}", quote(&task.state), quote(event));
        return Ok(draft.finish_rejected(seat, event, reason, Code::EventNotAllowed));
    }
    let errors = workflow.payload_errors(event, payload);
    if !errors.is_empty() {
        return refuse(Code::InvalidPayload, format!("{event}: {}", errors.join("; ")));
    }
    // The guards read the context with the routine's writes. A paused token decides too: it refuses what an active one
    // refuses, and holds only what can apply.
    let decided = match moves::choose(&draft, seat, event, payload, context)? {
        Choice::Take(chosen) => Ok(chosen),
        Choice::Fatal(reason) => Err(reason),
        Choice::Refused(reason) => {
            return Ok(draft.finish_rejected(seat, event, reason, Code::EventNotAllowed));
        }
    };
    if draft[seat].status == Status::Paused {
        let outcome = deferred::Outcome { task, context: report.context, schedules: report.schedules };
        deferred::hold_outcome(&mut draft, seat, event, payload, &outcome);
        // The work is done, whatever becomes of its outcome.
        draft.append(seat, Kind::TaskDone, json!({"task": task.id}));
        draft.put_task(seat, Task { status: TaskStatus::Done, lease_until: None, ..task.clone() });
        return draft.finish_with(seat);
    }
    save(&mut draft, seat, context, report.context, report.schedules);
    match decided {
        Ok(chosen) => moves::take(&mut draft, seat, chosen, event, payload, None)?,
        Err(reason) => moves::fail(&mut draft, seat, &reason)?,
    }
    draft.finish_with(seat)
}

/// Saves a report's context writes (`context` is the context with them) and sets its timers: before the outcome moves the
/// token, so that leaving the state cancels them.
pub(super) fn save(
    draft: &mut Draft<'_>,
    seat: Seat,
    context: &Object,
    changes: &Object,
    schedules: &[Schedule],
) {
    if !changes.is_empty() {
        let changed = draft.put_context(seat, context);
        let mut keys: Vec<&String> = changes.keys().collect();
        keys.sort_unstable();
        let data = json!({"keys": keys});
        draft.append_private(seat, Kind::ContextChanged, data, Private::stored(&changed));
    }
    for schedule in schedules {
        // Checked by `schedule_problem` before.
        let after = parse_duration(&schedule.after).unwrap_or_default();
        draft.set_timer(seat, &schedule.event, schedule.payload.clone(), after, TimerKind::Timer);
    }
}

fn schedule_problem(workflow: &Workflow, schedule: &Schedule) -> Option<String> {
    let event = quote(&schedule.event);
    if parse_duration(&schedule.after).is_none() {
        return Some(format!(
            "a timer for {event}: {} is not a duration: a whole number and s, m, h or d, at most 3650d",
            quote(&schedule.after),
        ));
    }
    if is_own_event(&schedule.event) || !workflow.declares(&schedule.event) {
        let name = quote(workflow.name());
        return Some(format!("a timer names {event}, which is not an event of {name}"));
    }
    let errors = workflow.payload_errors(&schedule.event, schedule.payload.as_ref());
    (!errors.is_empty()).then(|| format!("a timer for {event}: {}", errors.join("; ")))
}

/// One failed attempt: the task is queued again while retries are left, else the token gets `error`; with no way to go
/// on `error`, the token fails. A paused token holds its `error`.
pub(super) fn attempt_failed(
    draft: &mut Draft<'_>,
    seat: Seat,
    task: &Task,
    error: &str,
    retry: bool,
) -> Result<(), Missing> {
    draft.append(seat, Kind::TaskFailed, json!({"task": task.id, "error": error}));
    let failures = task.failures + 1;
    let retries = draft.workflow(seat).state(&task.state).map_or(0, |spec| spec.retries);
    if retry && failures <= retries {
        let next = task.attempt + 1;
        draft.append(seat, Kind::TaskRetrying, json!({"task": task.id, "attempt": next}));
        let again = Task {
            status: TaskStatus::Queued,
            failures,
            claimed_by: None,
            request: None,
            lease_until: None,
            ..task.clone()
        };
        draft.put_task(seat, again);
        // The next attempt runs the routine again, and it sets its own timers. The state's timeout covers all attempts.
        draft.cancel_timers(seat, |timer| timer.kind == TimerKind::Timer);
        return Ok(());
    }
    draft.put_task(seat, Task { status: TaskStatus::Failed, failures, lease_until: None, ..task.clone() });
    if draft[seat].status == Status::Paused {
        // A paused token neither moves nor ends by itself.
        let outcome = deferred::Outcome { task, context: &Object::new(), schedules: &[] };
        deferred::hold_outcome(draft, seat, ERROR, None, &outcome);
        return Ok(());
    }
    let state = quote(&draft[seat].state);
    if draft.workflow(seat).candidates(&draft[seat].state, ERROR).is_empty() {
        return moves::fail(
            draft,
            seat,
            &format!("{state} failed, and has no transition on 'error': {error}"),
        );
    }
    match moves::route(draft, seat, ERROR, None, None)? {
        None => Ok(()),
        Some(reason) => {
            moves::fail(draft, seat, &format!("{state} failed, and 'error' cannot move it: {reason}"))
        }
    }
}
