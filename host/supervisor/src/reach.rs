//! Whether the control plane can be reached, shared by all who call it.
//!
//! While it can, calls go out as they come. Once one gets no answer, one caller at a time tries again after 1, 2, 4, 8, 16,
//! then every 30 seconds, and the others wait for its success: so there is one log line for each try, whatever the number
//! of routines, and no stampede when the control plane comes back.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use stateous_api::ClientError;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::stop::{Stop, Stopping};

/// Seconds before each new try; the last one repeats.
const PAUSES: [u64; 6] = [1, 2, 4, 8, 16, 30];
/// After a stop was asked for, a failed try counts so long for everybody.
const SAME_OUTAGE: Duration = Duration::from_secs(1);

/// The shared state of the way to one control plane.
pub(crate) struct Reach {
    url: String,
    stopping: Stopping,
    outage: Mutex<Outage>,
    /// Held by the caller whose turn it is to try again.
    turn: tokio::sync::Mutex<()>,
}

struct Outage {
    /// Failed tries in a row; 0 while the control plane answers.
    failures: usize,
    last: Instant,
    retry_at: Instant,
    random: StdRng,
}

/// Why a call has no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The control plane cannot be reached, and this supervisor is stopping.
    GaveUp,
    /// The control plane said no, or sent something that cannot be read.
    No(ClientError),
}

/// Whether a call goes out in the ordinary way, or to find out whether anybody answers again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Try {
    Ordinary,
    /// Others wait for this one: it must not wait long for its answer.
    Probe,
}

impl Reach {
    pub(crate) fn new(url: &str, stopping: Stopping, seed: [u8; 32]) -> Self {
        let (last, random) = (Instant::now(), StdRng::from_seed(seed));
        let outage = Mutex::new(Outage { failures: 0, last, retry_at: last, random });
        Self { url: url.to_owned(), stopping, outage, turn: tokio::sync::Mutex::new(()) }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sends until there is an answer. After a stop was asked for, an outage ends it instead.
    pub(crate) async fn call<T, F>(&self, mut send: impl FnMut(Try) -> F) -> Result<T, Unanswered>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        loop {
            if !self.is_out() {
                match send(Try::Ordinary).await {
                    Err(error) if is_outage(&error) => self.missed(&error, false),
                    answer => return self.answered(answer),
                }
                if self.stopping.asked() {
                    return Err(Unanswered::GaveUp);
                }
                continue;
            }
            let _turn = self.turn.lock().await;
            if !self.is_out() {
                continue;
            }
            if !self.pause().await {
                return Err(Unanswered::GaveUp);
            }
            match send(Try::Probe).await {
                Err(error) if is_outage(&error) => self.missed(&error, true),
                answer => return self.answered(answer),
            }
            if self.stopping.asked() {
                return Err(Unanswered::GaveUp);
            }
        }
    }

    /// Whether a stop was asked for.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.asked()
    }

    /// Somebody got an answer.
    pub(crate) fn reached(&self) {
        let mut outage = self.outage();
        if outage.failures > 0 {
            outage.failures = 0;
            info!("the control plane at {} answers again", self.url);
        }
    }

    /// Somebody got none. Only the first to notice an outage, and whoever tries again, have something to say.
    pub(crate) fn missed(&self, error: &ClientError, probe: bool) {
        let mut outage = self.outage();
        if outage.failures > 0 && !probe {
            return;
        }
        let pause = PAUSES[outage.failures.min(PAUSES.len() - 1)];
        outage.failures += 1;
        // Not all supervisors of a control plane come back at the same instant.
        let spread: f64 = outage.random.random_range(0.8..1.2);
        outage.last = Instant::now();
        outage.retry_at = outage.last + Duration::from_secs(pause).mul_f64(spread);
        let again = if self.stopping.asked() { String::new() } else { format!("; trying again in {pause}s") };
        warn!("{}{again}", self.problem(error));
    }

    fn answered<T>(&self, answer: Result<T, ClientError>) -> Result<T, Unanswered> {
        self.reached();
        answer.map_err(Unanswered::No)
    }

    fn is_out(&self) -> bool {
        self.outage().failures > 0
    }

    /// Waits until it is time to try again. A stop cuts the wait short; `false` says that another try is no use then.
    async fn pause(&self) -> bool {
        let (retry_at, last) = {
            let outage = self.outage();
            (outage.retry_at, outage.last)
        };
        if !self.stopping.asked() {
            tokio::select! {
                () = tokio::time::sleep_until(retry_at) => return true,
                () = self.stopping.reached(Stop::Graceful) => {}
            }
        }
        last.elapsed() >= SAME_OUTAGE
    }

    fn problem(&self, error: &ClientError) -> String {
        let url = &self.url;
        match error {
            ClientError::Refused { code: Some(code), message, .. } if code == "not_serving" => {
                format!("the control plane at {url} does not serve its database now (not_serving): {message}")
            }
            ClientError::Refused { status, code: Some(code), message, .. } => {
                format!("cannot reach the control plane at {url} (it answered {status}, {code}: {message})")
            }
            ClientError::Refused { status, .. } => {
                format!("cannot reach the control plane at {url} (it answered {status})")
            }
            ClientError::Unreachable { why, .. } => {
                format!("cannot reach the control plane at {url} ({why})")
            }
            other => format!("cannot reach the control plane at {url} ({other})"),
        }
    }

    fn outage(&self) -> MutexGuard<'_, Outage> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No answer, or one that speaks of the moment or the caller and not of what was sent: the same call may succeed later, and
