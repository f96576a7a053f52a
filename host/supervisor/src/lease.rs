//! The leases that this supervisor holds, by its own count.
//!
//! A lease is counted in elapsed time, from before the request that gave or renewed it was sent: this count never ends
//! later than the control plane's. Nothing here talks to the control plane; `crate::heartbeats` renews.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

/// The longest time between two heartbeats, whatever the lease.
pub(crate) const BEAT_MAX: Duration = Duration::from_secs(30);
/// The shortest, whatever a server says that a lease is.
const BEAT_MIN: Duration = Duration::from_millis(50);

/// Why an attempt is not this supervisor's any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The control plane took the task back.
    TakenBack,
    /// The supervisor's own count ended: no heartbeat was answered in time.
    Over,
}

/// One attempt's lease.
pub(crate) struct Lease {
    pub(crate) task: u64,
    pub(crate) attempt: u64,
    /// How long it lasts from each renewal.
    pub(crate) length: Duration,
    /// When this supervisor heard of it.
    heard_at: Instant,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy)]
struct State {
    renewed_at: Instant,
    /// When the last heartbeat was sent that had an answer about it.
    asked_at: Instant,
    loss: Option<Loss>,
    /// The routine has ended; only messages are on their way. Their own answers tell what becomes of them.
    sending: bool,
}

impl Lease {
    /// A lease that was granted at `granted_at`, or later; `now` this supervisor hears of it.
    pub(crate) fn new(task: u64, attempt: u64, length: Duration, granted_at: Instant, now: Instant) -> Self {
        let state = State { renewed_at: granted_at, asked_at: granted_at, loss: None, sending: false };
        Self { task, attempt, length, heard_at: now, state: watch::channel(state).0 }
    }

