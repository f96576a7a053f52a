//! HTTP for guests: a request goes out when the routine asks for it, this supervisor grants it, and the address behind the
//! name may be reached.
//!
//! It owns the checks, the connections, the bounds and the counts. What a rule means is `stateous_api::HttpRule`'s; what a
//! guest hears is the runtime's.

mod address;
mod body;
mod connect;
mod secrets;

use std::collections::BTreeSet;
use std::error::Error as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use http_body::Body as _;
use http_body_util::{BodyDataStream, BodyExt as _};
use stateous_api::{HttpRule, Url, is_plain_path, rule_for};
use stateous_runtime::{Patience, Web, WebBody, WebError};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use crate::supervisor::AttemptId;
use body::Bounded;
use connect::{CONNECT, Connector, Private, Unknown};
pub(crate) use secrets::of_state;
pub use secrets::{Secret, Secrets};

/// Requests of one attempt that are on their way at once; more wait.
const AT_ONCE: usize = 32;
/// The most time between two pieces of an answer.
const BETWEEN: Duration = Duration::from_secs(60);

/// What a supervisor grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Requests that routines may send, if they ask for them too. None unless said.
    pub allow: Vec<HttpRule>,
    /// Hosts, by name, that may be at private addresses.
    pub private: BTreeSet<String>,
    /// The most bytes of one body, of a request as of an answer.
    pub body_bytes: u64,
    /// The most time from a request to the end of its answer.
    pub timeout: Duration,
    /// The most requests of one attempt.
    pub requests: u64,
}

impl Default for HttpSettings {
    /// Nothing is allowed; 16 MiB, 5 minutes, 1000 requests.
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            private: BTreeSet::new(),
            body_bytes: 16 << 20,
            timeout: Duration::from_secs(300),
            requests: 1000,
        }
    }
}

/// What guests have sent so far, for the metrics.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) bytes_out: Arc<AtomicU64>,
    pub(crate) bytes_in: Arc<AtomicU64>,
}

/// The way out of one supervisor.
pub(crate) struct Outgoing {
    settings: HttpSettings,
    connector: Connector,
    pub(crate) counts: Counts,
}

impl Outgoing {
    pub(crate) fn new(settings: HttpSettings) -> Self {
        let connector = Connector::new(settings.private.clone());
        Self { settings, connector, counts: Counts::default() }
    }

    /// The way out of one attempt: `asks` is what its routine was uploaded with.
    pub(crate) fn of(self: &Arc<Self>, id: AttemptId, asks: &[String], secrets: Secrets) -> Arc<dyn Web> {
        // A rule that this version cannot read allows nothing.
        let asks = asks.iter().filter_map(|rule| rule.parse().ok()).collect();
        let (clients, sent, at_once) = (Default::default(), AtomicU64::new(0), Semaphore::new(AT_ONCE));
        Arc::new(AttemptWeb { out: Arc::clone(self), id, asks, secrets, clients, sent, at_once })
    }
}

/// The way out of one attempt. Its connections end with it.
struct AttemptWeb {
    out: Arc<Outgoing>,
    id: AttemptId,
    asks: Vec<HttpRule>,
    secrets: Secrets,
    /// For http, and for https.
    clients: [OnceLock<Result<reqwest::Client, String>>; 2],
    sent: AtomicU64,
    at_once: Semaphore,
}

#[async_trait]
impl Web for AttemptWeb {
    async fn send(
        self: Arc<Self>,
        request: http::Request<WebBody>,
        patience: Patience,
    ) -> Result<http::Response<WebBody>, WebError> {
        let answer = self.exchange(request, patience).await;
        if let Err(error) = &answer {
            let AttemptId { task, token, .. } = &self.id;
            let code = error.code();
            self.out.counts.refused.fetch_add(1, Ordering::Relaxed);
            warn!(task.id = task, token.id = %token, code, "task {task} of {token}: {code}: {error}");
        }
        answer
    }
}

