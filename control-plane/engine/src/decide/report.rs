//! How a task ends: an event, waiting, or a failed attempt.

use serde_json::json;

use super::draft::Draft;
use super::fire::reject;
use super::held::worked_on;
use super::moves::{self, NoMove};
use super::words::quote;
use super::{Rules, deferred, refuse};
use crate::change::Decision;
use crate::graph::{ERROR, is_own_event};
use crate::input::{Outcome, Schedule};
use crate::json::Object;
use crate::loaded::Loaded;
use crate::model::{Kind, Status, Task, TaskStatus, TimerKind};
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
) -> Decision {
    let (task, member) = match worked_on(loaded, id, supervisor, attempt) {
        Ok(found) => found,
        Err(refusal) => return refuse(refusal.code, refusal.message),
    };
    if supervisor.is_none() && *report.outcome == Outcome::Waiting {
        return refuse(Code::TaskNotHeld, "only the supervisor that holds a task reports it waiting");
    }
    let mut draft = match Draft::of(rules, loaded, member, now) {
        Ok(draft) => draft,
        Err(refusal) => return refuse(Code::TaskNotHeld, refusal.message),
    };
    if let Outcome::Failed { error, retry } = report.outcome {
        let error = if error.is_empty() { "the routine failed, and said no more" } else { error };
        attempt_failed(&mut draft, task, error, *retry);
        return draft.finish_with_token();
    }
    let mut context = draft.context();
    context.extend(report.context.iter().map(|(k, v)| (k.clone(), v.clone())));
    let errors = draft.workflow.context_errors(&context);
    if !errors.is_empty() {
        let text = format!("the context changes break the schema: {}", errors.join("; "));
        return refuse(Code::InvalidContext, text);
    }
    if let Some(problem) = report.schedules.iter().find_map(|s| schedule_problem(&draft, s)) {
        return refuse(Code::InvalidPayload, problem);
    }
    match report.outcome {
        Outcome::Event { event, payload } => {
            event_reported(draft, task, event, payload.as_ref(), &context, report)
        }
        _ => {
            save(&mut draft, &context, report.context, report.schedules);
            draft.append(Kind::TaskWaiting, json!({"task": task.id}));
            draft.put_task(Task { status: TaskStatus::Waiting, lease_until: None, ..task.clone() });
            draft.finish_with_token()
        }
    }
}

fn event_reported(
    mut draft: Draft<'_>,
    task: &Task,
    event: &str,
    payload: Option<&Object>,
    context: &Object,
    report: &Report<'_>,
) -> Decision {
    let emits = draft.workflow.state(&task.state).map_or(&[][..], |spec| &spec.emits);
    if !emits.iter().any(|e| e == event) {
        let allowed = if emits.is_empty() { "nothing".to_owned() } else { emits.join(", ") };
        let reason = format!("{} may not emit {}; it may emit: {allowed}", quote(&task.state), quote(event));
        return reject(draft, event, reason, Code::EventNotAllowed);
    }
    let errors = draft.workflow.payload_errors(event, payload);
    if !errors.is_empty() {
        return refuse(Code::InvalidPayload, format!("{event}: {}", errors.join("; ")));
    }
    // The guards read the context with the routine's writes. A paused token decides too: it refuses what an active one
    // refuses, and holds only what can apply.
    let decided = match moves::choose(&draft, event, payload, context) {
        Ok(chosen) => Ok(chosen),
        Err(NoMove::Fatal(reason)) => Err(reason),
        Err(NoMove::Refused(reason)) => return reject(draft, event, reason, Code::EventNotAllowed),
    };
    if draft.token.status == Status::Paused {
        let outcome = deferred::Outcome { task, context: report.context, schedules: report.schedules };
        deferred::hold_outcome(&mut draft, event, payload, &outcome);
        // The work is done, whatever becomes of its outcome.
        draft.append(Kind::TaskDone, json!({"task": task.id}));
        draft.put_task(Task { status: TaskStatus::Done, lease_until: None, ..task.clone() });
        return draft.finish_with_token();
    }
    save(&mut draft, context, report.context, report.schedules);
    match decided {
        Ok(chosen) => moves::take(&mut draft, &chosen, event, payload, None),
        Err(reason) => moves::fail(&mut draft, &reason),
    }
    draft.finish_with_token()
}

/// Saves a report's context writes (`context` is the context with them) and sets its timers: before the outcome moves the
/// token, so that leaving the state cancels them.
pub(super) fn save(draft: &mut Draft<'_>, context: &Object, changes: &Object, schedules: &[Schedule]) {
    if !changes.is_empty() {
        draft.put_context(context);
        let mut keys: Vec<&String> = changes.keys().collect();
        keys.sort_unstable();
        draft.append(Kind::ContextChanged, json!({"keys": keys}));
    }
    for schedule in schedules {
        // Checked by `schedule_problem` before.
        let after = parse_duration(&schedule.after).unwrap_or_default();
        draft.set_timer(&schedule.event, schedule.payload.clone(), after, TimerKind::Timer);
    }
}

fn schedule_problem(draft: &Draft<'_>, schedule: &Schedule) -> Option<String> {
    let event = quote(&schedule.event);
    if parse_duration(&schedule.after).is_none() {
        return Some(format!(
            "a timer for {event}: {} is not a duration: a whole number and s, m, h or d, at most 3650d",
            quote(&schedule.after),
        ));
    }
    if is_own_event(&schedule.event) || !draft.workflow.declares(&schedule.event) {
        let workflow = quote(draft.workflow.name());
        return Some(format!("a timer names {event}, which is not an event of {workflow}"));
    }
    let errors = draft.workflow.payload_errors(&schedule.event, schedule.payload.as_ref());
    (!errors.is_empty()).then(|| format!("a timer for {event}: {}", errors.join("; ")))
}

/// One failed attempt: the task is queued again while retries are left, else the token gets `error`; with no way to go
/// on `error`, the token fails. A paused token holds its `error`.
pub(super) fn attempt_failed(draft: &mut Draft<'_>, task: &Task, error: &str, retry: bool) {
    draft.append(Kind::TaskFailed, json!({"task": task.id, "error": error}));
    let failures = task.failures + 1;
    let retries = draft.workflow.state(&task.state).map_or(0, |spec| spec.retries);
    if retry && failures <= retries {
        let next = task.attempt + 1;
        draft.append(Kind::TaskRetrying, json!({"task": task.id, "attempt": next}));
        draft.put_task(Task {
            status: TaskStatus::Queued,
            failures,
            claimed_by: None,
            request: None,
            lease_until: None,
            ..task.clone()
        });
        // The next attempt runs the routine again, and it sets its own timers. The state's timeout covers all attempts.
        draft.cancel_timers(|timer| timer.kind == TimerKind::Timer);
        return;
    }
    draft.put_task(Task { status: TaskStatus::Failed, failures, lease_until: None, ..task.clone() });
    if draft.token.status == Status::Paused {
        // A paused token neither moves nor ends by itself.
        let outcome = deferred::Outcome { task, context: &Object::new(), schedules: &[] };
        deferred::hold_outcome(draft, ERROR, None, &outcome);
        return;
    }
    let state = quote(&draft.token.state);
    if draft.workflow.candidates(&draft.token.state, ERROR).is_empty() {
        moves::fail(draft, &format!("{state} failed, and has no transition on 'error': {error}"));
    } else if let Err(reason) = moves::route(draft, ERROR, None, None) {
        moves::fail(draft, &format!("{state} failed, and 'error' cannot move it: {reason}"));
    }
}
