//! A proxy between a supervisor and its control plane that can hold a request or swallow its answer.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// What is done to a request whose path ends like this.
#[derive(Clone)]
enum Rule {
    /// It goes no further until it is released.
    Hold(String),
    /// It is delivered; its answer is not.
    Swallow(String),
}

/// A TCP proxy that looks at the first line of each request.
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
}

struct Shared {
    rule: Mutex<Option<Rule>>,
    caught: Notify,
    /// Grows each time that held requests are released and connections are cut.
    epoch: watch::Sender<u64>,
}

impl Proxy {
    /// Starts a proxy in front of `upstream`, a host and port.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start(upstream: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared =
            Arc::new(Shared { rule: Mutex::new(None), caught: Notify::new(), epoch: watch::Sender::new(0) });
        let (upstream, for_accept) = (upstream.to_owned(), Arc::clone(&shared));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (upstream, shared) = (upstream.clone(), Arc::clone(&for_accept));
                // A connection that breaks on one side is closed on the other; that is all there is to say.
                tokio::spawn(async move { pass(client, &upstream, &shared).await.ok() });
            }
        });
        Ok(Self { url, shared })
    }

    /// Where clients reach it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From now on, holds requests whose path ends with `suffix`.
    pub fn hold(&self, suffix: &str) {
        self.set(Some(Rule::Hold(suffix.to_owned())));
    }

    /// From now on, delivers requests whose path ends with `suffix` but swallows their answers.
    pub fn swallow(&self, suffix: &str) {
        self.set(Some(Rule::Swallow(suffix.to_owned())));
    }

    /// Waits until a request was held, or an answer swallowed.
    pub async fn caught(&self) {
        self.shared.caught.notified().await;
    }

    /// Forgets the rule and cuts every connection.
    pub fn cut(&self) {
        self.set(None);
        self.shared.epoch.send_modify(|n| *n += 1);
    }

    fn set(&self, rule: Option<Rule>) {
        *self.shared.rule.lock().unwrap_or_else(PoisonError::into_inner) = rule;
    }
}

impl Shared {
    fn rule_for(&self, chunk: &[u8]) -> Option<Rule> {
        let head = std::str::from_utf8(chunk.split(|b| *b == b'\r').next()?).ok()?;
        let path = head.split(' ').nth(1).filter(|_| head.ends_with("HTTP/1.1"))?;
        let rule = self.rule.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let (Rule::Hold(suffix) | Rule::Swallow(suffix)) = &rule;
        path.ends_with(suffix.as_str()).then_some(rule)
    }
}

async fn pass(mut client: TcpStream, upstream: &str, shared: &Shared) -> Result<()> {
    let mut server = TcpStream::connect(upstream).await?;
    let mut epoch = shared.epoch.subscribe();
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut deaf = false;
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let n = read?;
                if n == 0 { return Ok(()) }
                match shared.rule_for(&up[..n]) {
                    Some(Rule::Hold(_)) => {
                        shared.caught.notify_one();
                        // Held until the connections are cut: the request never arrives.
                        epoch.changed().await?;
                        return Ok(());
                    }
                    Some(Rule::Swallow(_)) => deaf = true,
                    None => {}
                }
                server.write_all(&up[..n]).await?;
            }
            read = server.read(&mut down) => {
                let n = read?;
                if n == 0 { return Ok(()) }
                if deaf {
                    shared.caught.notify_one();
                } else {
                    client.write_all(&down[..n]).await?;
                }
            }
            changed = epoch.changed() => return Ok(changed?),
        }
    }
}
