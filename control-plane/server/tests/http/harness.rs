//! A control plane of a test's own, and requests written byte by byte, so that odd ones can be sent too.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use stateous_engine::{Catalog, Graph, Timestamp};
use stateous_server::{ControlPlane, LEASE_MS, Options, ServeError};
use stateous_store::{Clock, ManualClock};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

use crate::contract::Contract;

use crate::database;

/// `sdlc` of the original's documentation: coding (timeout 6h, retries 2) and testing.
pub(crate) const SDLC: &str = include_str!("../../../engine/tests/fixtures/graphs/sdlc.json");
/// The moment at which every test begins.
pub(crate) const START: Timestamp = Timestamp(1_795_950_988_000);
/// How long a test waits for a condition before it fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running control plane.
pub(crate) struct Plane {
    pub(crate) plane: ControlPlane,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) address: SocketAddr,
    pub(crate) folder: Arc<TempDir>,
}

/// An answer as it came.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Lower-case names.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Plane {
    /// A new database that serves `sdlc`.
    pub(crate) async fn new() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::start(folder, Arc::new(ManualClock::new(START)), SDLC).await.unwrap()
    }

    /// A control plane for the database in `folder`.
    pub(crate) async fn start(
        folder: Arc<TempDir>,
        clock: Arc<ManualClock>,
        graph: &str,
    ) -> Result<Self, ServeError> {
        let (path, now) = (folder.path().to_owned(), clock.now());
        let store = tokio::task::spawn_blocking(move || database::open(&path, now).unwrap()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let catalog = Catalog::new(vec![Graph::parse(graph).unwrap()]).unwrap();
        let clock_ = Arc::clone(&clock) as Arc<dyn Clock>;
        let options =
            Options { lease_ms: LEASE_MS, clock: Some(clock_), hosts: vec!["plane.example".into()] };
        let plane = ControlPlane::start(listener, store, catalog, options).await?;
        Ok(Self { address: plane.address(), plane, clock, folder })
    }

    /// Stops it, and gives back what another one on the same database needs.
    pub(crate) async fn stop(mut self) -> (Arc<TempDir>, Arc<ManualClock>) {
        self.plane.stop();
        self.plane.wait().await.unwrap();
        (self.folder.clone(), self.clock.clone())
    }

    /// Sends a request with a JSON body.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        self.send_with(method, path, &[], body.as_bytes()).await
    }

    /// Sends a request with more headers.
    pub(crate) async fn send_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head += &format!("host: {}\r\n", self.address);
        }
        if !headers.iter().any(|(name, _)| matches!(*name, "content-length" | "transfer-encoding")) {
            head += &format!("content-length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let answer = self.raw([head.as_bytes(), b"\r\n", body].concat()).await;
        self.contract().await.check(method, path, &answer);
        answer
    }

    /// The document of the API, which every answer is held against.
    async fn contract(&self) -> &'static Contract {
        static CONTRACT: OnceCell<Contract> = OnceCell::const_new();
        let fetch = async {
            let head =
                format!("GET /openapi.json HTTP/1.1\r\nconnection: close\r\nhost: {}\r\n\r\n", self.address);
            Contract::new(self.raw(head.into_bytes()).await.json())
        };
        CONTRACT.get_or_init(|| fetch).await
    }

    /// Sends these bytes on a connection of their own, and reads until it is closed.
    pub(crate) async fn raw(&self, request: Vec<u8>) -> Answer {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut read, mut write) = stream.into_split();
        // A refusal may come before all is sent.
        let sending = tokio::spawn(async move {
            let _ = write.write_all(&request).await;
            write
        });
        let mut text = Vec::new();
        tokio::time::timeout(PATIENCE, read.read_to_end(&mut text)).await.unwrap().unwrap();
        drop(sending.await.unwrap());
        Answer::parse(&text)
    }

    /// Starts a token with the context that `sdlc` needs.
    pub(crate) async fn token(&self, token: &str) {
        let body = format!(r#"{{"token":"{token}","context":{{"repo":"acme/api"}}}}"#);
        assert_eq!(self.send("POST", "/tokens", &body).await.status, 201);
    }

    /// Claims the oldest task of `states` as the original's supervisor `vm` does. Answers the task.
    pub(crate) async fn claimed(&self, states: &str) -> u64 {
        let body = format!(r#"{{"supervisor":"vm","states":{states}}}"#);
        let answer = self.send("POST", "/tasks/claim", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["task"].as_u64().unwrap()
    }

    /// The history of a token, one `kind data` a line.
    pub(crate) async fn history(&self, token: &str) -> String {
        let answer = self.send("GET", &format!("/tokens/{token}/history"), "").await;
        let entries = answer.json();
        let lines =
            entries.as_array().unwrap().iter().map(|entry| {
                format!("#{} {} {}", entry["seq"], entry["kind"].as_str().unwrap(), entry["data"])
            });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Waits until the history of a token has an entry of this kind.
    pub(crate) async fn until(&self, token: &str, kind: &str) {
        let found = async {
            while !self.history(token).await.contains(&format!(" {kind} ")) {
                // The loops look about once a second; a nudge that comes while they look is lost.
                self.plane.nudge();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(
            tokio::time::timeout(PATIENCE, found).await.is_ok(),
            "no {kind} in {}",
            self.history(token).await
        );
    }
}

impl Answer {
    fn parse(text: &[u8]) -> Self {
        let end = text.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| {
            panic!("no HTTP answer: {:?}", String::from_utf8_lossy(text));
        });
        let head = String::from_utf8(text[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<_> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let rest = &text[end + 4..];
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if chunked { unchunked(rest) } else { rest.to_vec() };
        Self { status, headers, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// Status, then the body: for a refusal its code and sentence.
    pub(crate) fn brief(&self) -> String {
        let told: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        match (told["code"].as_str(), told["error"].as_str()) {
            (Some(code), Some(error)) => format!("{} {code}: {error}", self.status),
            _ => format!("{} {}", self.status, String::from_utf8_lossy(&self.body)).trim_end().to_owned(),
        }
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n").expect("a chunk begins with its size");
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 2 + size + 2..];
    }
}

/// Sends each request and lists what came, for a snapshot.
pub(crate) async fn table(plane: &Plane, requests: &[(&str, &str, &str)]) -> String {
    let mut lines = Vec::new();
    for (method, path, body) in requests {
        let answer = plane.send(method, path, body).await;
        let shown: String = body.chars().take(90).collect();
        lines.push(format!("{method} {path} {shown}").trim_end().to_owned());
        lines.push(format!("  {}", answer.brief()));
    }
    lines.join("\n")
}
