//! The HTTP client: one method for each call that our command line and supervisor make.
//!
//! A call is one request. It is never tried again here: only the caller knows how long it may wait
//! ([`ClientError::is_transient`] says what is worth another try). Connections are kept and shared by clones.

mod queries;

mod work;

mod address;
mod error;
mod transport;

use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::{
    COMPONENT_BYTES_MAX, Duplicate, Entry, FireRequest, Health, Raw, RoutineInForce, RoutinePush,
    StartRequest, Token,
};

use address::Address;
use transport::query;

pub use error::ClientError;
pub use queries::{HistoryQuery, Page, TasksQuery, TokensQuery};
pub use work::MessageKind;

/// How long a call waits for its answer unless told otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long a component may take to travel.
const TRANSFER: Duration = Duration::from_secs(300);
/// The most bytes of an answer: a long history is the largest.
const ANSWER: usize = 1 << 30;

/// A control plane, reached over HTTP. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    address: Address,
    http: reqwest::Client,
    timeout: Duration,
}

/// What [`Client::start_token`] answers.
#[derive(Debug, Clone)]
pub struct Started {
    /// Whether this very request made the token; `false` when it existed, and nothing changed.
    pub created: bool,
    /// The token.
    pub token: Token,
}

/// What [`Client::fire`] answers.
#[derive(Debug, Clone)]
pub struct Fired {
    /// Whether the idempotency key was used before; then nothing changed.
    pub duplicate: bool,
    /// The token, as it is now.
    pub token: Token,
}

/// What [`Client::push_routine`] answers.
#[derive(Debug, Clone)]
pub struct Pushed {
    /// `false` when the same component with the same limits was in force already, and nothing changed.
    pub created: bool,
    /// What is in force now.
    pub routine: RoutineInForce,
}

impl Client {
    /// A client for the control plane at `url`, which may have a path when a proxy puts it there.
    ///
    /// # Errors
    /// [`ClientError::Url`] when `url` cannot be one of a control plane.
    pub fn new(url: &str) -> Result<Self, ClientError> {
        let address = Address::parse(url)?;
        let http = transport::pool(&address)?;
        Ok(Self { address, http, timeout: TIMEOUT })
    }

