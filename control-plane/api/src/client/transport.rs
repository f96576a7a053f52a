//! One request, one answer, and what is wrong with it.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{CONTENT_TYPE, HeaderValue, LINK};
use reqwest::{Method, Request, Response, StatusCode, Url};
use rustls_platform_verifier::BuilderVerifierExt as _;
use serde::de::DeserializeOwned;

use super::address::Address;
use super::error::why;
use super::{Client, ClientError};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// Shorter than the time after which a control plane closes an idle connection, so that no request is sent into a
/// connection that is being closed.
const IDLE: Duration = Duration::from_secs(20);
/// How much of an answer that is not ours is shown.
const SHOWN: usize = 200;

/// A successful answer.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    /// The cursor of the next page, if the answer is one of many.
    pub(super) next: Option<String>,
    pub(super) body: Bytes,
}

/// The connection pool for one control plane.
pub(super) fn pool(address: &Address) -> Result<reqwest::Client, ClientError> {
    let failed = |why: String| ClientError::Url(format!("{} cannot be spoken to: {why}", address.as_str()));
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("stateous/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .tls_backend_preconfigured(tls(address.https).map_err(|error| failed(error.to_string()))?);
    if address.loopback {
        // A proxy of the environment cannot reach this machine's own ports.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| failed(why(&error)))
}

/// The system's certificates are read only for an `https` URL: that takes milliseconds which a command line feels.
fn tls(https: bool) -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    if https {
        return Ok(builder.with_platform_verifier()?.with_no_client_auth());
    }
    Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

impl Client {
    /// A request to a path, each part of which is percent-encoded.
    pub(super) fn request(&self, method: Method, parts: &[&str]) -> Result<Request, ClientError> {
        let mut request = Request::new(method, self.address.join(parts)?);
        *request.timeout_mut() = Some(self.timeout);
        Ok(request)
    }

    /// A request with a JSON body.
    pub(super) fn with_body(
        &self,
        method: Method,
        parts: &[&str],
        body: String,
    ) -> Result<Request, ClientError> {
        let mut request = self.request(method, parts)?;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(body.into());
        Ok(request)
    }

    /// Sends a request and reads its whole answer, at most `limit` bytes of it.
    pub(super) async fn send(&self, request: Request, limit: usize) -> Result<Answer, ClientError> {
        let unreachable =
            |error: &reqwest::Error| ClientError::Unreachable { url: self.url().to_owned(), why: why(error) };
        let mut response = self.http.execute(request).await.map_err(|error| unreachable(&error))?;
        let status = response.status();
        let next = response.headers().get(LINK).and_then(next_cursor);
        let mut body = BytesMut::with_capacity(expected(&response).min(limit));
        while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(&error))? {
            if body.len() + chunk.len() > limit {
                return Err(self.protocol(format!("sent more than {limit} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        let body = body.freeze();
        if status.as_u16() >= 400 {
            return Err(self.refused(status, &body));
        }
        // A control plane redirects nothing that this client asks for: something before it did not let the request through.
        if !status.is_success() {
            return Err(self.not_through(status));
        }
        Ok(Answer { status, next, body })
    }

    /// The answer's body as `T`.
    pub(super) fn read<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, ClientError> {
        serde_json::from_slice(&answer.body).map_err(|error| {
            let what = if error.is_data() {
                "sent an answer of the wrong shape".to_owned()
            } else {
                format!("answered {} with something that is not JSON", answer.status.as_u16())
            };
            self.protocol(what)
        })
    }

    /// Something before the control plane answered in its place: the request may get through later.
    pub(super) fn not_through(&self, status: StatusCode) -> ClientError {
        let why = format!("something before it answered {}", status.as_u16());
        ClientError::Unreachable { url: self.url().to_owned(), why }
    }

    pub(super) fn protocol(&self, what: String) -> ClientError {
        ClientError::Protocol { url: self.url().to_owned(), what }
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> ClientError {
        // Read leniently: a proxy's answer has neither field, or only one of them.
        let told: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(body).unwrap_or_default();
        let text = |key: &str| told.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
        let message = text("error").unwrap_or_else(|| {
            let words = String::from_utf8_lossy(body).split_whitespace().collect::<Vec<_>>().join(" ");
            let shown: String = words.chars().take(SHOWN).collect();
            if shown.is_empty() {
                status.canonical_reason().unwrap_or("no reason given").to_owned()
            } else {
                shown
            }
        });
        ClientError::Refused {
            url: self.url().to_owned(),
            status: status.as_u16(),
            code: text("code"),
            message,
        }
    }
}

fn expected(response: &Response) -> usize {
    // Only a first guess; what comes is counted.
    response.content_length().map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX)).min(1 << 20)
}

/// The cursor in `</tokens?limit=5&cursor=abc>; rel="next"`.
fn next_cursor(link: &HeaderValue) -> Option<String> {
    let (target, rel) = link.to_str().ok()?.strip_prefix('<')?.split_once('>')?;
    if !rel.contains("rel=\"next\"") {
        return None;
    }
    // A relative address says nothing of the host; any will do to read its query.
    let url = Url::parse("http://control-plane").and_then(|base| base.join(target)).ok()?;
    url.query_pairs().find(|(name, _)| name == "cursor").map(|(_, cursor)| cursor.into_owned())
}

/// Adds a query field; the name is ours, the value anybody's.
pub(super) fn query(url: &mut Url, name: &str, value: &str) {
    url.query_pairs_mut().append_pair(name, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_of_the_next_page_is_found() {
        let check = |link: &str, cursor: Option<&str>| {
            assert_eq!(next_cursor(&link.parse().unwrap()).as_deref(), cursor, "{link}");
        };
        check("</tokens?limit=5&cursor=a-_b>; rel=\"next\"", Some("a-_b"));
        check("<?cursor=a%20b&x=1>; rel=\"next\"", Some("a b"));
        check("</tokens?limit=5>; rel=\"next\"", None);
        check("</tokens?cursor=a>; rel=\"prev\"", None);
        check("/tokens?cursor=a", None);
    }
}
