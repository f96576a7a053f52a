//! Supervisors ask for work and keep it: claim, heartbeat.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use stateous_api::{ClaimAnswer, Code, HeartbeatAnswer, WAIT_MS_MAX};
use stateous_engine::json::Json;
use stateous_engine::{limits, names};
use stateous_store::{Claim, Granted, QueuedFilter};

use crate::app::App;
use crate::body;
use crate::fields::{Fields, is_name, whole};
use crate::refused::Refused;
use crate::views;

/// `POST /tasks/claim`
///
/// The original's form gets one grant or 204, at once. With `max` the answer is a list, and the request may wait.
pub(crate) async fn claim(State(app): State<Arc<App>>, request: Request) -> Result<Response, Refused> {
    let mut body = body::object(request, Code::InvalidBody).await?;
    // Times in the answer count from here at the latest: it is after the supervisor sent the request.
    let arrived = app.clock.now();
    let supervisor = body.supervisor()?;
    let default = app.default_graph().name();
    let Some(max) = body.number("max", 1, u64::from(limits::CLAIM_TASKS))? else {
        let filter = QueuedFilter { states: Some(states(&mut body, default)?), assigned: false };
        let request = request_id(&mut body)?;
        app.supervisors.asked(&supervisor, &filter, arrived);
        let incarnation = None;
        let claim = Claim { supervisor, filter, request, incarnation, max: 1, wait: Duration::ZERO };
        return match app.committer.claim(claim).await?.first() {
            Some(granted) => Ok(views::json(StatusCode::OK, &views::plain_grant(granted, default)?)),
            None => Ok(StatusCode::NO_CONTENT.into_response()),
        };
    };
    let routines = body.flag("routines", false, Code::InvalidArgument)?;
    let states = if routines && !body.has("states") { None } else { Some(states(&mut body, default)?) };
    let request = request_id(&mut body)?;
    let incarnation = body.incarnation()?;
    let wait = Duration::from_millis(body.number("wait_ms", 0, WAIT_MS_MAX)?.unwrap_or(0));
    let max = u32::try_from(max).unwrap_or(limits::CLAIM_TASKS);
    let filter = QueuedFilter { states, assigned: routines };
    app.supervisors.asked(&supervisor, &filter, arrived);
    let granted = wait_for_work(&app, Claim { supervisor, filter, request, incarnation, max, wait }).await?;
    let taken_at = views::taken_at(&granted).unwrap_or_else(|| app.clock.now());
    let grants = granted.iter().map(|one| views::grant(one, default, routines, taken_at));
    let answer = ClaimAnswer {
        grants: grants.collect::<Result<_, _>>()?,
        waited_ms: views::millis(taken_at.ms_since(arrived)),
    };
    Ok(views::json(StatusCode::OK, &answer))
}

/// A claim that waits is let go when the control plane stops. One that does not wait is always heard out: dropping it could
/// lose the answer to tasks that were taken for it.
async fn wait_for_work(app: &App, claim: Claim) -> Result<Vec<Granted>, Refused> {
    if claim.wait.is_zero() {
        return Ok(app.committer.claim(claim).await?);
    }
    tokio::select! {
        biased;
        () = app.stopping() => Ok(Vec::new()),
        granted = app.committer.claim(claim) => Ok(granted?),
    }
}

/// `POST /tasks/heartbeat`
pub(crate) async fn heartbeat(State(app): State<Arc<App>>, request: Request) -> Result<Response, Refused> {
    let mut body = body::object(request, Code::InvalidBody).await?;
    let supervisor = body.supervisor()?;
    let wrong = || Refused::new(Code::InvalidBody, "'tasks' is a list of task ids");
    let items = body.list("tasks", wrong)?;
    let id = |item: &Json| whole(item).filter(|n| (1..=limits::TASK_ID).contains(n));
    let tasks: Vec<u64> = items.iter().map(id).collect::<Option<_>>().ok_or_else(wrong)?;
    if tasks.len() > limits::ITEMS {
        let message = format!("'tasks' has at most {} task ids", limits::ITEMS);
        return Err(Refused::new(Code::InvalidArgument, message));
    }
    let incarnation = body.incarnation()?;
    app.supervisors.spoke(&supervisor, app.clock.now());
    let lost = app.committer.heartbeat(supervisor, incarnation, tasks).await?;
    Ok(views::json(StatusCode::OK, &HeartbeatAnswer { lost }))
}

/// The states that a claim names, as (workflow, state).
fn states(body: &mut Fields, default_workflow: &str) -> Result<Vec<(String, String)>, Refused> {
    let wrong = || Refused::new(Code::InvalidBody, "'states' is a list of state names");
    let items = body.list("states", wrong)?;
    let named = |item: &Json| {
        let name = item.as_str().filter(|name| is_name(name, limits::CLAIM_STATE))?;
        let (workflow, state) = name.split_once('/').unwrap_or((default_workflow, name));
        Some((workflow.to_owned(), state.to_owned()))
    };
    let states: Vec<_> = items.iter().map(named).collect::<Option<_>>().ok_or_else(wrong)?;
    if states.len() > limits::ITEMS {
        let message = format!("'states' has at most {} state names", limits::ITEMS);
        return Err(Refused::new(Code::InvalidArgument, message));
    }
    Ok(states)
}

fn request_id(body: &mut Fields) -> Result<Option<String>, Refused> {
    match body.take("request") {
        None => Ok(None),
        Some(Json::String(id)) if names::is_request_id(&id) => Ok(Some(id)),
        Some(_) => {
            let message = "'request' is 1 to 64 letters, digits, '.', '_' or '-'";
            Err(Refused::new(Code::InvalidArgument, message))
        }
    }
}
