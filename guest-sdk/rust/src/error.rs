//! What can go wrong with one call on the context: the host said no, or JSON and a type did not fit.

use std::fmt;

/// Why a call on the [`Context`](crate::Context) gave nothing.
///
/// With `?` it ends the attempt as a retryable failure; match on it to go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The host refused the call.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// An HTTP request has no answer.
    #[cfg(feature = "http")]
    #[error(transparent)]
    Http(#[from] crate::HttpError),
    /// A value of the routine could not become JSON.
    #[error("{what} cannot be written as JSON")]
    Encode {
        /// Which value, in words.
        what: String,
        /// What serde said.
        source: serde_json::Error,
    },
    /// JSON that the host gave does not fit the type that was asked for.
    #[error("{what} does not fit `{expected}`")]
    Decode {
        /// Which value, in words.
        what: String,
        /// The name of the type that was asked for.
        expected: &'static str,
        /// What serde said.
        source: serde_json::Error,
    },
    /// A payload that is not a JSON object.
    #[error(
        "the payload of event `{event}` must be a JSON object, but it is {seen}; give the variant named fields"
    )]
    NotAnObject {
        /// The event's name.
        event: String,
        /// What it is instead: `a string`, `a list`, …
        seen: &'static str,
    },
}

impl Error {
    /// The host's refusal, if that is what this is.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}

/// Why the host refused a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    code: RefusalCode,
    message: String,
}

impl Refusal {
    pub(crate) fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The reason, to match on.
    pub fn code(&self) -> &RefusalCode {
        &self.code
    }

    /// The reason, for people: what was seen, what was expected, what to do.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// The stable reason of a [`Refusal`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalCode {
    /// A value, a note or all of them together exceed a limit.
    TooLarge,
    /// The text is not JSON that can be kept.
    InvalidJson,
    /// The key is empty, too long or holds a NUL.
    InvalidKey,
    /// More keys, notes or timers than one attempt or state may have.
    TooMany,
    /// The event's name or payload has the wrong form.
    InvalidEvent,
    /// Not a number and one of s, m, h, d, or more than 3650 days.
    InvalidDuration,
    /// The supervisor cannot keep more before it has sent some; a later attempt may pass.
    OutboxFull,
    /// A reason that is newer than this SDK.
    Other(String),
}

impl RefusalCode {
    /// The code as the host spells it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::TooLarge => "too_large",
            Self::InvalidJson => "invalid_json",
            Self::InvalidKey => "invalid_key",
            Self::TooMany => "too_many",
            Self::InvalidEvent => "invalid_event",
            Self::InvalidDuration => "invalid_duration",
            Self::OutboxFull => "outbox_full",
            Self::Other(code) => code,
        }
    }
}

impl From<String> for RefusalCode {
    fn from(code: String) -> Self {
        match code.as_str() {
            "too_large" => Self::TooLarge,
            "invalid_json" => Self::InvalidJson,
            "invalid_key" => Self::InvalidKey,
            "too_many" => Self::TooMany,
            "invalid_event" => Self::InvalidEvent,
            "invalid_duration" => Self::InvalidDuration,
            "outbox_full" => Self::OutboxFull,
            _ => Self::Other(code),
        }
    }
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_as_they_are_written() {
        for code in [
            RefusalCode::TooLarge,
            RefusalCode::InvalidJson,
            RefusalCode::InvalidKey,
            RefusalCode::TooMany,
            RefusalCode::InvalidEvent,
            RefusalCode::InvalidDuration,
            RefusalCode::OutboxFull,
            RefusalCode::Other("newer".to_owned()),
        ] {
            assert_eq!(RefusalCode::from(code.to_string()), code);
        }
    }
}