impl AttemptWeb {
    async fn exchange(
        &self,
        request: http::Request<WebBody>,
        patience: Patience,
    ) -> Result<http::Response<WebBody>, WebError> {
        let HttpSettings { requests, body_bytes, timeout, .. } = self.out.settings;
        if self.sent.fetch_add(1, Ordering::Relaxed) >= requests {
            return Err(WebError::TooMany(requests));
        }
        let (mut head, body) = request.into_parts();
        let url = self.checked(head.method.as_str(), &head.uri)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let plain = url.scheme() != "https" && !self.out.connector.is_named(&host);
        secrets::fill(&mut head.headers, &self.secrets, &host, plain)
            .map_err(|why| denied(&head.method, &url, &why))?;
        // The client writes its own, from the URL that was checked.
        head.headers.remove(http::header::HOST);

        let https = url.scheme() == "https";
        let client = &self.clients[usize::from(https)];
        let client = client.get_or_init(|| self.out.connector.client(https));
        let client = client.as_ref().map_err(|why| WebError::Tls(why.clone()))?;
        let _turn = self.at_once.acquire().await;
        let began = Instant::now();
        let end = began + timeout;
        let counts = &self.out.counts;
        counts.requests.fetch_add(1, Ordering::Relaxed);
        let mut outgoing = reqwest::Request::new(head.method.clone(), url.clone());
        *outgoing.headers_mut() = head.headers;
        if !body.is_end_stream() {
            let body = Bounded::outgoing(body, Arc::clone(&counts.bytes_out), body_bytes);
            *outgoing.body_mut() = Some(reqwest::Body::wrap_stream(BodyDataStream::new(body)));
        }
        let patient = patience.first_byte.map_or(end, |wait| end.min(began + wait));
        let answer = timeout_at(patient, client.execute(outgoing))
            .await
            .map_err(|_| WebError::AnswerTimeout(patient - began))?
            .map_err(|error| told(&error))?;
        debug!(task.id = self.id.task, token.id = %self.id.token, "{} {host}: {}", head.method, answer.status());
        let between = patience.between_bytes.map_or(BETWEEN, |wait| wait.min(BETWEEN));
        let (mut head, body) = http::Response::<reqwest::Body>::from(answer).into_parts();
        head.extensions.clear();
        let body = body.map_err(|error| told(&error)).boxed_unsync();
        let body = Bounded::incoming(body, Arc::clone(&counts.bytes_in), body_bytes, between, end, timeout);
        Ok(http::Response::from_parts(head, body.boxed_unsync()))
    }

    /// The URL of a request that may go out, in the one form that is checked and sent.
    fn checked(&self, method: &str, uri: &http::Uri) -> Result<Url, WebError> {
        let unclear = |why: &str| WebError::InvalidUrl(format!("{method} {}: {why}", shown(uri)));
        let url = Url::parse(&uri.to_string()).map_err(|error| unclear(&error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(unclear("a URL with a user is not sent"));
        }
        if method == "CONNECT" {
            // What is behind such a connection could not be checked.
            return Err(WebError::Denied(format!(
                "CONNECT {} is not sent: there are no tunnels",
                shown(uri)
            )));
        }
        let path = uri.path();
        if !is_plain_path(path) {
            return Err(unclear("a path with `.` or `..`, a backslash or NUL is not sent"));
        }
        let host = url.host_str().unwrap_or_default();
        let wanted = rule_for(method, &url);
        if !self.asks.iter().any(|rule| rule.allows(method, &url)) {
            return Err(WebError::Denied(format!(
                "{wanted} is not among what the routine asks for; push it with --http '{wanted}'"
            )));
        }
        if !self.out.settings.allow.iter().any(|rule| rule.allows(method, &url)) {
            return Err(WebError::Denied(format!(
                "{wanted} is not granted here; stateous.toml would say: [http] allow = [\"{wanted}\"]"
            )));
        }
        self.out.connector.check_literal(host).map_err(|private| prohibited(&private))?;
        Ok(url)
    }
}

fn denied(method: &http::Method, url: &Url, why: &str) -> WebError {
    WebError::Denied(format!("{}: {why}", rule_for(method.as_str(), url)))
}

fn prohibited(private: &Private) -> WebError {
    let host = &private.host;
    WebError::AddressDenied(format!("{private}; stateous.toml would say: [http] private = [\"{host}\"]"))
}

/// A query stays out of logs.
fn shown(uri: &http::Uri) -> String {
    format!("{}{}", uri.host().unwrap_or_default(), uri.path())
}

/// What TLS says, however deep errors of the system wrap it: what they wrap is not among their sources.
fn tls_of<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    tls_of(error.downcast_ref::<std::io::Error>()?.get_ref()?)
}

/// The client's error in our words. Neither has the URL's query in it.
fn told(error: &reqwest::Error) -> WebError {
    let mut words = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(private) = error.downcast_ref::<Private>() {
            return prohibited(private);
        }
        if let Some(unknown) = error.downcast_ref::<Unknown>() {
            return WebError::Dns(unknown.to_string());
        }
        if let Some(ours) = error.downcast_ref::<WebError>() {
            return ours.clone();
        }
        if let Some(tls) = tls_of(error) {
            return WebError::Tls(tls.to_string());
        }
        words.push(error.to_string());
        cause = error.source();
    }
    let host = error.url().and_then(Url::host_str).unwrap_or("the other side").to_owned();
    let why = words.pop().unwrap_or_else(|| "no reason given".to_owned());
    if error.is_timeout() {
        return WebError::ConnectTimeout(CONNECT);
    }
    if error.is_connect() {
        return WebError::Unreachable(format!("{host} does not answer: {why}"));
    }
    WebError::Protocol(format!("{host} broke off: {why}"))
}

#[cfg(test)]
mod tests;
