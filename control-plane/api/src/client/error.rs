//! How a call can fail, in the sentences that people read.

use crate::Code;

/// A call that got no answer, a refusal, or an answer that is not ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The URL cannot be one of a control plane. Nothing was sent.
    #[error("{0}")]
    Url(String),
    /// A name that no URL can carry as one part of its path. Nothing was sent.
    #[error("'{0}' cannot be a name: a URL reads '.' and '..' as folders")]
    Name(String),
    /// No answer: the network failed, nobody listens there, or it took too long. The request may have been done.
    #[error("cannot reach the control plane at {url}: {why}")]
    Unreachable {
        /// The control plane's URL.
        url: String,
        /// What the network said.
        why: String,
    },
    /// The control plane, or something before it, answered 400 or more.
    #[error("the control plane at {url} refused ({status}): {message}")]
    Refused {
        /// The control plane's URL.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The code as it came; absent in an answer that is not the control plane's, such as a proxy's.
        code: Option<String>,
        /// One sentence for people.
        message: String,
    },
    /// The answer is a success but not what a control plane sends: probably the URL is another server's.
    #[error("the control plane at {url} {what}; check the URL")]
    Protocol {
        /// The control plane's URL.
        url: String,
        /// What was seen.
        what: String,
    },
}

impl ClientError {
    /// Whether the same request may succeed later without anybody's doing: no answer, or 502, 503, 504, which a proxy or
    /// a control plane gives that is away for a moment.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Refused { status: 502..=504, .. })
    }

    /// The code of a refusal, if this program knows it.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Refused { code: Some(code), .. } => Code::parse(code),
            _ => None,
        }
    }

    /// The HTTP status of a refusal.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// What the network said, without the layers of libraries around it.
pub(super) fn why(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return if error.is_connect() { "no connection in time" } else { "no answer in time" }.to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let text = cause.to_string();
    if text.is_empty() { "the connection failed".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_and_what_can_be_tried_again() {
        let url = "http://127.0.0.1:8080".to_owned();
        let refused = |status: u16, code: &str| ClientError::Refused {
            url: url.clone(),
            status,
            code: Some(code.into()),
            message: "no".into(),
        };
        let check = |error: &ClientError, text: &str, transient: bool| {
            assert_eq!(error.to_string(), text);
            assert_eq!(error.is_transient(), transient, "{text}");
        };
        check(
            &refused(409, "task_not_held"),
            "the control plane at http://127.0.0.1:8080 refused (409): no",
            false,
        );
        check(
            &refused(503, "database_busy"),
            "the control plane at http://127.0.0.1:8080 refused (503): no",
            true,
        );
        check(
            &refused(500, "unexpected"),
            "the control plane at http://127.0.0.1:8080 refused (500): no",
            false,
        );
        check(
            &ClientError::Unreachable { url: url.clone(), why: "connection refused".into() },
            "cannot reach the control plane at http://127.0.0.1:8080: connection refused",
            true,
        );
        assert_eq!(refused(409, "task_not_held").code(), Some(Code::TaskNotHeld));
        assert_eq!(refused(409, "of_tomorrow").code(), None);
    }
}
