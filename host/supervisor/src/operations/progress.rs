//! Whether the supervisor gets on: judged by what is answered, not by what is sent. One whose heartbeats go out and whose
//! claims get no answer is deaf, and says so.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A claim waits on the server for 20 seconds; one that has no answer after this long has none coming.
const DEAF_AFTER: Duration = Duration::from_secs(60);

/// How the supervisor gets on.
pub(crate) struct Progress(Mutex<State>);

struct State {
    /// Since when an answer is owed: from the start until the control plane is reached, then while a claim is asked.
    owed_since: Option<Instant>,
    /// When the control plane last answered a claim.
    answered_at: Option<Instant>,
    stopping: bool,
}

/// What `/healthz` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) healthy: bool,
    /// One line.
    pub(crate) why: String,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State { owed_since: Some(Instant::now()), answered_at: None, stopping: false }))
    }

    /// A claim goes out; those that are repeated until there is an answer are one.
    pub(crate) fn asks(&self) {
        self.state().owed_since.get_or_insert_with(Instant::now);
    }

    /// The control plane answered a claim, with tasks or without.
    pub(crate) fn answered(&self) {
        let mut state = self.state();
        (state.owed_since, state.answered_at) = (None, Some(Instant::now()));
    }

    /// No claim is out: every slot is taken.
    pub(crate) fn busy(&self) {
        self.state().owed_since = None;
    }

    /// A stop was asked for: nothing is claimed any more.
    pub(crate) fn stops(&self) {
        self.state().stopping = true;
    }

    /// How long ago the control plane last answered a claim.
    pub(crate) fn since_answer(&self) -> Option<Duration> {
        self.state().answered_at.map(|at| at.elapsed())
    }

    pub(crate) fn health(&self) -> Health {
        let state = self.state();
        let seconds = |since: Instant| since.elapsed().as_secs();
        let (healthy, why) = match (state.stopping, state.owed_since, state.answered_at) {
            (true, ..) => (true, "stopping".to_owned()),
            (_, Some(since), _) if since.elapsed() > DEAF_AFTER => {
                (false, format!("no claim was answered for {} s", seconds(since)))
            }
            (_, _, Some(at)) => (true, format!("a claim was answered {} s ago", seconds(at))),
            (_, _, None) => (true, "starting".to_owned()),
        };
        Health { healthy, why }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn answers_keep_it_healthy_and_silence_does_not() {
        let progress = Progress::new();
        let check = |healthy: bool, why: &str| {
            assert_eq!(progress.health(), Health { healthy, why: why.to_owned() });
        };
        let pass = |seconds| tokio::time::advance(Duration::from_secs(seconds));
        check(true, "starting");
        pass(61).await;
        check(false, "no claim was answered for 61 s");
        progress.answered();
        pass(3600).await;
        check(true, "a claim was answered 3600 s ago");
        progress.asks();
        pass(30).await;
        progress.asks();
        pass(31).await;
        check(false, "no claim was answered for 61 s");
        progress.busy();
        check(true, "a claim was answered 3661 s ago");
        progress.asks();
        pass(61).await;
        progress.stops();
        check(true, "stopping");
    }
}