    /// The same client with another limit on how long a call waits for its answer. Claims wait that much longer than the
    /// server may, and components have their own limit.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The control plane's URL, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> &str {
        self.address.as_str()
    }

    /// Which workflow the control plane serves.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn health(&self) -> Result<Health, ClientError> {
        self.get(&["health"]).await
    }

    /// The graph file of the default workflow, as JSON text.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn workflow(&self) -> Result<Raw, ClientError> {
        self.get(&["workflow"]).await
    }

    /// Starts a token. One that exists is answered unchanged.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn start_token(&self, start: &StartRequest) -> Result<Started, ClientError> {
        let request = self.with_body(Method::POST, &["tokens"], json(start))?;
        let answer = self.send(request, ANSWER).await?;
        Ok(Started { created: answer.status.as_u16() == 201, token: self.read(&answer)? })
    }

    /// One token.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn token(&self, token: &str) -> Result<Token, ClientError> {
        self.get(&["tokens", token]).await
    }

    /// Tokens, the ones that moved last first.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn tokens(&self, which: &TokensQuery) -> Result<Vec<Token>, ClientError> {
        Ok(self.tokens_page(which).await?.items)
    }

    /// A page of tokens, and where the next one begins.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn tokens_page(&self, which: &TokensQuery) -> Result<Page<Token>, ClientError> {
        let limit = which.limit.map(|limit| limit.to_string());
        let fields = [
            ("workflow", &which.workflow),
            ("state", &which.state),
            ("status", &which.status),
            ("parent", &which.parent),
            ("prefix", &which.prefix),
            ("limit", &limit),
            ("cursor", &which.cursor),
        ];
        self.page("tokens", &fields).await
    }

    /// A token's history, oldest first; `all` asks for every kind of entry, not only the original's.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn history(&self, token: &str, all: bool) -> Result<Vec<Entry>, ClientError> {
        self.history_from(token, &HistoryQuery { all, ..HistoryQuery::default() }).await
    }

    /// A part of a token's history, oldest first. Waits as long as the query asks the server to, and its timeout more.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn history_from(&self, token: &str, which: &HistoryQuery) -> Result<Vec<Entry>, ClientError> {
        let mut request = self.request(Method::GET, &["tokens", token, "history"])?;
        let number = |number: u64| (number > 0).then(|| number.to_string());
        for (name, value) in [
            ("after", number(which.after)),
            ("limit", which.limit.map(|limit| limit.to_string())),
            ("wait_ms", number(which.wait_ms)),
            ("kinds", which.all.then(|| "all".to_owned())),
        ] {
            if let Some(value) = value {
                query(request.url_mut(), name, &value);
            }
        }
        *request.timeout_mut() = Some(self.timeout + Duration::from_millis(which.wait_ms));
        self.read(&self.send(request, ANSWER).await?)
    }

    /// Fires an event. With a key, a second delivery is answered as a duplicate and changes nothing.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn fire(
        &self,
        token: &str,
        event: &str,
        body: &FireRequest,
        key: Option<&str>,
    ) -> Result<Fired, ClientError> {
        let mut request = self.with_body(Method::POST, &["tokens", token, "events", event], json(body))?;
        if let Some(key) = key {
            let value = HeaderValue::from_bytes(key.as_bytes())
                .map_err(|_| ClientError::Name(key.escape_default().to_string()))?;
            request.headers_mut().insert(HeaderName::from_static("idempotency-key"), value);
        }
        let answer = self.send(request, ANSWER).await?;
        // A duplicate wraps the token, anything else is the token itself.
        if self.read::<Probe>(&answer)?.duplicate {
            let Duplicate { token, .. } = self.read(&answer)?;
            return Ok(Fired { duplicate: true, token });
        }
        Ok(Fired { duplicate: false, token: self.read(&answer)? })
    }

    /// Pauses an active token: it stands still, and what arrives for it is held.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn pause(&self, token: &str) -> Result<Token, ClientError> {
        self.steer(token, "pause").await
    }

    /// Resumes a paused token. What it held applies, or is dropped, before this answers.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn resume(&self, token: &str) -> Result<Token, ClientError> {
        self.steer(token, "resume").await
    }

    /// Ends an active or paused token for good.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn cancel(&self, token: &str) -> Result<Token, ClientError> {
        self.steer(token, "cancel").await
    }

    /// *Ours*: lets a failed top token enter its last state again, as a new visit with empty memory.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn retry(&self, token: &str) -> Result<Token, ClientError> {
        self.steer(token, "retry").await
    }

    /// Uploads a component and puts it in force for a state.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn push_routine(&self, push: &RoutinePush, component: Bytes) -> Result<Pushed, ClientError> {
        let mut request = self.request(Method::POST, &["routines"])?;
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        for (name, value) in [
            ("workflow", push.workflow.clone()),
            ("state", Some(push.state.clone())),
            ("name", push.name.clone()),
            ("fuel", number(push.limits.fuel)),
            ("memory_bytes", number(push.limits.memory_bytes)),
            ("wall_ms", number(push.limits.wall_ms)),
            ("http", (!push.limits.http.is_empty()).then(|| push.limits.http.join("\n"))),
        ] {
            if let Some(value) = value {
                query(request.url_mut(), name, &value);
            }
        }
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/wasm"));
        *request.timeout_mut() = Some(TRANSFER);
        *request.body_mut() = Some(component.into());
        let answer = self.send(request, ANSWER).await?;
        Ok(Pushed { created: answer.status.as_u16() == 201, routine: self.read(&answer)? })
    }

    /// What is in force for each state, by workflow and state.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn routines(&self) -> Result<Vec<RoutineInForce>, ClientError> {
        self.get(&["routines"]).await
    }

    /// A component's bytes. The caller verifies them against the digest.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn component(&self, digest: &str) -> Result<Bytes, ClientError> {
        let mut request = self.request(Method::GET, &["routines", digest])?;
        *request.timeout_mut() = Some(TRANSFER);
        Ok(self.send(request, COMPONENT_BYTES_MAX).await?.body)
    }

    async fn steer(&self, token: &str, act: &str) -> Result<Token, ClientError> {
        let request = self.request(Method::POST, &["tokens", token, act])?;
        self.read(&self.send(request, ANSWER).await?)
    }

    async fn page<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        fields: &[(&str, &Option<String>)],
    ) -> Result<Page<T>, ClientError> {
        let mut request = self.request(Method::GET, &[path])?;
        for (name, value) in fields {
            if let Some(value) = value {
                query(request.url_mut(), name, value);
            }
        }
        let answer = self.send(request, ANSWER).await?;
        Ok(Page { items: self.read(&answer)?, next: answer.next })
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, parts: &[&str]) -> Result<T, ClientError> {
        let request = self.request(Method::GET, parts)?;
        self.read(&self.send(request, ANSWER).await?)
    }
}

/// Whether an answer to an event is a duplicate's.
#[derive(Deserialize)]
struct Probe {
    #[serde(default)]
    duplicate: bool,
}

fn json(body: &impl Serialize) -> String {
    serde_json::to_string(body).expect("wire types are made of text, numbers and JSON text")
}
