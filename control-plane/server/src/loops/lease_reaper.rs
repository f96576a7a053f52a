//! Ends leases that are over: the attempt failed, for its supervisor stopped answering.
//!
//! While this process stood still (a stopped process, a database that blocked), no heartbeat could be accepted, so the
//! leases of that time prove nothing. The reaper notices that it was late, and then waits as long as it was late, at most
//! one lease, before it ends any: supervisors that are alive have renewed theirs by then. Time in which no control plane
//! ran at all is given back at the start (`startup`).

use std::time::{Duration, Instant};

use stateous_store::{Committer, Failure, Upkeep};
use tracing::warn;

use super::{BATCH, Outcome, Step, TICK};

/// A run that is this much later than a tick means that the process stood still.
const LATE: Duration = Duration::from_secs(2);

/// The loop.
pub(super) struct LeaseReaper {
    lease: Duration,
    /// The last note of the time.
    last: Option<Instant>,
    /// No lease is ended before.
    not_before: Option<Instant>,
}

impl LeaseReaper {
    pub(super) fn new(lease_ms: i64) -> Self {
        let lease = Duration::from_millis(u64::try_from(lease_ms).unwrap_or(0));
        Self { lease, last: None, not_before: None }
    }

    /// Takes note of the time, and whether it stood still for us since the last note.
    fn notice(&mut self, now: Instant) {
        let slept = self.last.map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        self.last = Some(now);
        if slept <= TICK + LATE {
            return;
        }
        let gap = slept - TICK;
        warn!(
            gap.ms = u64::try_from(gap.as_millis()).unwrap_or(u64::MAX),
            "This process stood still for {:.1} s; no lease ends until supervisors could renew theirs",
            gap.as_secs_f64()
        );
        let until = now + gap.min(self.lease);
        self.not_before = Some(self.not_before.map_or(until, |at| at.max(until)));
    }

    /// Whether leases may be ended at `now`.
    fn may_reap(&self, now: Instant) -> bool {
        self.not_before.is_none_or(|at| at <= now)
    }
}

impl Step for LeaseReaper {
    async fn run_once(&mut self, committer: &Committer) -> Result<Outcome, Failure> {
        let now = Instant::now();
        self.notice(now);
        if !self.may_reap(now) {
            return Ok(Outcome::Done);
        }
        let found = committer.upkeep(Upkeep::ExpireLeases, BATCH).await;
        // A run that waited for a blocked database counts as time in which nobody could renew.
        self.notice(Instant::now());
        found.map(Outcome::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_standstill_leases_get_their_time_back() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut reaper = LeaseReaper::new(120_000);
        let mut check = |ms: u64, may: bool| {
            reaper.notice(at(ms));
            assert_eq!(reaper.may_reap(at(ms)), may, "at {ms} ms");
        };
        check(0, true);
        check(1_000, true);
        check(3_900, true);
        // Forty seconds later: thirty-nine of them were lost.
        check(43_900, false);
        check(44_900, false);
        for second in 45..=82 {
            check(second * 1_000, false);
        }
        check(82_900, true);
    }

    #[test]
    fn a_long_standstill_costs_no_more_than_a_lease() {
        let start = Instant::now();
        let mut reaper = LeaseReaper::new(5_000);
        reaper.notice(start);
        let later = start + Duration::from_secs(3600);
        for second in 0..5 {
            let now = later + Duration::from_secs(second);
            reaper.notice(now);
            assert!(!reaper.may_reap(now), "after {second} s");
        }
        assert!(reaper.may_reap(later + Duration::from_secs(5)));
    }
}