/// what it carries must not be dropped.
pub(crate) fn is_outage(error: &ClientError) -> bool {
    error.is_transient() || matches!(error.status(), Some(401 | 403 | 407 | 408 | 425 | 429))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn nobody() -> ClientError {
        ClientError::Unreachable { url: "http://a".into(), why: "connection refused".into() }
    }

    fn refused(status: u16) -> ClientError {
        ClientError::Refused { url: "http://a".into(), status, code: None, message: "no".into() }
    }

    #[tokio::test(start_paused = true)]
    async fn tries_are_1_2_4_8_16_then_30_seconds_apart() {
        let (_stopper, stopping) = Stopping::new();
        let reach = Reach::new("http://a", stopping, [7; 32]);
        let mut at = Vec::new();
        let answer = reach.call(|_| {
            at.push(Instant::now());
            let answer = if at.len() < 9 { Err(nobody()) } else { Ok(at.len()) };
            async move { answer }
        });
        assert_eq!(answer.await, Ok(9));
        let apart: Vec<f64> = at.windows(2).map(|two| (two[1] - two[0]).as_secs_f64()).collect();
        for (apart, nominal) in apart.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]) {
            assert!((apart / nominal - 1.0).abs() <= 0.2, "{apart} is not about {nominal}");
        }
        assert!(apart.iter().any(|apart| apart.fract() > 0.01), "they are spread");
    }

    #[tokio::test(start_paused = true)]
    async fn one_caller_tries_for_all() {
        let (_stopper, stopping) = Stopping::new();
        let reach = Arc::new(Reach::new("http://a", stopping, [1; 32]));
        let (up, tries) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let (reach, up, tries) = (Arc::clone(&reach), Arc::clone(&up), Arc::clone(&tries));
            callers.spawn(async move {
                reach
                    .call(|_| {
                        tries.fetch_add(1, Ordering::SeqCst);
                        let answer = if up.load(Ordering::SeqCst) == 1 { Ok(()) } else { Err(nobody()) };
                        async move { answer }
                    })
                    .await
            });
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
        // The first one failed at once and closed the way for the rest; then after 1, 2 and 4 seconds.
        assert_eq!(tries.load(Ordering::SeqCst), 4);
        up.store(1, Ordering::SeqCst);
        while let Some(done) = callers.join_next().await {
            assert_eq!(done.unwrap(), Ok(()));
        }
        assert_eq!(tries.load(Ordering::SeqCst), 4 + 100);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_does_not_wait_for_the_control_plane() {
        let (stopper, stopping) = Stopping::new();
        let reach = Reach::new("http://a", stopping, [1; 32]);
        let tries = AtomicUsize::new(0);
        let call = || {
            reach.call(|_| {
                tries.fetch_add(1, Ordering::SeqCst);
                async { Err::<(), _>(nobody()) }
            })
        };
        let stop = async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            stopper.signal();
        };
        let (answer, ()) = tokio::join!(call(), stop);
        assert_eq!(answer, Err(Unanswered::GaveUp));
        assert_eq!(tries.load(Ordering::SeqCst), 6, "at 0, 1, 3, 7, 15 seconds and once more at the stop");
        assert_eq!(call().await, Err(Unanswered::GaveUp));
        assert_eq!(tries.load(Ordering::SeqCst), 6, "that try counts for everybody");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(call().await, Err(Unanswered::GaveUp));
        assert_eq!(tries.load(Ordering::SeqCst), 7, "later each has one try");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_an_outage_and_what_is_a_no() {
        let check = |status: u16, outage: bool| assert_eq!(is_outage(&refused(status)), outage, "{status}");
        for status in [401, 403, 408, 429, 502, 503, 504] {
            check(status, true);
        }
        for status in [400, 404, 409, 413, 422, 500] {
            check(status, false);
        }
        let (_stopper, stopping) = Stopping::new();
        let reach = Reach::new("http://a", stopping, [1; 32]);
        let answer = reach.call(|_| async { Err::<(), _>(refused(409)) }).await;
        assert_eq!(answer, Err(Unanswered::No(refused(409))));
    }
}
