//! The handlers: each reads its request, asks, and says the answer. What all of them share is how names in a path and
//! fields of a query are read.

pub(crate) mod history;
pub(crate) mod listing;
pub(crate) mod tokens;

pub(crate) mod events;

pub(crate) mod steering;

pub(crate) mod claims;

pub(crate) mod batch;
pub(crate) mod messages;
mod tasks;

pub(crate) mod work;

pub(crate) mod workflow;

pub(crate) mod routines;

use std::collections::HashMap;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use stateous_api::Code;
use stateous_engine::change::Answer;
use stateous_engine::limits;

use crate::refused::Refused;

/// The names in a path, percent-decoded, in the order of the path.
#[derive(Debug)]
pub(crate) struct Names(Vec<String>);

impl<S: Send + Sync> FromRequestParts<S> for Names {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let no_path = |parts: &Parts| Refused::no_path(parts.uri.path());
        let params = RawPathParams::from_request_parts(parts, state).await.map_err(|_| no_path(parts))?;
        let names: Vec<String> = params.iter().map(|(_, value)| value.to_owned()).collect();
        // An encoded slash is a slash: such a path has more parts than any route. One with an empty part has fewer.
        let whole = names.iter().all(|name| !name.is_empty() && !name.contains('/'));
        if whole { Ok(Self(names)) } else { Err(no_path(parts)) }
    }
}

impl Names {
    /// The only name, or the first.
    pub(crate) fn first(self) -> String {
        self.0.into_iter().next().unwrap_or_default()
    }

    /// Two names.
    pub(crate) fn two(self) -> (String, String) {
        let mut names = self.0.into_iter();
        (names.next().unwrap_or_default(), names.next().unwrap_or_default())
    }
}

/// The task in a path: digits. One that no database holds is not there.
#[derive(Debug)]
pub(crate) struct TaskId(pub(crate) u64);

impl<S: Send + Sync> FromRequestParts<S> for TaskId {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let text = Names::from_request_parts(parts, state).await?.first();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Refused::no_path(parts.uri.path()));
        }
        match text.parse() {
            Ok(task) if task <= limits::TASK_ID => Ok(Self(task)),
            _ => {
                let number = text.trim_start_matches('0');
                Err(Refused::new(Code::TaskNotFound, format!("there is no task {number}")))
            }
        }
    }
}

/// The fields of a query. Of two equal ones the last wins; those that nobody asks for are ignored.
#[derive(Debug)]
pub(crate) struct Query(HashMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        let text = parts.uri.query().unwrap_or_default();
        Ok(Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect()))
    }
}

impl Query {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A whole number of a range, in decimal digits; `None` when it is absent.
    pub(crate) fn number(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, Refused> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|n| digits && (least..=most).contains(n));
        number.map(Some).ok_or_else(|| {
            Refused::new(Code::InvalidArgument, format!("'{name}' is a whole number from {least} to {most}"))
        })
    }
}

/// The engine answered with something that this input never gets: a bug of ours.
pub(crate) fn other(answer: &Answer) -> Refused {
    Refused::unexpected(&format!("an input was answered with another input's answer: {}", kind(answer)))
}

/// The answer's name: its contents are a user's and stay out of logs.
const fn kind(answer: &Answer) -> &'static str {
    match answer {
        Answer::Created(_) => "created",
        Answer::Token(_) => "token",
        Answer::Duplicate(_) => "duplicate",
        Answer::Granted(_) => "granted",
        Answer::Run => "run",
        Answer::Skip(_) => "skip",
        Answer::Done => "done",
        Answer::Stale => "stale",
    }
}
