//! Following a token's history as it grows, over restarts of the control plane.

use std::time::Duration;

use stateous_api::client::HistoryQuery;
use stateous_api::{Client, ClientError, Entry, Token};

use tokio::time::Instant;

use crate::text::say;

/// How long one request waits for the next entry. Shorter than what proxies put up with.
const WAIT_MS: u64 = 25_000;
/// How many entries one answer brings at most.
const PAGE: u32 = 1000;
/// How far apart requests are that bring nothing, where the server does not wait.
const APART: Duration = Duration::from_secs(1);
/// The pause before a control plane that was lost is asked again, at first and at last.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(4));

/// A history that is being read: each entry comes once, in order, none is left out.
pub(super) struct Follow {
    client: Client,
    id: String,
    /// The number of the last entry that was read.
    after: u64,
    /// Whether the control plane answered before: then it is worth waiting for.
    met: bool,
}

/// What comes next.
pub(super) enum Next {
    /// Entries; none when none came in time.
    Entries(Vec<Entry>),
    /// The token has ended, and all of its history was read.
    Ended,
}

impl Follow {
    pub(super) fn new(client: Client, id: String) -> Self {
        Self { client, id, after: 0, met: false }
    }

    /// Waits for what comes next.
    pub(super) async fn next(&mut self) -> Result<Next, ClientError> {
        let Self { client, id, after, met } = self;
        patiently(met, async || {
            // Every kind: a token that was retried goes on after its end, which only `retried` tells.
            let query = HistoryQuery { after: *after, limit: Some(PAGE), wait_ms: WAIT_MS, all: true };
            let asked = Instant::now();
            let mut entries = client.history_from(id, &query).await?;
            // The original's control plane answers with the whole history, and at once.
            entries.retain(|entry| entry.seq > *after);
            if let Some(last) = entries.last() {
                *after = last.seq;
                return Ok(Next::Entries(entries));
            }
            // Nothing came: either the time is over, or nothing will come.
            let token = client.token(id).await?;
            if !matches!(token.status.as_str(), "active" | "paused") {
                return Ok(Next::Ended);
            }
            tokio::time::sleep_until(asked + APART).await;
            Ok(Next::Entries(Vec::new()))
        })
        .await
    }

    /// The token as it is now.
    pub(super) async fn token(&mut self) -> Result<Token, ClientError> {
        let Self { client, id, met, .. } = self;
        patiently(met, async || client.token(id).await).await
    }
}

/// Asks until there is an answer: a control plane that goes away is waited for, once it was there.
async fn patiently<T>(
    met: &mut bool,
    mut ask: impl AsyncFnMut() -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    let mut pause = PAUSE.0;
    loop {
        match ask().await {
            Err(error) if *met && error.is_transient() => {
                if pause == PAUSE.0 {
                    say(&format!("{error}; asking again until it is back"));
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSE.1);
            }
            answered => {
                *met |= answered.is_ok();
                return answered;
            }
        }
    }
}
