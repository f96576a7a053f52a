//! The loops: what the clock does to tokens.
//!
//! | loop | finds | does |
//! |---|---|---|
//! | [`lease_reaper`] | leases that are over | the attempt failed; its supervisor stopped answering |
//! | [`timer_firer`] | timers that are due | the timer's event is fired |
//! | [`fan_out_runner`] | fan-outs with something to do | children are started or steered, a batch at a time, and joined |
//!
//! A loop keeps no list of its own: it finds its work in the database, inside the transaction that does it, in batches
//! with a bound. So a restart, a lost nudge and a database restored from a backup are the same case. The driver runs a
//! loop about every second, at the very moment when the next lease ends or timer is due, and whenever it is nudged; a full
//! batch is followed by the next one at once. When the database is busy, the next tick tries again.

mod fan_out_runner;
mod lease_reaper;
mod timer_firer;

use std::sync::Arc;
use std::time::Duration;

use stateous_store::{Clock, Committer, Failure, FailureKind, Reader};
use tokio::sync::{Notify, watch};

use crate::connections::reaches;
use crate::control_plane::Stage;

use fan_out_runner::FanOutRunner;
use lease_reaper::LeaseReaper;
use timer_firer::TimerFirer;

/// How long a loop sleeps at most.
const TICK: Duration = Duration::from_secs(1);
/// The most pieces of work of one transaction: bounds how long a request waits behind a loop.
const BATCH: u32 = 256;

/// What the loops share.
pub(crate) struct Looping {
    pub(crate) committer: Committer,
    pub(crate) reader: Arc<dyn Reader>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) lease_ms: i64,
    pub(crate) nudge: Arc<Notify>,
    pub(crate) stage: watch::Receiver<Stage>,
}

/// This control plane does not serve its database any more.
#[derive(Debug)]
pub(crate) struct Lost;

/// What a run found.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// All that was due is done.
    Done,
    /// The batch was full: more may be due.
    More,
}

impl Outcome {
    const fn of(found: u32) -> Self {
        if found >= BATCH { Self::More } else { Self::Done }
    }
}

/// One loop.
trait Step {
    /// Does what is due, at most one batch of it.
    async fn run_once(&mut self, committer: &Committer) -> Result<Outcome, Failure>;

    /// Ends when there may be something to do before the clock says so; by itself, never.
    async fn woken(&self, _committer: &Committer) {
        std::future::pending::<()>().await;
    }
}

/// Runs every loop until the control plane stops.
pub(crate) async fn run(looping: Looping) -> Result<(), Lost> {
    tokio::try_join!(
        drive(&looping, LeaseReaper::new(looping.lease_ms)),
        drive(&looping, TimerFirer),
        drive(&looping, FanOutRunner),
    )
    .map(drop)
}

async fn drive(looping: &Looping, mut step: impl Step) -> Result<(), Lost> {
    let mut stage = looping.stage.clone();
    loop {
        match step.run_once(&looping.committer).await {
            Ok(Outcome::More) if *stage.borrow() == Stage::Serving => continue,
            Ok(_) => {}
            Err(_) if *stage.borrow() > Stage::Serving => {}
            Err(failure) if failure.kind == FailureKind::NotServing => return Err(Lost),
            // The committer logged it; it is tried again after the nap.
            Err(_) => {}
        }
        let nap = nap(looping).await;
        tokio::select! {
            () = tokio::time::sleep(nap) => {}
            () = looping.nudge.notified() => {}
            () = step.woken(&looping.committer) => {}
            () = reaches(&mut stage, Stage::Stopping) => return Ok(()),
        }
    }
}

/// Until something is due, and at most one tick. What is due already was just looked at, and waits for the next tick.
async fn nap(looping: &Looping) -> Duration {
    let reader = Arc::clone(&looping.reader);
    let due = tokio::task::spawn_blocking(move || reader.next_due()).await;
    let Ok(Ok(Some(due))) = due else { return TICK };
    // A lease is over one millisecond after its end.
    match u64::try_from(due.plus_ms(1).ms_since(looping.clock.now())) {
        Ok(ms) if ms > 0 => TICK.min(Duration::from_millis(ms)),
        _ => TICK,
    }
}
