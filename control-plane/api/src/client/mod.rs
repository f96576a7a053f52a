//! The HTTP client: one method for each call that our command line and supervisor make.
//!
//! A call is one request. It is never tried again here: only the caller knows how long it may wait
//! ([`ClientError::is_transient`] says what is worth another try). Connections are kept and shared by clones.

mod address;
mod error;
mod transport;

use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::{
    COMPONENT_BYTES_MAX, ClaimAnswer, ClaimRequest, Disposition, Duplicate, Entry, FireRequest, Health,
    HeartbeatAnswer, HeartbeatRequest, MemoryRequest, NoteRequest, Raw, Report, ReturnRequest,
    RoutineInForce, RoutinePush, StartRequest, StartedRequest, Token,
};

use address::Address;
use transport::query;

pub use error::ClientError;

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

/// Which tokens [`Client::tokens`] lists; by default the 100 that moved last.
#[derive(Debug, Clone, Default)]
pub struct TokensQuery {
    /// Only in this status.
    pub status: Option<String>,
    /// Only children of this token.
    pub parent: Option<String>,
    /// At most so many, 1 to 1000.
    pub limit: Option<u32>,
}

/// What [`Client::push_routine`] answers.
#[derive(Debug, Clone)]
pub struct Pushed {
    /// `false` when the same component with the same limits was in force already, and nothing changed.
    pub created: bool,
    /// What is in force now.
    pub routine: RoutineInForce,
}

/// What a supervisor's stored message says about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// A [`Report`].
    Report,
    /// A [`NoteRequest`].
    Note,
    /// A [`MemoryRequest`].
    Memory,
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
        let mut request = self.request(Method::GET, &["tokens"])?;
        let limit = which.limit.map(|limit| limit.to_string());
        for (name, value) in [("status", &which.status), ("parent", &which.parent), ("limit", &limit)] {
            if let Some(value) = value {
                query(request.url_mut(), name, value);
            }
        }
        self.read(&self.send(request, ANSWER).await?)
    }

    /// A token's history, oldest first; `all` asks for every kind of entry, not only the original's.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn history(&self, token: &str, all: bool) -> Result<Vec<Entry>, ClientError> {
        let mut request = self.request(Method::GET, &["tokens", token, "history"])?;
        if all {
            query(request.url_mut(), "kinds", "all");
        }
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

    /// Claims tasks. Waits as long as the claim asks the server to, and its timeout more.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn claim(&self, claim: &ClaimRequest) -> Result<ClaimAnswer, ClientError> {
        let mut request = self.with_body(Method::POST, &["tasks", "claim"], json(claim))?;
        *request.timeout_mut() = Some(self.timeout + Duration::from_millis(claim.wait_ms.unwrap_or(0)));
        self.read(&self.send(request, ANSWER).await?)
    }

    /// Asks whether the routine of a claimed task may begin.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn started(&self, task: u64, body: &StartedRequest) -> Result<Disposition, ClientError> {
        let request = self.with_body(Method::POST, &["tasks", &task.to_string(), "started"], json(body))?;
        self.read(&self.send(request, ANSWER).await?)
    }

    /// Gives back a task that was claimed and did not begin.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn give_back(&self, task: u64, body: &ReturnRequest) -> Result<(), ClientError> {
        let request = self.with_body(Method::POST, &["tasks", &task.to_string(), "return"], json(body))?;
        self.send(request, ANSWER).await.map(drop)
    }

    /// Renews leases. Answers the tasks that the supervisor no longer holds.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn heartbeat(&self, body: &HeartbeatRequest) -> Result<Vec<u64>, ClientError> {
        let request = self.with_body(Method::POST, &["tasks", "heartbeat"], json(body))?;
        let answer: HeartbeatAnswer = self.read(&self.send(request, ANSWER).await?)?;
        Ok(answer.lost)
    }

    /// Reports how a task ended. Answers its token.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn report(&self, task: u64, report: &Report) -> Result<Token, ClientError> {
        let request = self.with_body(Method::POST, &["tasks", &task.to_string(), "report"], json(report))?;
        self.read(&self.send(request, ANSWER).await?)
    }

    /// Writes a line of progress.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn note(&self, task: u64, note: &NoteRequest) -> Result<(), ClientError> {
        self.post_task(task, MessageKind::Note, json(note)).await
    }

    /// Writes or deletes one key of the routine's memory.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn memory(&self, task: u64, memory: &MemoryRequest) -> Result<(), ClientError> {
        self.post_task(task, MessageKind::Memory, json(memory)).await
    }

    /// Sends a message of an outbox as it was stored, byte for byte. What is told back is only that it was accepted.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn post_task(&self, task: u64, kind: MessageKind, body: String) -> Result<(), ClientError> {
        let (method, name) = match kind {
            MessageKind::Report => (Method::POST, "report"),
            MessageKind::Note => (Method::POST, "note"),
            MessageKind::Memory => (Method::PUT, "memory"),
        };
        let request = self.with_body(method, &["tasks", &task.to_string(), name], body)?;
        let answer = self.send(request, ANSWER).await?;
        // What a message says is forgotten once it counts, so the answer must be the control plane's own: a login page that
        // says 200 is none.
        let ours = match kind {
            MessageKind::Report => serde_json::from_slice::<Moved>(&answer.body).is_ok(),
            MessageKind::Note | MessageKind::Memory => answer.status.as_u16() == 204,
        };
        if ours { Ok(()) } else { Err(self.not_through(answer.status)) }
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

    async fn get<T: serde::de::DeserializeOwned>(&self, parts: &[&str]) -> Result<T, ClientError> {
        let request = self.request(Method::GET, parts)?;
        self.read(&self.send(request, ANSWER).await?)
    }
}

/// What tells the answer to a report from anybody else's page.
#[derive(Deserialize)]
struct Moved {
    #[serde(rename = "token")]
    _token: String,
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