    /// Returns once the attempt is lost.
    pub(crate) async fn lost(&self) -> Loss {
        let mut told = self.state.subscribe();
        loop {
            if let Some(loss) = told.borrow_and_update().loss {
                return loss;
            }
            if told.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Whether a quarter of the lease or more is left.
    pub(crate) fn is_fresh(&self) -> bool {
        self.state().renewed_at.elapsed() <= self.length * 3 / 4
    }

    /// Returns once a quarter of the lease or more is left, so that what begins now is not cut off at once. Heartbeats
    /// bring that about.
    pub(crate) async fn fresh(&self) {
        let mut told = self.state.subscribe();
        loop {
            let renewed_at = told.borrow_and_update().renewed_at;
            if renewed_at.elapsed() <= self.length * 3 / 4 {
                return;
            }
            if told.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The routine has ended: from now on the answers to its messages tell whether the attempt is lost.
    pub(crate) fn only_sending(&self) {
        self.state.send_modify(|state| state.sending = true);
    }

    /// The control plane took the task back.
    pub(crate) fn taken_back(&self) {
        self.lose(Loss::TakenBack);
    }

    fn lose(&self, loss: Loss) {
        self.state.send_if_modified(|state| {
            let news = state.loss.is_none() && !state.sending;
            if news {
                state.loss = Some(loss);
            }
            news
        });
    }

    /// A heartbeat that was sent at `at` was answered.
    fn answered(&self, at: Instant, still_held: bool) {
        self.state.send_modify(|state| state.asked_at = state.asked_at.max(at));
        if !still_held {
            self.taken_back();
        } else if self.state().loss.is_none() {
            self.state.send_modify(|state| state.renewed_at = state.renewed_at.max(at));
        }
    }

    fn state(&self) -> State {
        *self.state.borrow()
    }

    /// How long after a renewal the next one is due.
    fn beat(&self) -> Duration {
        (self.length / 4).clamp(BEAT_MIN, BEAT_MAX)
    }
}

/// All leases of this supervisor.
#[derive(Default)]
pub(crate) struct Held {
    leases: Mutex<BTreeMap<(u64, u64), Arc<Lease>>>,
    /// A lease was added.
    pub(crate) added: Notify,
}

/// Takes a lease off the table when the attempt is done, however it ends.
pub(crate) struct HeldLease {
    held: Arc<Held>,
    pub(crate) lease: Arc<Lease>,
}

impl Held {
    /// Puts a lease on the table. An older attempt at the same task is lost by it. `None` when this very attempt is held
    /// already: its claim was answered twice.
    pub(crate) fn add(self: &Arc<Self>, lease: Lease) -> Option<HeldLease> {
        let lease = Arc::new(lease);
        let mut leases = self.leases();
        let key = (lease.task, lease.attempt);
        if leases.contains_key(&key) {
            return None;
        }
        for (_, older) in leases.range((lease.task, 0)..key) {
            older.taken_back();
        }
        leases.insert(key, Arc::clone(&lease));
        drop(leases);
        self.added.notify_one();
        Some(HeldLease { held: Arc::clone(self), lease })
    }

    /// The tasks to name in a heartbeat, sorted: all but those that were taken back.
    pub(crate) fn tasks(&self) -> Vec<u64> {
        let leases = self.leases();
        let mut tasks: Vec<u64> = to_name(&leases).map(|lease| lease.task).collect();
        tasks.dedup();
        tasks
    }

    /// How many attempts are held.
    pub(crate) fn len(&self) -> usize {
        self.leases().len()
    }

    /// A heartbeat that was sent at `at` and named these tasks (sorted) was answered: these are lost, the leases of the others began
    /// anew. It does not speak of a lease that this supervisor heard of later.
    pub(crate) fn answered(&self, at: Instant, named: &[u64], lost: &[u64]) {
        let known = |lease: &&Arc<Lease>| lease.heard_at <= at && named.binary_search(&lease.task).is_ok();
        for lease in self.leases().values().filter(known) {
            lease.answered(at, !lost.contains(&lease.task));
        }
    }

    /// Ends every lease whose count is over at `now`.
    pub(crate) fn end_overdue(&self, now: Instant) {
        for lease in self.leases().values() {
            if lease.state().renewed_at + lease.length <= now {
                lease.lose(Loss::Over);
            }
        }
    }

    /// When the next heartbeat is due; `None` when nobody is to be named.
    pub(crate) fn beat_due(&self) -> Option<Instant> {
        to_name(&self.leases()).map(|lease| lease.state().asked_at + lease.beat()).min()
    }

    /// The shortest time between two heartbeats that any lease asks for.
    pub(crate) fn beat_every(&self) -> Duration {
        to_name(&self.leases()).map(|lease| lease.beat()).min().unwrap_or(BEAT_MAX)
    }

    /// When the next lease ends that is not lost yet.
    pub(crate) fn next_end(&self) -> Option<Instant> {
        let leases = self.leases();
        let open = leases.values().map(|lease| (lease, lease.state()));
        open.filter(|(_, state)| state.loss.is_none() && !state.sending)
            .map(|(lease, state)| state.renewed_at + lease.length)
            .min()
    }

    fn leases(&self) -> MutexGuard<'_, BTreeMap<(u64, u64), Arc<Lease>>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn to_name(leases: &BTreeMap<(u64, u64), Arc<Lease>>) -> impl Iterator<Item = &Arc<Lease>> {
    leases.values().filter(|lease| lease.state().loss != Some(Loss::TakenBack))
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.held.leases().remove(&(self.lease.task, self.lease.attempt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(120);

    fn lease(task: u64, attempt: u64, at: Instant) -> Lease {
        Lease::new(task, attempt, LEASE, at, at)
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[tokio::test]
    async fn a_lease_ends_by_its_own_count_unless_it_is_renewed() {
        let (held, start) = (Arc::new(Held::default()), Instant::now());
        let one = held.add(lease(1, 1, start)).unwrap();
        let two = held.add(lease(2, 1, start)).unwrap();
        assert_eq!(held.beat_due(), Some(start + seconds(30)));
        held.answered(start + seconds(30), &[1, 2], &[]);
        held.answered(start + seconds(60), &[1], &[]);
        assert_eq!(held.next_end(), Some(start + seconds(150)));
        held.end_overdue(start + seconds(149));
        assert_eq!(two.lease.state().loss, None);
        held.end_overdue(start + seconds(150));
        assert_eq!(two.lease.lost().await, Loss::Over);
        assert_eq!(one.lease.state().loss, None);
        held.answered(start + seconds(151), &[1, 2], &[]);
        assert_eq!(two.lease.state().loss, Some(Loss::Over), "what is lost stays lost");
        drop(one);
        assert_eq!(held.tasks(), [2]);
    }

    #[test]
    fn lost_speaks_of_what_the_heartbeat_named() {
        let (held, start) = (Arc::new(Held::default()), Instant::now());
        let named = held.add(lease(1, 1, start)).unwrap();
        let later = held.add(lease(2, 2, start + seconds(9))).unwrap();
        let done = held.add(lease(3, 1, start)).unwrap();
        done.lease.only_sending();
        held.answered(start + seconds(5), &[1, 2, 3], &[1, 2, 3]);
        assert_eq!(named.lease.state().loss, Some(Loss::TakenBack));
        assert_eq!(later.lease.state().loss, None);
        assert_eq!(held.tasks(), [2, 3], "what was taken back is not named again");
        assert_eq!(done.lease.state().loss, None, "its report has its own answer");
    }

    #[test]
    fn a_new_attempt_ends_the_old_one_and_a_repeated_grant_is_not_run_twice() {
        let (held, start) = (Arc::new(Held::default()), Instant::now());
        let first = held.add(lease(1, 1, start)).unwrap();
        assert!(held.add(lease(1, 1, start)).is_none());
        let _second = held.add(lease(1, 2, start)).unwrap();
        assert_eq!(first.lease.state().loss, Some(Loss::TakenBack));
        assert_eq!(held.tasks(), [1]);
    }

    #[tokio::test]
    async fn nothing_begins_with_less_than_a_quarter_left() {
        let long_ago = Instant::now().checked_sub(seconds(91)).unwrap();
        let held = Arc::new(Held::default());
        let lease = held.add(lease(1, 1, long_ago)).unwrap();
        let mut fresh = Box::pin(lease.lease.fresh());
        tokio::select! {
            biased;
            () = &mut fresh => panic!("29 of 120 seconds are left"),
            () = std::future::ready(()) => {}
        }
        held.answered(Instant::now(), &[1], &[]);
        fresh.await;
    }
}
