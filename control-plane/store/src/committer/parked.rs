//! Claims that wait for a task.

use std::collections::VecDeque;
use std::time::Instant;

use super::job::Reply;
use super::{Claim, Granted};

/// A claim with the moment until which it waits.
pub(super) struct Parked {
    pub(super) claim: Claim,
    pub(super) deadline: Instant,
    pub(super) reply: Reply<Vec<Granted>>,
}

impl Parked {
    /// Whether this claim may take a task of this workflow and state.
    pub(super) fn may_take(&self, workflow: &str, state: &str) -> bool {
        self.claim.filter.names(workflow, state)
    }
}

/// The claims that wait, oldest first.
#[derive(Default)]
pub(super) struct Waiting(VecDeque<Parked>);

impl Waiting {
    /// When the next claim has waited long enough.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.0.iter().map(|p| p.deadline).min()
    }

    /// Parks a claim behind those that came before.
    pub(super) fn park(&mut self, parked: Parked) {
        self.0.push_back(parked);
    }

    /// Answers claims that have waited long enough, and forgets those whose callers hung up.
    pub(super) fn settle_overdue(&mut self, now: Instant) {
        for parked in std::mem::take(&mut self.0) {
            if parked.reply.is_closed() {
                continue;
            }
            if parked.deadline <= now {
                let _ = parked.reply.send(Ok(Vec::new()));
            } else {
                self.0.push_back(parked);
            }
        }
    }

    /// Takes out the claims for which `wanted` holds, oldest first.
    pub(super) fn take(&mut self, mut wanted: impl FnMut(&Parked) -> bool) -> Vec<Parked> {
        let (taken, kept) = std::mem::take(&mut self.0).into_iter().partition(|p| wanted(p));
        self.0 = kept;
        Vec::from_iter::<VecDeque<Parked>>(taken)
    }
}
