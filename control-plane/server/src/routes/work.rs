//! The work that there is, for people: tasks, and the supervisors that do them. All of it is *ours*.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::Response;
use stateous_api as api;
use stateous_api::Code;
use stateous_engine::model::TaskStatus;
use stateous_engine::{limits, names};
use stateous_store::TaskFilter;

use super::listing::{limit, place};
use super::{Query, TaskId};
use crate::app::App;
use crate::cursor;
use crate::fields::is_name;
use crate::refused::Refused;
use crate::views;

/// The fields of the query that lead to the next page.
const FIELDS: [&str; 7] = ["workflow", "state", "status", "token", "supervisor", "unserved", "limit"];

/// `GET /tasks`
pub(crate) async fn tasks(State(app): State<Arc<App>>, query: Query) -> Result<Response, Refused> {
    let filter = filter(&app, &query)?;
    let page = app.read(move |reader| reader.tasks(&filter)).await?;
    let told: Vec<api::Task> = page.tasks.into_iter().map(views::task).collect();
    let mut response = views::json(StatusCode::OK, &told);
    let link = page.next.and_then(|task| cursor::next("/tasks", &query, &FIELDS, &cursor::of_task(task)));
    if let Some(link) = link {
        response.headers_mut().insert(header::LINK, link);
    }
    Ok(response)
}

/// `GET /tasks/{n}`
pub(crate) async fn task(State(app): State<Arc<App>>, TaskId(task): TaskId) -> Result<Response, Refused> {
    match app.read(move |reader| reader.task(task)).await? {
        Some(found) => Ok(views::json(StatusCode::OK, &views::task(found))),
        None => Err(Refused::new(Code::TaskNotFound, format!("there is no task {task}"))),
    }
}

/// `GET /supervisors`
pub(crate) async fn supervisors(State(app): State<Arc<App>>) -> Result<Response, Refused> {
    let mut held = app.read(|reader| reader.held_by_supervisor()).await?;
    let default = app.default_graph().name();
    let told: Vec<api::Supervisor> = app
        .supervisors
        .listed(app.clock.now())
        .into_iter()
        .map(|(name, seen)| {
            let tasks = held.remove(&name).unwrap_or(0);
            views::supervisor(name, &seen, tasks, default)
        })
        .collect();
    Ok(views::json(StatusCode::OK, &told))
}

fn filter(app: &App, query: &Query) -> Result<TaskFilter, Refused> {
    let invalid = |message: String| Err(Refused::new(Code::InvalidArgument, message));
    let unserved = match query.get("unserved") {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return invalid("'unserved' is true or false".to_owned()),
    };
    let statuses = statuses(query, unserved)?;
    let token = match query.get("token") {
        Some(text) if !names::is_token_id(text) => return invalid("'token' is a token id".to_owned()),
        other => other.map(str::to_owned),
    };
    let supervisor = match query.get("supervisor") {
        Some(text) if !is_name(text, limits::SUPERVISOR) => {
            let message = format!("'supervisor' is a name of 1 to {} characters", limits::SUPERVISOR);
            return invalid(message);
        }
        other => other.map(str::to_owned),
    };
    let (workflow, state) = place(app, query)?;
    let unserved = unserved.then(|| app.supervisors.asking(app.clock.now()));
    let (after, limit) = (cursor::task(query)?, limit(query)?);
    Ok(TaskFilter { statuses, workflow, state, token, supervisor, unserved, after, limit })
}

/// The words of the original, of which `claimed` is two of ours; besides them `open`, which is the default, `any`, and
/// `started`.
fn statuses(query: &Query, unserved: bool) -> Result<Vec<TaskStatus>, Refused> {
    let wanted = query.get("status").unwrap_or(if unserved { "queued" } else { "open" });
    let matching: Vec<TaskStatus> = TaskStatus::ALL
        .into_iter()
        .filter(|status| match wanted {
            "any" => true,
            "open" => status.is_open(),
            word => status.told() == word || status.as_str() == word,
        })
        .collect();
    if matching.is_empty() {
        let message =
            "'status' is one of: open, any, queued, claimed, started, waiting, done, failed, cancelled";
        return Err(Refused::new(Code::InvalidArgument, message));
    }
    if unserved && matching != [TaskStatus::Queued] {
        let message = "'unserved' tasks are queued: leave 'status' out, or say 'queued'";
        return Err(Refused::new(Code::InvalidArgument, message));
    }
    Ok(matching)
}
