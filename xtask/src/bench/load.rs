//! The load: starts tokens and waits until they ended.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use hdrhistogram::Histogram;
use stateous_api::client::TokensQuery;
use stateous_api::{Client, StartRequest};
use tokio::runtime::Runtime;

/// Requests that are under way at the same time during a flood.
const CONNECTIONS: usize = 16;

/// A load on one control plane.
pub(crate) struct Load {
    client: Client,
    runtime: Runtime,
}

impl Load {
    pub(crate) fn new(url: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { client: Client::new(url)?, runtime })
    }

    /// Lets the supervisor download and compile the routine before anything is measured.
    pub(crate) fn warm_up(&self) -> Result<()> {
        self.runtime.block_on(async {
            self.start("warm-up").await?;
            self.until_none_is_active(Duration::from_secs(60)).await
        })
    }

    /// Starts `tokens` as fast as they are accepted and waits for the last to end. Answers the seconds it took.
    pub(crate) fn flood(&self, tokens: usize) -> Result<f64> {
        self.runtime.block_on(async {
            let began = Instant::now();
            let mut starters = tokio::task::JoinSet::new();
            for lane in 0..CONNECTIONS {
                let client = self.client.clone();
                starters.spawn(async move {
                    for n in (lane..tokens).step_by(CONNECTIONS) {
                        let start = StartRequest { token: format!("F-{n}"), context: None, workflow: None };
                        client.start_token(&start).await?;
                    }
                    anyhow::Ok(())
                });
            }
            while let Some(lane) = starters.join_next().await {
                lane??;
            }
            self.until_none_is_active(Duration::from_secs(600)).await?;
            let seconds = began.elapsed().as_secs_f64();
            let failed =
                TokensQuery { status: Some("failed".into()), limit: Some(1), ..TokensQuery::default() };
            ensure!(self.client.tokens(&failed).await?.is_empty(), "a token failed");
            Ok(seconds)
        })
    }

    /// Starts tokens one at a time. Answers the median and the 99th percentile of the milliseconds from sending the
    /// request to the first instruction of the routine.
    pub(crate) fn singles(&self, tokens: usize) -> Result<(f64, f64)> {
        self.runtime.block_on(async {
            let mut waits = Histogram::<u64>::new(3)?;
            for n in 0..tokens {
                let id = format!("S-{n}");
                let sent = now_ms()?;
                self.start(&id).await?;
                let began = self.began(&id).await?;
                waits.record(began.saturating_sub(sent))?;
            }
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of a short wait")]
            let at = |quantile| waits.value_at_quantile(quantile) as f64;
            Ok((at(0.5), at(0.99)))
        })
    }

    async fn start(&self, id: &str) -> Result<()> {
        let start = StartRequest { token: id.to_owned(), context: None, workflow: None };
        self.client.start_token(&start).await?;
        Ok(())
    }

    /// When the first routine of a token began, by its own word, once the token has ended.
    async fn began(&self, id: &str) -> Result<u64> {
        let end = Instant::now() + Duration::from_secs(30);
        while Instant::now() < end {
            if self.client.token(id).await?.status != "active" {
                let history = self.client.history(id, false).await?;
                for entry in history.iter().filter(|e| e.kind == "event_accepted") {
                    let data: serde_json::Value = serde_json::from_str(entry.data.get())?;
                    if let Some(ms) = data["payload"]["began_ms"].as_u64() {
                        return Ok(ms);
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        anyhow::bail!("{id} did not end within 30 s")
    }

    async fn until_none_is_active(&self, limit: Duration) -> Result<()> {
        let which = TokensQuery { status: Some("active".into()), limit: Some(1), ..TokensQuery::default() };
        let end = Instant::now() + limit;
        while !self.client.tokens(&which).await?.is_empty() {
            ensure!(Instant::now() < end, "tokens were still active after {limit:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

fn now_ms() -> Result<u64> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the guest tells wall time, so it is compared with wall time"
    )]
    let now = SystemTime::now();
    Ok(u64::try_from(now.duration_since(UNIX_EPOCH).context("the clock is before 1970")?.as_millis())?)
}
