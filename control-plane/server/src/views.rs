//! From rows to what is sent. The one place that knows both.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use stateous_api as api;
use stateous_engine::Timestamp;
use stateous_engine::change::{Grant, TokenView};
use stateous_engine::json::Object;
use stateous_engine::model::{Entry, EventRecord, Task, TaskStatus};
use stateous_store::{Assignment, Granted, ListedToken, RoutineLimits};

use crate::refused::Refused;
use crate::supervisors::Seen;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A complete JSON answer: compact, UTF-8, and every digit as it was stored.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(text) => {
            let mut response = Response::new(Body::from(text));
            *response.status_mut() = status;
            response.headers_mut().insert(header::CONTENT_TYPE, JSON);
            response
        }
        // Wire types are made of text, numbers and JSON text, which can always be written.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A token of a listing.
pub(crate) fn listed(token: &ListedToken) -> Result<api::Token, Refused> {
    Ok(api::Token {
        token: token.id.clone(),
        state: token.state.clone(),
        status: token.status.as_str().to_owned(),
        visit: token.visit,
        context: raw(&token.context)?,
        entered_at: token.entered_at.iso(),
        parent: token.parent.clone(),
    })
}

/// A token, as the engine and the reader give it.
pub(crate) fn token_view(view: &TokenView) -> Result<api::Token, Refused> {
    let token = &view.token;
    Ok(api::Token {
        token: token.id.clone(),
        state: token.state.clone(),
        status: token.status.as_str().to_owned(),
        visit: token.visit,
        context: raw(&view.context)?,
        entered_at: token.entered_at.iso(),
        parent: token.parent.clone(),
    })
}

/// One entry of a history.
pub(crate) fn entry(entry: &Entry) -> Result<api::Entry, Refused> {
    Ok(api::Entry {
        seq: entry.seq,
        at: entry.at.iso(),
        kind: entry.kind.as_str().to_owned(),
        data: object(&entry.data)?,
    })
}

/// A task.
pub(crate) fn task(task: Task) -> api::Task {
    let queued = task.status == TaskStatus::Queued;
    api::Task {
        task: task.id,
        token: task.token,
        workflow: task.workflow,
        state: task.state,
        visit: task.visit,
        status: task.status.told().to_owned(),
        phase: task.status.as_str().to_owned(),
        attempt: task.attempt,
        failures: task.failures,
        // Who held it last works on it no more.
        supervisor: task.claimed_by.filter(|_| !queued),
        lease_until: task.lease_until.filter(|_| task.status.is_held()).map(Timestamp::iso),
        queued_at: task.queued_at.iso(),
    }
}

/// A supervisor that spoke lately.
pub(crate) fn supervisor(name: String, seen: &Seen, tasks: u64, default_workflow: &str) -> api::Supervisor {
    let asks = seen.asks.as_deref();
    let told = |(workflow, state): &(String, String)| {
        if workflow == default_workflow { state.clone() } else { format!("{workflow}/{state}") }
    };
    let states = match asks {
        Some(asks) => asks.states.as_ref().map(|states| states.iter().map(told).collect()),
        None => Some(Vec::new()),
    };
    let routines = asks.is_some_and(|asks| asks.assigned);
    api::Supervisor { name, last_seen: seen.at.iso(), states, routines, tasks }
}

/// A grant as the original's supervisors get it.
pub(crate) fn plain_grant(granted: &Granted, default_workflow: &str) -> Result<api::PlainGrant, Refused> {
    let grant = &granted.grant;
    Ok(api::PlainGrant {
        task: grant.task.id,
        token: grant.task.token.clone(),
        state: told_state(grant, default_workflow),
        visit: grant.task.visit,
        attempt: grant.task.attempt,
        context: raw(&grant.context)?,
        memory: memory(grant)?,
        entered_by: event(&grant.entered_by)?,
    })
}

/// A grant as our supervisors get it; `routines` says whether the claim asked for components.
pub(crate) fn grant(
    granted: &Granted,
    default_workflow: &str,
    routines: bool,
    taken_at: Timestamp,
) -> Result<api::Grant, Refused> {
    let plain = plain_grant(granted, default_workflow)?;
    let grant = &granted.grant;
    Ok(api::Grant {
        task: plain.task,
        token: plain.token,
        state: plain.state,
        visit: plain.visit,
        attempt: plain.attempt,
        context: plain.context,
        memory: plain.memory,
        entered_by: plain.entered_by,
        workflow: grant.task.workflow.clone(),
        structure: grant.structure.clone(),
        lease_ms: millis(grant.lease_ms),
        deadline_ms: grant.deadline.map(|at| millis(at.ms_since(taken_at))),
        routine: granted.routine.as_ref().filter(|_| routines).map(pinned),
    })
}

/// When the tasks of a claim were taken: the lease that each got began then.
pub(crate) fn taken_at(granted: &[Granted]) -> Option<Timestamp> {
    let grant = &granted.first()?.grant;
    Some(grant.task.lease_until?.plus_ms(-grant.lease_ms))
}

/// A component in force.
pub(crate) fn routine(assignment: &Assignment, size: u64, sdk: Option<String>) -> api::RoutineInForce {
    api::RoutineInForce {
        workflow: assignment.workflow.clone(),
        state: assignment.state.clone(),
        version: assignment.version,
        digest: assignment.digest.clone(),
        name: assignment.name.clone(),
        limits: routine_limits(&assignment.limits),
        size,
        sdk,
        assigned_at: assignment.assigned_at.iso(),
    }
}

/// Milliseconds as they travel: what is over is 0.
pub(crate) fn millis(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}

/// The original names a state of another workflow than the default one with that workflow.
fn told_state(grant: &Grant, default_workflow: &str) -> String {
    let (workflow, state) = (&grant.task.workflow, &grant.task.state);
    if grant.child || workflow != default_workflow { format!("{workflow}/{state}") } else { state.clone() }
}

fn memory(grant: &Grant) -> Result<BTreeMap<String, api::Raw>, Refused> {
    grant.memory.iter().map(|cell| Ok((cell.key.clone(), raw(&cell.value)?))).collect()
}

fn event(record: &EventRecord) -> Result<api::EventRecord, Refused> {
    let payload = record.payload.as_ref().map(object).transpose()?;
    Ok(api::EventRecord { name: record.name.clone(), payload })
}

fn pinned(assignment: &Assignment) -> api::PinnedRoutine {
    api::PinnedRoutine {
        digest: assignment.digest.clone(),
        name: assignment.name.clone(),
        version: assignment.version,
        limits: routine_limits(&assignment.limits),
    }
}

fn routine_limits(limits: &RoutineLimits) -> api::RoutineLimits {
    let RoutineLimits { fuel, memory_bytes, wall_ms, http } = limits.clone();
    api::RoutineLimits { fuel, memory_bytes, wall_ms, http }
}

/// Stored JSON text, passed on as it is.
fn raw(text: &str) -> Result<api::Raw, Refused> {
    RawValue::from_string(text.to_owned())
        .map_err(|_| Refused::unexpected("the database holds text that is not JSON"))
}

fn object(object: &Object) -> Result<api::Raw, Refused> {
    to_raw_value(object).map_err(|_| Refused::unexpected("an object cannot be written as JSON"))
}
