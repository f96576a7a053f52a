//! What the claims of one transaction may take: looked up once for all that ask alike.
//!
//! What was found queued stays so until it is given; where a claim frees a task, all is looked up again.

use std::collections::{HashSet, VecDeque};

use super::Claim;
use crate::failure::Failure;
use crate::traits::{QueuedFilter, Writer};

/// The most tasks that are looked up at once.
const ASKED_MAX: u32 = 4096;

/// Queued tasks, by what a claim may take.
#[derive(Default)]
pub(super) struct Offers {
    offers: Vec<Offer>,
    /// Tasks that were tried already, granted or not.
    tried: HashSet<u64>,
}

struct Offer {
    filter: QueuedFilter,
    /// How many tasks the claims ask for that ask so.
    asked: u32,
    tasks: VecDeque<u64>,
    /// Whether there is nothing beyond `tasks`.
    all: bool,
}

impl Offers {
    /// For these claims.
    pub(super) fn to<'a>(claims: impl Iterator<Item = &'a Claim>) -> Self {
        let mut offers = Self::default();
        for claim in claims {
            let offer = offers.of(&claim.filter);
            offer.asked = offer.asked.saturating_add(claim.max).min(ASKED_MAX);
        }
        offers
    }

    /// Something was queued: what was found is looked up again.
    pub(super) fn forget(&mut self) {
        for offer in &mut self.offers {
            offer.tasks.clear();
            offer.all = false;
        }
    }

    /// The tasks that a claim may take now, lowest id first, and those that were found with them just now.
    pub(super) fn take(
        &mut self,
        claim: &Claim,
        writer: &mut dyn Writer,
    ) -> Result<(Vec<u64>, Vec<u64>), Failure> {
        let tried = std::mem::take(&mut self.tried);
        let offer = self.of(&claim.filter);
        offer.tasks.retain(|task| !tried.contains(task));
        let mut found = Vec::new();
        if offer.tasks.len() < claim.max as usize && !offer.all {
            let asked = claim.max.max(offer.asked);
            found = writer.queued_tasks(&claim.filter, asked)?;
            offer.all = found.len() < asked as usize;
            offer.tasks = found.iter().copied().filter(|task| !tried.contains(task)).collect();
        }
        let tasks = offer.tasks.iter().copied().take(claim.max as usize).collect();
        self.tried = tried;
        Ok((tasks, found))
    }

    /// A task is not offered again in this transaction.
    pub(super) fn tried(&mut self, task: u64) {
        self.tried.insert(task);
    }

    fn of(&mut self, filter: &QueuedFilter) -> &mut Offer {
        let place = self.offers.iter().position(|offer| offer.filter == *filter).unwrap_or(self.offers.len());
        if place == self.offers.len() {
            let (filter, tasks) = (filter.clone(), VecDeque::new());
            self.offers.push(Offer { filter, asked: 0, tasks, all: false });
        }
        &mut self.offers[place]
    }
}
