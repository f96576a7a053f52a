//! Claims tasks: one request at a time, for all free slots, which waits on the server for work.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use stateous_api::{ClaimAnswer, ClaimRequest, ClientError, Grant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;
use tracing::warn;

use crate::reach::{Try, Unanswered};
use crate::stop::{Stop, Stopping};
use crate::supervisor::{Supervisor, sentence};

/// How long a claim waits on the server when there is no work.
const WAIT: Duration = Duration::from_secs(20);
/// A server that does not wait is not asked more often.
const EMPTY_EVERY: Duration = Duration::from_secs(1);
/// After a stop was asked for: a claim that is being answered right now is let finish.
const LAST_MOMENT: Duration = Duration::from_millis(250);
/// How long the question about a cancelled claim may take.
const SETTLE_WITHIN: Duration = Duration::from_secs(5);

/// A task of this supervisor, with the slot that it runs in.
pub(crate) struct Claimed {
    pub(crate) grant: Grant,
    /// From when the times in the grant count.
    pub(crate) granted_at: Instant,
    pub(crate) slot: Option<OwnedSemaphorePermit>,
}

/// The claim loop of one supervisor.
pub(crate) struct Claims {
    pub(crate) supervisor: Arc<Supervisor>,
    pub(crate) stopping: Stopping,
    pub(crate) slots: Arc<Semaphore>,
    /// Only these states.
    pub(crate) states: Option<Vec<String>>,
    pub(crate) out: mpsc::UnboundedSender<Claimed>,
    pub(crate) seed: [u8; 32],
}

/// An answer, with the moment before the request was sent.
type Answered = (ClaimAnswer, Instant);

impl Claims {
    /// Claims until a stop is asked for. A claim that is answered after that is not lost: its tasks run.
    pub(crate) async fn claim_until_stopped(self) {
        let mut random = StdRng::from_seed(self.seed);
        let mut id = fresh(&mut random);
        let mut refusals = 0;
        while let Some(mut slots) = self.free_slots().await {
            let claim = self.request(id.clone(), slots.num_permits());
            let asked = Instant::now();
            self.supervisor.progress.asks();
            let pause = match self.ask(&claim).await {
                Ok((answer, sent)) => {
                    self.supervisor.progress.answered();
                    refusals = 0;
                    if answer.grants.is_empty() {
                        // The same id again: should tasks have been taken for a claim that was let go, they come now.
                        EMPTY_EVERY.saturating_sub(asked.elapsed())
                    } else {
                        self.hand_out(answer, sent, &mut slots);
                        id = fresh(&mut random);
                        Duration::ZERO
                    }
                }
                Err(Unanswered::No(error)) => {
                    warn!("the control plane refused a claim: {}", sentence(&error));
                    self.supervisor.metrics.claims_refused.inc();
                    refusals += 1;
                    id = fresh(&mut random);
                    Duration::from_secs(1 << (refusals - 1).min(5)).min(Duration::from_secs(30))
                }
                Err(Unanswered::GaveUp) => return,
            };
            // The slots are free while nothing is asked.
            drop(slots);
            if !pause.is_zero() {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = self.stopping.reached(Stop::Graceful) => {}
                }
            }
        }
    }

    /// All slots that are free, once there is one. `None`: a stop was asked for.
    async fn free_slots(&self) -> Option<OwnedSemaphorePermit> {
        let mut slots = tokio::select! {
            biased;
            () = self.stopping.reached(Stop::Graceful) => return None,
            slot = self.a_slot() => slot?,
        };
        while let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            slots.merge(slot);
        }
        Some(slots)
    }

    /// The next slot that is free. While there is none, nothing is asked and no answer is owed.
    async fn a_slot(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            return Some(slot);
        }
        self.supervisor.progress.busy();
        Arc::clone(&self.slots).acquire_owned().await.ok()
    }

    fn request(&self, id: String, max: usize) -> ClaimRequest {
        ClaimRequest {
            supervisor: self.supervisor.name.clone(),
            states: self.states.clone(),
            request: Some(id),
            max: Some(u32::try_from(max).unwrap_or(u32::MAX)),
            wait_ms: Some(u64::try_from(WAIT.as_millis()).unwrap_or(u64::MAX)),
            incarnation: Some(self.supervisor.incarnation.clone()),
            routines: true,
        }
    }

    /// Asks until there is an answer, with the same id each time: tasks of an answer that was lost come again.
    async fn ask(&self, claim: &ClaimRequest) -> Result<Answered, Unanswered> {
        let Supervisor { client, reach, .. } = &*self.supervisor;
        let answer = reach.call(|kind| {
            let claim = match kind {
                Try::Ordinary => claim.clone(),
                Try::Probe => ClaimRequest { wait_ms: None, ..claim.clone() },
            };
            async move {
                let sent = Instant::now();
                Ok((client.claim(&claim).await?, sent))
            }
        });
        // The request is gone when this is over: the control plane must not find work for it later.
        tokio::select! {
            biased;
            answer = answer => return answer,
            () = self.last_moment() => {}
        }
        self.ask_what_came(claim).await
    }

    /// Returns once a stop was asked for, and a claim that was being answered just then has had its time.
    async fn last_moment(&self) {
        self.stopping.reached(Stop::Graceful).await;
        tokio::time::sleep(LAST_MOMENT).await;
    }

    /// The claim was cancelled while it waited. Asked again for no state at all, the same id brings only what it was
    /// granted already.
    async fn ask_what_came(&self, claim: &ClaimRequest) -> Result<Answered, Unanswered> {
        let claim = ClaimRequest { states: Some(Vec::new()), wait_ms: None, ..claim.clone() };
        let sent = Instant::now();
        match tokio::time::timeout(SETTLE_WITHIN, self.supervisor.client.claim(&claim)).await {
            Ok(Ok(answer)) => Ok((answer, sent)),
            Ok(Err(ClientError::Unreachable { .. })) | Err(_) => Err(Unanswered::GaveUp),
            Ok(Err(error)) => Err(Unanswered::No(error)),
        }
    }

    fn hand_out(&self, answer: ClaimAnswer, sent: Instant, slots: &mut OwnedSemaphorePermit) {
        // Never later than now, whatever a server says that it waited.
        let granted_at = sent
            .checked_add(Duration::from_millis(answer.waited_ms))
            .map_or_else(Instant::now, |at| at.min(Instant::now()));
        self.supervisor.metrics.claimed.inc_by(answer.grants.len() as u64);
        for grant in answer.grants {
            // The receiver outlives this loop.
            let _ = self.out.send(Claimed { grant, granted_at, slot: slots.split(1) });
        }
    }
}

/// The id of a new request.
fn fresh(random: &mut StdRng) -> String {
    let mut id = [0; 16];
    random.fill_bytes(&mut id);
    hex::encode(id)
}
