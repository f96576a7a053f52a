//! Takes fan-outs further: starts children, carries pauses, resumes and cancels to them, and joins.
//!
//! Each run does one bounded batch for each of a few fan-outs, those that wait longest first, so that a large one holds up
//! neither its neighbours nor the requests that share the writer with it.

use stateous_store::{Committer, Failure, Upkeep};

use super::{Outcome, Step};

/// The most fan-outs of one transaction; each may start or steer a batch of children.
const FAN_OUTS: u32 = 4;

/// The loop.
pub(super) struct FanOutRunner;

impl Step for FanOutRunner {
    async fn run_once(&mut self, committer: &Committer) -> Result<Outcome, Failure> {
        let done = committer.upkeep(Upkeep::UnfoldFanOuts, FAN_OUTS).await?;
        Ok(if done > 0 { Outcome::More } else { Outcome::Done })
    }

    async fn woken(&self, committer: &Committer) {
        committer.fan_out_pending().await;
    }
}
