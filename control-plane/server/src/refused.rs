//! Every answer of 400 or more: `{"error": "<one sentence>", "code": "<code>"}`.

use std::fmt;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use stateous_api::{Code, RefusalBody};
use stateous_engine::Refusal;
use stateous_store::{Failure, FailureKind};
use tracing::error;

use crate::views;

/// Seconds after which a caller may try again that found the database busy.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// How much of what a caller sent is repeated to him.
const QUOTED: usize = 100;

/// What a caller sent, as a sentence repeats it: in quotes, cut short, without control characters, which could drive the
/// terminal of whoever reads it.
pub(crate) fn quote(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED).flat_map(char::escape_debug).collect();
    if text.chars().nth(QUOTED).is_some() {
        shown.push_str("...");
    }
    format!("'{shown}'")
}

/// A request that is not done, and why.
#[derive(Debug)]
pub(crate) struct Refused {
    status: u16,
    code: Code,
    message: String,
}

impl Refused {
    /// A refusal with the status of its code.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { status: code.status(), code, message: message.into() }
    }

    /// A refusal of a request that could not even be read.
    pub(crate) fn bad_request(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status: status.as_u16(), code: Code::BadRequest, message: message.into() }
    }

    /// A bug of ours or a damaged database. The log says what; the caller is told nothing that could help an attacker.
    pub(crate) fn unexpected(what: &str) -> Self {
        error!(what, "A request failed unexpectedly: {what}");
        Self::new(Code::Unexpected, "the request failed unexpectedly")
    }

    /// The status and the body of the answer.
    pub(crate) fn told(self) -> (u16, RefusalBody) {
        (self.status, RefusalBody { error: self.message, code: self.code.as_str().to_owned() })
    }

    /// The API has no such path.
    pub(crate) fn no_path(path: &str) -> Self {
        Self::new(Code::NotFound, format!("this API has no {path}"))
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code.into(), refusal.message)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

/// A failure was logged where it happened, so only the caller is told here.
impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        match failure.kind {
            FailureKind::Busy | FailureKind::Collided => {
                Self::new(Code::DatabaseBusy, "the database cannot take this request now; try again")
            }
            FailureKind::NotServing => Self::new(Code::NotServing, failure.message),
            FailureKind::Statement | FailureKind::Unusable => {
                Self::new(Code::Unexpected, "the request failed unexpectedly")
            }
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, body) = self.told();
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = views::json(status, &body);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}
