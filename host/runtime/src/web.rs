//! The way out for HTTP: what the owner of an attempt does with a request of the guest.
//!
//! The runtime opens no socket. It reads a request out of `wasi:http`, hands it to [`Web`], and gives the guest the answer
//! or the reason why there is none. Which requests may go out, to which addresses, with how many bytes and for how long is
//! the owner's to say.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

/// The body of a request or an answer, as it comes.
pub type WebBody = UnsyncBoxBody<Bytes, WebError>;

/// Sends the requests of one attempt.
#[async_trait]
pub trait Web: Send + Sync + 'static {
    /// Sends a request and gives back the head of its answer; the body follows. The future is dropped when the guest loses
    /// interest or is stopped, and the connection with it.
    async fn send(
        self: Arc<Self>,
        request: http::Request<WebBody>,
        patience: Patience,
    ) -> Result<http::Response<WebBody>, WebError>;
}

/// How long the guest itself is willing to wait; the owner's bounds hold beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Patience {
    /// For a connection.
    pub connect: Option<Duration>,
    /// For the head of the answer.
    pub first_byte: Option<Duration>,
    /// Between two pieces of the answer's body.
    pub between_bytes: Option<Duration>,
}

/// Why a request has no answer, or its answer ends early. The guest sees which of these it is; the words are for logs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// The request is not allowed.
    #[error("{0}")]
    Denied(String),
    /// The address behind the name is not allowed.
    #[error("{0}")]
    AddressDenied(String),
    /// The URL means something else to different readers, or nothing.
    #[error("{0}")]
    InvalidUrl(String),
    /// The name has no address.
    #[error("{0}")]
    Dns(String),
    /// Nobody answers at the address.
    #[error("{0}")]
    Unreachable(String),
    /// No connection came about in time.
    #[error("no connection within {0:?}")]
    ConnectTimeout(Duration),
    /// The other side cannot prove who it is.
    #[error("{0}")]
    Tls(String),
    /// The answer, or the next piece of it, did not come in time.
    #[error("no answer within {0:?}")]
    AnswerTimeout(Duration),
    /// The request's body is too large; the most bytes.
    #[error("the request's body has more than {0} bytes")]
    RequestTooLarge(u64),
    /// The answer's body is too large; the most bytes.
    #[error("the answer's body has more than {0} bytes")]
    AnswerTooLarge(u64),
    /// The attempt has sent too many requests; the most.
    #[error("one attempt sends at most {0} requests")]
    TooMany(u64),
    /// The other side broke off, or does not speak HTTP.
    #[error("{0}")]
    Protocol(String),
}

impl WebError {
    /// Stable, for logs and metrics.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Denied(_) => "http_denied",
            Self::AddressDenied(_) => "http_address_denied",
            Self::InvalidUrl(_) => "http_invalid_url",
            Self::Dns(_) => "http_dns",
            Self::Unreachable(_) => "http_unreachable",
            Self::ConnectTimeout(_) => "http_connect_timeout",
            Self::Tls(_) => "http_tls",
            Self::AnswerTimeout(_) => "http_timeout",
            Self::RequestTooLarge(_) => "http_request_too_large",
            Self::AnswerTooLarge(_) => "http_answer_too_large",
            Self::TooMany(_) => "http_too_many",
            Self::Protocol(_) => "http_protocol",
        }
    }
}
