//! Fires timers that are due: timeouts of states, and timers that routines asked for.

use stateous_store::{Committer, Failure, Upkeep};

use super::{BATCH, Outcome, Step};

/// The loop.
pub(super) struct TimerFirer;

impl Step for TimerFirer {
    async fn run_once(&mut self, committer: &Committer) -> Result<Outcome, Failure> {
        committer.upkeep(Upkeep::FireTimers, BATCH).await.map(Outcome::of)
    }
}
