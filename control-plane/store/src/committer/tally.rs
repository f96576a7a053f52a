//! What the committer did since it started, for whoever watches the control plane. Read at any time, without stopping it.

use std::sync::atomic::{AtomicU64, Ordering};

use stateous_engine::model::Kind;

/// Counts that only grow.
#[derive(Debug, Default)]
pub struct Tally {
    commits: AtomicU64,
    jobs: AtomicU64,
    failures: AtomicU64,
    entries: [AtomicU64; Kind::ALL.len()],
}

impl Tally {
    /// Transactions that were committed.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Inputs, claims, heartbeats and the like that these transactions answered: many share one.
    pub fn jobs(&self) -> u64 {
        self.jobs.load(Ordering::Relaxed)
    }

    /// Transactions that the database did not take.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Ledger entries that were written, by kind.
    pub fn entries(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        Kind::ALL.into_iter().zip(&self.entries).map(|(kind, count)| (kind, count.load(Ordering::Relaxed)))
    }

    pub(super) fn committed(&self, jobs: usize, entries: &[Kind]) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.jobs.fetch_add(jobs as u64, Ordering::Relaxed);
        for entry in entries {
            if let Some(place) = Kind::ALL.iter().position(|kind| kind == entry) {
                self.entries[place].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }
}
