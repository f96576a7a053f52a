//! Renews the leases, on an operating-system thread of its own: a host that is busy with routines still renews.
//!
//! A heartbeat goes out every quarter of a lease, never more than 30 seconds apart, and names every task of this
//! supervisor, also those whose reports are on their way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stateous_api::client::Client;
use stateous_api::{ClientError, HeartbeatRequest, Incarnation};
use tokio::sync::oneshot;
use tracing::warn;

use crate::lease::Held;
use crate::reach::{Reach, is_outage};

/// The most tasks of one heartbeat.
const NAMED_MAX: usize = 1000;
/// How long a heartbeat waits for its answer at most; a short lease shortens it.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The running thread. It ends when this is dropped.
pub(crate) struct Heartbeats {
    _stop: oneshot::Sender<()>,
}

impl Heartbeats {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the operating system gives no thread, or the URL is none.
    pub(crate) fn start(
        name: &str,
        incarnation: &Incarnation,
        held: Arc<Held>,
        reach: Arc<Reach>,
    ) -> std::io::Result<Self> {
        // A client of its own: connections are driven by the runtime that made them.
        let client = Client::new(reach.url()).map_err(std::io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let beat = Beat {
            client,
            name: name.to_owned(),
            incarnation: incarnation.clone(),
            held,
            reach,
            failures: 0,
            not_before: Instant::now(),
        };
        std::thread::Builder::new().name("heartbeats".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = beat.for_ever() => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { _stop: stop })
    }
}

struct Beat {
    client: Client,
    name: String,
    incarnation: Incarnation,
    held: Arc<Held>,
    reach: Arc<Reach>,
    /// Heartbeats in a row without an answer.
    failures: u32,
    /// After one without an answer: not to be tried again before.
    not_before: Instant,
}

impl Beat {
    async fn for_ever(mut self) {
        loop {
            let due = self.held.beat_due().map(|due| due.max(self.not_before));
            let wake = [due, self.held.next_end()].into_iter().flatten().min();
            tokio::select! {
                () = sleep_until(wake) => {}
                () = self.held.added.notified() => continue,
            }
            let now = Instant::now();
            self.held.end_overdue(now);
            if due.is_some_and(|due| due <= now) {
                self.beat().await;
            }
        }
    }

    /// One heartbeat for everything that is held.
    async fn beat(&mut self) {
        let every = self.held.beat_every();
        let tasks = self.held.tasks();
        for named in tasks.chunks(NAMED_MAX) {
            let sent = Instant::now();
            match self.send(named, every.min(ANSWER_WITHIN)).await {
                Ok(lost) => {
                    self.failures = 0;
                    self.reach.reached();
                    self.held.answered(sent, named, &lost);
                }
                Err(error) => {
                    if is_outage(&error) {
                        self.reach.missed(&error, false);
                    } else {
                        warn!("the control plane refused a heartbeat: {error}");
                    }
                    // Often enough that a short outage costs no lease, never more often than each second.
                    let pause =
                        Duration::from_secs(1 << self.failures.min(5)).min(every.max(Duration::from_secs(1)));
                    self.failures = self.failures.saturating_add(1);
                    self.not_before = Instant::now() + pause;
                    return;
                }
            }
        }
    }

    /// Sends one heartbeat. Leases go on ending while it has no answer.
    async fn send(&self, named: &[u64], within: Duration) -> Result<Vec<u64>, ClientError> {
        let body = HeartbeatRequest {
            supervisor: self.name.clone(),
            tasks: named.to_vec(),
            incarnation: Some(self.incarnation.clone()),
        };
        let answer = tokio::time::timeout(within, self.client.heartbeat(&body));
        tokio::pin!(answer);
        loop {
            tokio::select! {
                answer = &mut answer => {
                    let late = || ClientError::Unreachable {
                        url: self.client.url().to_owned(),
                        why: "no answer in time".into(),
                    };
                    return answer.unwrap_or_else(|_| Err(late()));
                }
                () = sleep_until(self.held.next_end()) => self.held.end_overdue(Instant::now()),
            }
        }
    }
}

/// Sleeps until then; for ever when there is no then.
async fn sleep_until(then: Option<Instant>) {
    match then {
        Some(then) => tokio::time::sleep_until(then.into()).await,
        None => std::future::pending().await,
    }
}
