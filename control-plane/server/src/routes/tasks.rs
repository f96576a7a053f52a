//! What is said about a task that somebody works on: report, note, memory.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use stateous_api::Code;
use stateous_engine::change::Answer;
use stateous_engine::input::{Outcome, Schedule};
use stateous_engine::json::{Json, Object};
use stateous_engine::time::parse_duration;
use stateous_engine::{Input, limits};

use super::{TaskId, other};
use crate::app::App;
use crate::body;
use crate::fields::{Fields, whole};
use crate::refused::{Refused, quote};
use crate::views;

/// `POST /tasks/{n}/report`
pub(crate) async fn report(
    State(app): State<Arc<App>>,
    TaskId(task): TaskId,
    request: Request,
) -> Result<Response, Refused> {
    let mut body = body::object(request, Code::InvalidPayload).await?;
    let supervisor = if body.has("supervisor") { Some(body.supervisor()?) } else { None };
    let input = report_of(task, supervisor, &mut body)?;
    match app.submit(input).await? {
        Answer::Token(view) => Ok(views::json(StatusCode::OK, &views::token_view(&view)?)),
        answer => Err(other(&answer)),
    }
}

/// `POST /tasks/{n}/note`
pub(crate) async fn note(
    State(app): State<Arc<App>>,
    TaskId(task): TaskId,
    request: Request,
) -> Result<Response, Refused> {
    let mut body = body::object(request, Code::InvalidPayload).await?;
    let text = match body.take("text") {
        Some(Json::String(text)) => text.trim().to_owned(),
        _ => String::new(),
    };
    if text.is_empty() || text.chars().nth(limits::NOTE).is_some() {
        let message = format!("a note needs a 'text' of 1 to {} characters", limits::NOTE);
        return Err(Refused::new(Code::InvalidPayload, message));
    }
    let attempt = body.attempt()?;
    done(&app, Input::AddNote { task, attempt, text }).await
}

/// `PUT /tasks/{n}/memory`
pub(crate) async fn memory(
    State(app): State<Arc<App>>,
    TaskId(task): TaskId,
    request: Request,
) -> Result<Response, Refused> {
    let mut body = body::object(request, Code::InvalidPayload).await?;
    let key = body.name("key", limits::MEMORY_KEY, Code::InvalidPayload)?;
    let value = match body.take_even_null("value") {
        None => return Err(Refused::new(Code::InvalidBody, "memory needs a 'value'; null deletes the key")),
        Some(Json::Null) => None,
        Some(value) => Some(value.to_string().into()),
    };
    let attempt = body.attempt()?;
    done(&app, Input::SetMemory { task, attempt, key, value }).await
}

async fn done(app: &App, input: Input) -> Result<Response, Refused> {
    match app.submit(input).await? {
        Answer::Done => Ok(StatusCode::NO_CONTENT.into_response()),
        answer => Err(other(&answer)),
    }
}

fn invalid(message: impl Into<String>) -> Refused {
    Refused::new(Code::InvalidBody, message)
}

/// An outcome, checked in the order in which the original checks it.
fn report_of(task: u64, supervisor: Option<String>, body: &mut Fields) -> Result<Input, Refused> {
    let kind = body.take("kind").unwrap_or_default();
    let outcome = match kind.as_str() {
        Some("event") => {
            let event = text(body, "event", "an 'event' outcome")?;
            Outcome::Event { event, payload: None }
        }
        Some("waiting") => Outcome::Waiting,
        Some("failed") => {
            let error = text(body, "error", "a 'failed' outcome")?;
            Outcome::Failed { error, retry: body.flag("retry", true, Code::InvalidBody)? }
        }
        _ => {
            let shown = match &kind {
                Json::String(text) => quote(text),
                other => other.to_string(),
            };
            return Err(invalid(format!(
                "an outcome's 'kind' must be 'event', 'waiting' or 'failed', not {shown}"
            )));
        }
    };
    let schedules = match body.take_even_null("schedules") {
        None => Vec::new(),
        Some(Json::Array(items)) => items,
        Some(_) => return Err(invalid("an outcome's 'schedules' must be a list")),
    };
    let attempt = match body.take("attempt") {
        None => None,
        Some(value) => Some(attempt(&value)?),
    };
    let payload = object(body, "payload", "an outcome")?;
    let context = object(body, "context", "an outcome")?.unwrap_or_default();
    let schedules = schedules.into_iter().map(schedule).collect::<Result<_, _>>()?;
    let outcome = match outcome {
        Outcome::Event { event, .. } => Outcome::Event { event, payload },
        // The others carry none; what came with them is ignored.
        other => other,
    };
    Ok(Input::ReportTask { task, supervisor, attempt, outcome, context, schedules })
}

fn attempt(value: &Json) -> Result<u64, Refused> {
    let negative = value.as_number().is_some_and(|n| n.as_str().strip_prefix('-').is_some_and(is_digits));
    match whole(value) {
        None if !negative => Err(invalid("an outcome needs 'attempt' as a whole number")),
        None | Some(0) => Err(invalid("an outcome's 'attempt' is 1 or more")),
        Some(attempt) => Ok(attempt),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn schedule(item: Json) -> Result<Schedule, Refused> {
    let Json::Object(object_) = item else { return Err(invalid("a schedule must be a JSON object")) };
    let mut fields = Fields::new(object_);
    let event = text(&mut fields, "event", "a schedule")?;
    let after = text(&mut fields, "after", "a schedule")?;
    if parse_duration(&after).is_none() {
        return Err(invalid(format!(
            "a schedule's 'after': {} is not a duration; write e.g. '30s', '10m', '2h', '1d', at most 3650d",
            quote(&after),
        )));
    }
    let payload = object(&mut fields, "payload", "a schedule")?;
    Ok(Schedule { event, payload, after })
}

fn text(fields: &mut Fields, name: &str, what: &str) -> Result<String, Refused> {
    match fields.take(name) {
        Some(Json::String(text)) => Ok(text),
        _ => Err(invalid(format!("{what} needs '{name}' as a string"))),
    }
}

fn object(fields: &mut Fields, name: &str, what: &str) -> Result<Option<Object>, Refused> {
    match fields.take(name) {
        None => Ok(None),
        Some(Json::Object(object)) => Ok(Some(object)),
        Some(_) => Err(invalid(format!("{what}: '{name}' must be a JSON object or null"))),
    }
}
