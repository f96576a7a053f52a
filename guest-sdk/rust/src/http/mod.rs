//! HTTP: one request, one answer, whole bodies.
//!
//! A request goes out only when the routine was uploaded with a rule for it (`stateous routine push --http`) and the
//! supervisor's `stateous.toml` grants it. Redirects are not followed: an answer with a `location` is an answer, and where
//! to go next is another request. `{{secret:NAME}}` in a header's value is replaced by the supervisor, for the hosts that
//! the secret is granted to; the routine never sees it.

#[cfg(target_family = "wasm")]
mod wasi;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
#[cfg(not(target_family = "wasm"))]
use crate::host::Host;
use crate::host::{decode, encode};

/// A request that is being put together: see [`Context::request`](crate::Context::request).
#[must_use = "a request does nothing until it is sent: `.send()?`"]
pub struct Request {
    pub(crate) parts: RequestParts,
    #[cfg(not(target_family = "wasm"))]
    pub(crate) host: std::rc::Rc<dyn Host>,
}

/// What a request says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestParts {
    /// `GET`, `POST`, …
    pub method: String,
    /// With scheme and host.
    pub url: String,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// Empty unless there is one.
    pub body: Vec<u8>,
}

impl Request {
    /// Adds a header. `{{secret:NAME}}` in its value is replaced by the supervisor.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.parts.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.parts.body = body.into();
        self
    }

    /// Sets a JSON body and its content type.
    ///
    /// # Errors
    /// [`Error::Encode`] when the value is not JSON.
    pub fn json<V: Serialize + ?Sized>(self, value: &V) -> Result<Self, Error> {
        let json = encode(value, || format!("the body for {}", self.parts.url))?;
        Ok(self.header("content-type", "application/json").body(json))
    }

    /// Sends it, and reads the whole answer. An answer of any status is an answer.
    ///
    /// # Errors
    /// [`Error::Http`] when there is none: its code says whether the request was not allowed, nobody answered, or it took
    /// too long.
    pub fn send(self) -> Result<Response, Error> {
        #[cfg(target_family = "wasm")]
        let answer = wasi::send(&self.parts);
        #[cfg(not(target_family = "wasm"))]
        let answer = self.host.http(&self.parts);
        Ok(answer?)
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// The status: 200, 404, …
    pub status: u16,
    /// Names (small letters) and values, in order.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Response {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(have, _)| have.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the status is 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as text; what is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// [`Error::Decode`] when it does not fit `V`.
    pub fn json<V: DeserializeOwned>(&self) -> Result<V, Error> {
        decode(&self.text(), || format!("the answer with status {}", self.status))
    }
}

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{method} {url}: {code}{hint}")]
pub struct HttpError {
    code: String,
    method: String,
    url: String,
    hint: &'static str,
}

impl HttpError {
    /// The code is WASI's, such as `HTTP-request-denied`.
    pub fn new(request: &RequestParts, code: impl Into<String>) -> Self {
        let code = code.into();
        let hint = match code.as_str() {
            "HTTP-request-denied" => {
                " (the supervisor's log says which line of stateous.toml or --http would allow it)"
            }
            "destination-IP-prohibited" => {
                " (a private address; the supervisor's log says what would allow it)"
            }
            _ => "",
        };
        // A query can hold what a history should not.
        let url = request.url.split(['?', '#']).next().unwrap_or_default().to_owned();
        Self { code, method: request.method.clone(), url, hint }
    }

    /// What happened, as WASI spells it: `HTTP-request-denied`, `DNS-error`, `HTTP-response-timeout`, …
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Whether the request was not allowed to go out.
    pub fn is_denied(&self) -> bool {
        matches!(self.code.as_str(), "HTTP-request-denied" | "destination-IP-prohibited")
    }
}
