//! A refusal: a lawful "no", which the caller is told.

use std::fmt;

/// Why, for programs. Codes are stable: a client may match on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// No token has this id.
    TokenNotFound,
    /// No task has this id.
    TaskNotFound,
    /// An argument is outside its range.
    InvalidArgument,
    /// The context is not JSON, breaks the workflow's schema, or leads nowhere from START.
    InvalidContext,
    /// A payload, note or memory value is not what its schema or limit allows.
    InvalidPayload,
    /// The id is not a token id, or differs from an existing one only in case.
    InvalidTokenId,
    /// The body does not have the shape that the route needs.
    InvalidBody,
    /// No transition takes the event now.
    EventNotAllowed,
    /// The token has ended, or is not in the status that the act needs.
    TokenNotActive,
    /// The act is for a top token, and this one is a child.
    ChildToken,
    /// The token did not fail, or its last state cannot be entered now.
    NotRetryable,
    /// The caller does not hold the task.
    TaskNotHeld,
    /// The attempt that the caller speaks of is over.
    AttemptOver,
}

impl Code {
    /// Every code that a decision or a route can give.
    pub const ALL: [Self; 13] = [
        Self::TokenNotFound,
        Self::TaskNotFound,
        Self::InvalidArgument,
        Self::InvalidContext,
        Self::InvalidPayload,
        Self::InvalidTokenId,
        Self::InvalidBody,
        Self::EventNotAllowed,
        Self::TokenNotActive,
        Self::ChildToken,
        Self::NotRetryable,
        Self::TaskNotHeld,
        Self::AttemptOver,
    ];

    /// The spelling on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TokenNotFound => "token_not_found",
            Self::TaskNotFound => "task_not_found",
            Self::InvalidArgument => "invalid_argument",
            Self::InvalidContext => "invalid_context",
            Self::InvalidPayload => "invalid_payload",
            Self::InvalidTokenId => "invalid_token_id",
            Self::InvalidBody => "invalid_body",
            Self::EventNotAllowed => "event_not_allowed",
            Self::TokenNotActive => "token_not_active",
            Self::ChildToken => "child_token",
            Self::NotRetryable => "not_retryable",
            Self::TaskNotHeld => "task_not_held",
            Self::AttemptOver => "attempt_over",
        }
    }
}

/// A refusal with its sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// For programs.
    pub code: Code,
    /// For people: what was seen, what was expected, what to do.
    pub message: String,
}

impl Refusal {
    /// A refusal with `code` and `message`.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}
