//! The codes of refusals: stable, for programs. The sentence beside a code is for people and may change.

use std::fmt;

use stateous_engine::refusal;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// One row for each code: variant, spelling, status, meaning. The documentation of the API is made from this table.
macro_rules! codes {
    ($($variant:ident $text:literal $status:literal $about:literal,)+) => {
        /// Why a request was refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $about] $variant,)+
        }

        impl Code {
            /// Every code, the original's first.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The spelling on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The HTTP status that it comes with. `bad_request` also comes with 408 and 413.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            /// What it means, in one sentence.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about),+ }
            }
        }
    };
}

codes! {
    TokenNotFound "token_not_found" 404 "No token has this id.",
    TaskNotFound "task_not_found" 404 "No task has this id.",
    NotFound "not_found" 404 "The API has no such path.",
    MethodNotAllowed "method_not_allowed" 405 "The path is there, but it does not take this method.",
    BadRequest "bad_request" 400 "The request cannot be read: it is not JSON, it is too large (413), or it came too slowly (408).",
    InvalidArgument "invalid_argument" 422 "An argument is outside its range.",
    InvalidContext "invalid_context" 422 "The context is not what the workflow's schema allows, or leads nowhere from START.",
    InvalidPayload "invalid_payload" 422 "A payload, note or memory value is not what its schema or limit allows.",
    InvalidTokenId "invalid_token_id" 422 "The id is not a token id, or differs from an existing one only in case.",
    InvalidBody "invalid_body" 422 "The body does not have the shape that the route needs.",
    EventNotAllowed "event_not_allowed" 409 "No transition takes the event now.",
    TokenNotActive "token_not_active" 409 "The token has ended, or is not in the status that the act needs.",
    ChildToken "child_token" 409 "The act is for a top token, and this one is a child.",
    TaskNotHeld "task_not_held" 409 "The caller does not hold the task.",
    AttemptOver "attempt_over" 409 "The attempt that the caller speaks of is over.",
    DatabaseBusy "database_busy" 503 "The database cannot take the request now; the same request may be sent again.",
    NotServing "not_serving" 503 "This control plane does not serve its database (any more); another one may at the same URL.",
    Unexpected "unexpected" 500 "The request failed for a reason that lies in the control plane; its log says more.",
    ForeignOrigin "foreign_origin" 403 "Ours: a web page of another site sent the request, or it came to a host name that is not this control plane's.",
    NotRetryable "not_retryable" 409 "Ours: the token did not fail, or its last state cannot be entered now.",
    RoutineInvalid "routine_invalid" 422 "Ours: the bytes are not a component that this control plane's supervisors can run.",
    RoutineNotFound "routine_not_found" 404 "Ours: no component with this digest was uploaded.",
}

impl Code {
    /// The code with this spelling; `None` for one that only a newer control plane knows.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialSchema for Code {
    fn schema() -> RefOr<Schema> {
        let rows: Vec<String> = Self::ALL
            .iter()
            .map(|code| format!("- `{}` ({}): {}", code.as_str(), code.status(), code.about()))
            .collect();
        ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(Self::ALL.iter().map(|code| code.as_str())))
            .description(Some(format!("Why a request was refused.\n\n{}", rows.join("\n"))))
            .into()
    }
}

impl ToSchema for Code {}

impl From<refusal::Code> for Code {
    fn from(code: refusal::Code) -> Self {
        match code {
            refusal::Code::TokenNotFound => Self::TokenNotFound,
            refusal::Code::TaskNotFound => Self::TaskNotFound,
            refusal::Code::InvalidArgument => Self::InvalidArgument,
            refusal::Code::InvalidContext => Self::InvalidContext,
            refusal::Code::InvalidPayload => Self::InvalidPayload,
            refusal::Code::InvalidTokenId => Self::InvalidTokenId,
            refusal::Code::InvalidBody => Self::InvalidBody,
            refusal::Code::EventNotAllowed => Self::EventNotAllowed,
            refusal::Code::TokenNotActive => Self::TokenNotActive,
            refusal::Code::ChildToken => Self::ChildToken,
            refusal::Code::NotRetryable => Self::NotRetryable,
            refusal::Code::TaskNotHeld => Self::TaskNotHeld,
            refusal::Code::AttemptOver => Self::AttemptOver,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_codes() {
        let rows: Vec<String> =
            Code::ALL.iter().map(|code| format!("{} {} {}", code.status(), code, code.about())).collect();
        insta::assert_snapshot!(rows.join("\n"));
    }

    #[test]
    fn a_spelling_is_read_back() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
        }
        assert_eq!(Code::parse("brand_new"), None);
    }
}
