//! Routines: components are uploaded, put in force for a state, listed and downloaded. All of it is *ours*.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use stateous_api::{COMPONENT_BYTES_MAX, Code, HTTP_RULES_MAX, HttpRule};
use stateous_engine::graph::Workflow;
use stateous_engine::{Graph, limits};
use stateous_inspect::{Problem, ProblemCode, Report};
use stateous_store::{Push, RoutineLimits, Upload};

use super::{Names, Query};
use crate::app::App;
use crate::body;
use crate::fields::is_name;
use crate::refused::{Refused, quote};
use crate::views;

/// How long a component may take to come.
const UPLOAD_TIME: Duration = Duration::from_secs(300);
/// A component never changes: its name is its digest.
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// `POST /routines?workflow=&state=&name=&fuel=&memory_bytes=&wall_ms=&http=`, with the component as the body.
///
/// 201 when it is newly in force, 200 when the same component with the same limits was already.
pub(crate) async fn push(
    State(app): State<Arc<App>>,
    query: Query,
    request: Request,
) -> Result<Response, Refused> {
    let Wanted { workflow, state, name, limits } = match wanted(&app, &query) {
        Ok(wanted) => wanted,
        Err(refused) => {
            body::drain(request).await;
            return Err(refused);
        }
    };
    let bytes = body::bytes(request, COMPONENT_BYTES_MAX, UPLOAD_TIME).await?;
    let checked =
        tokio::task::spawn_blocking(move || stateous_inspect::check(&bytes).map(|report| (report, bytes)));
    let (report, bytes) = checked
        .await
        .map_err(|_| Refused::unexpected("the check of a component panicked"))?
        .map_err(|problems| invalid(&problems))?;
    let Report { digest, size, sdk, .. } = report;

    let before = in_force(&app, &workflow, &state).await?;
    let upload = Upload { digest, size, sdk: sdk.clone(), uploaded_at: app.clock.now() };
    let assignment =
        app.committer.assign(Push { upload, bytes: bytes.into(), workflow, state, name, limits }).await?;
    let status = if before == Some(assignment.version) { StatusCode::OK } else { StatusCode::CREATED };
    Ok(views::json(status, &views::routine(&assignment, size, sdk)))
}

/// `GET /routines`
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response, Refused> {
    let found = app.read(|reader| reader.assignments()).await?;
    let told: Vec<_> = found
        .iter()
        .map(|(assignment, upload)| views::routine(assignment, upload.size, upload.sdk.clone()))
        .collect();
    Ok(views::json(StatusCode::OK, &told))
}

/// `GET /routines/{digest}`
pub(crate) async fn component(
    State(app): State<Arc<App>>,
    path: Names,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let digest = path.first();
    let none =
        || Refused::new(Code::RoutineNotFound, format!("no component {} was uploaded", quote(&digest)));
    if !stateous_inspect::is_digest(&digest) {
        return Err(none());
    }
    let tag = HeaderValue::from_str(&format!("\"{digest}\"")).map_err(|_| none())?;
    let wanted = digest.clone();
    if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let bytes = app.read(move |reader| reader.component(&wanted)).await?.ok_or_else(none)?;
    let mut response = Response::new(Body::from(bytes));
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/wasm"));
    answer.insert(header::ETAG, tag);
    answer.insert(header::CACHE_CONTROL, FOREVER);
    Ok(response)
}

/// What an upload asks for.
struct Wanted {
    workflow: String,
    state: String,
    name: String,
    limits: RoutineLimits,
}

fn wanted(app: &App, query: &Query) -> Result<Wanted, Refused> {
    let (workflow, state) = target(app, query)?;
    let name = query.get("name").unwrap_or(&state).to_owned();
    if !is_name(&name, limits::MEMORY_KEY) || name.chars().any(char::is_control) {
        let message = "'name' is a name for people: 1 to 128 characters, no control characters";
        return Err(Refused::new(Code::InvalidArgument, message));
    }
    let most = limits::TASK_ID;
    let limits = RoutineLimits {
        fuel: query.number("fuel", 1, most)?,
        memory_bytes: query.number("memory_bytes", 1, most)?,
        wall_ms: query.number("wall_ms", 1, most)?,
        http: http_rules(query)?,
    };
    Ok(Wanted { workflow, state, name, limits })
}

/// The requests that a component asks to send: one rule a line.
fn http_rules(query: &Query) -> Result<Vec<String>, Refused> {
    let refused = |message: String| Refused::new(Code::InvalidArgument, message);
    let lines = query.get("http").unwrap_or_default().lines().filter(|line| !line.trim().is_empty());
    let rules = lines.map(|line| line.parse::<HttpRule>().map(|rule| rule.to_string()));
    let rules = rules.collect::<Result<Vec<_>, _>>().map_err(|error| refused(format!("'http': {error}")))?;
    if rules.len() > HTTP_RULES_MAX {
        return Err(refused(format!("'http' has at most {HTTP_RULES_MAX} rules, not {}", rules.len())));
    }
    Ok(rules)
}

/// The workflow and state that a component is to serve: both must be served, and the state must have a routine.
fn target(app: &App, query: &Query) -> Result<(String, String), Refused> {
    let refused = |message: String| Refused::new(Code::InvalidArgument, message);
    let graphs = app.rules.catalog.graphs();
    let named = query.get("workflow").unwrap_or_else(|| app.default_graph().name());
    let Some(workflow) = graphs.iter().find_map(|graph| graph.workflow(named)) else {
        let known: Vec<&str> = graphs.iter().flat_map(Graph::workflows).map(Workflow::name).collect();
        return Err(refused(format!(
            "there is no workflow {}; this control plane serves: {}",
            quote(named),
            known.join(", ")
        )));
    };
    let known = || {
        let states = workflow.states().filter(|state| state.parallel.is_none());
        states.map(|state| state.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    match query.get("state") {
        None => Err(refused(format!(
            "'state' names the state that the component is to serve, one of: {}",
            known()
        ))),
        Some(state) if workflow.state(state).is_some_and(|state| state.parallel.is_none()) => {
            Ok((workflow.name().to_owned(), state.to_owned()))
        }
        Some(state) => Err(refused(format!(
            "the workflow '{}' has no state {} with a routine; its states are: {}",
            workflow.name(),
            quote(state),
            known()
        ))),
    }
}

fn invalid(problems: &[Problem]) -> Refused {
    let words: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    let message = format!("this cannot be a routine: {}", words.join("; "));
    if problems.iter().any(|problem| problem.code == ProblemCode::TooLarge) {
        return Refused::bad_request(StatusCode::PAYLOAD_TOO_LARGE, message);
    }
    Refused::new(Code::RoutineInvalid, message)
}

/// The version in force for a state.
async fn in_force(app: &App, workflow: &str, state: &str) -> Result<Option<u64>, Refused> {
    let found = app.read(|reader| reader.assignments()).await?;
    let of_state = found.iter().find(|(a, _)| a.workflow == workflow && a.state == state);
    Ok(of_state.map(|(assignment, _)| assignment.version))
}
