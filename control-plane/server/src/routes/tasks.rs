//! The bodies of what is said about a task: read strictly, in the order in which the original checks them.

use stateous_api::Code;
use stateous_engine::input::{Outcome, Schedule};
use stateous_engine::json::{Json, Object};
use stateous_engine::time::parse_duration;
use stateous_engine::{Input, limits};

use crate::fields::{Fields, whole};
use crate::refused::{Refused, quote};

/// That a routine is to begin.
pub(super) fn started_of(task: u64, body: &mut Fields) -> Result<Input, Refused> {
    let supervisor = body.supervisor()?;
    let Some(attempt) = body.attempt()? else {
        return Err(Refused::new(Code::InvalidArgument, "'attempt' is a whole number of 1 or more"));
    };
    let incarnation = body.incarnation()?;
    Ok(Input::StartTask { task, attempt, supervisor, incarnation })
}

/// That a task is given back.
pub(super) fn returned_of(task: u64, body: &mut Fields) -> Result<Input, Refused> {
    let supervisor = body.supervisor()?;
    let Some(attempt) = body.attempt()? else {
        return Err(Refused::new(Code::InvalidArgument, "'attempt' is a whole number of 1 or more"));
    };
    let incarnation = body.incarnation()?;
    Ok(Input::ReturnTask { task, attempt, supervisor, incarnation })
}

/// A line of progress.
pub(super) fn note_of(task: u64, body: &mut Fields) -> Result<Input, Refused> {
    let text = match body.take("text") {
        Some(Json::String(text)) => text.trim().to_owned(),
        _ => String::new(),
    };
    if text.is_empty() || text.chars().nth(limits::NOTE).is_some() {
        let message = format!("a note needs a 'text' of 1 to {} characters", limits::NOTE);
        return Err(Refused::new(Code::InvalidPayload, message));
    }
    let attempt = body.attempt()?;
    Ok(Input::AddNote { task, attempt, text })
}

/// One key of the routine's memory.
pub(super) fn memory_of(task: u64, body: &mut Fields) -> Result<Input, Refused> {
    let key = body.name("key", limits::MEMORY_KEY, Code::InvalidPayload)?;
    let value = match body.take_even_null("value") {
        None => return Err(Refused::new(Code::InvalidBody, "memory needs a 'value'; null deletes the key")),
        Some(Json::Null) => None,
        Some(value) => Some(value.to_string().into()),
    };
    let attempt = body.attempt()?;
    Ok(Input::SetMemory { task, attempt, key, value })
}

fn invalid(message: impl Into<String>) -> Refused {
    Refused::new(Code::InvalidBody, message)
}

/// An outcome, checked in the order in which the original checks it.
pub(super) fn report_of(task: u64, body: &mut Fields) -> Result<Input, Refused> {
    let supervisor = if body.has("supervisor") { Some(body.supervisor()?) } else { None };
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
