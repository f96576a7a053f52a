//! The one place that applies changes.
//!
//! A thread of its own owns the writer. It takes whatever jobs are waiting, opens one transaction, lets the engine
//! decide each job in turn, commits once, and only then answers them all. Nobody waits for a batch to fill: the commit
//! in progress is what lets the next batch gather. A refused input spoils nothing for its neighbours, since a decision
//! is pure; when writing a batch fails for a reason that lies in one input, the batch is rolled back and its jobs run one by
//! one, so that only the guilty one gets the error.
//!
//! Claims that found nothing are parked here, and are tried again inside the transaction that queued a task.

mod batch;
mod job;
mod offers;
mod parked;
mod tally;
mod watch;

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stateous_engine::change::{Answer, Grant};
use stateous_engine::model::Incarnation;
use stateous_engine::{Input, Refusal, Rules};
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::failure::{Failure, FailureKind};
use crate::rows::{Assignment, RoutineLimits, Upload};
use crate::traits::{QueuedFilter, Writer};

use job::Job;
use parked::Parked;
use watch::Watchers;

pub use tally::Tally;
pub use watch::Watch;

/// A supervisor asks for work.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The supervisor's name.
    pub supervisor: String,
    /// What it may take.
    pub filter: QueuedFilter,
    /// The same id again gets the same grants again, while they are still held.
    pub request: Option<String>,
    /// Which start of the supervisor asks, if it says so: what earlier starts of it held is free at once. Says nothing
    /// without a request id.
    pub incarnation: Option<Incarnation>,
    /// At most so many tasks.
    pub max: u32,
    /// How long to wait for a first task when there is none.
    pub wait: Duration,
}

/// A grant with the component that is in force for its state, if one is.
#[derive(Debug, Clone, PartialEq)]
pub struct Granted {
    /// The grant.
    pub grant: Grant,
    /// The component; pinned by this grant.
    pub routine: Option<Assignment>,
}

/// Work that a loop asks for: it is found in the database, inside the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upkeep {
    /// End leases that are over.
    ExpireLeases,
    /// Fire timers that are due.
    FireTimers,
}

/// Where every change goes. Cheap to clone; the thread ends when the last clone is dropped.
#[derive(Clone)]
pub struct Committer {
    /// What is sent in one piece is taken in one piece: its jobs share a transaction.
    jobs: mpsc::Sender<Vec<Job>>,
    watchers: Arc<Watchers>,
    tally: Arc<Tally>,
}

impl Committer {
    /// Starts the writer's thread.
    #[must_use]
    pub fn start(
        writer: Box<dyn Writer>,
        rules: Arc<Rules>,
        clock: Arc<dyn Clock>,
    ) -> (Self, JoinHandle<()>) {
        let (jobs, inbox) = mpsc::channel();
        let watchers = Arc::new(Watchers::default());
        let tally = Arc::new(Tally::default());
        let mut machine =
            batch::Machine::new(writer, rules, clock, Arc::clone(&watchers), Arc::clone(&tally));
        let thread = std::thread::Builder::new()
            .name("committer".into())
            .spawn(move || machine.run(&inbox))
            .expect("a thread can be started while the process starts");
        (Self { jobs, watchers, tally }, thread)
    }

    /// What it did since it started.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Applies one input.
    ///
    /// # Errors
    /// A [`Failure`] when the database broke; the input was then not applied. The inner error is the engine's refusal.
    pub async fn submit(&self, input: Input) -> Result<Result<Answer, Refusal>, Failure> {
        self.ask(|reply| Job::Input { input, reply }).await
    }

    /// Applies many inputs in one transaction, in their order, and answers each as [`Committer::submit`] would. One that is
    /// refused, or that the database does not take, spoils none of the others.
    pub async fn submit_all(&self, inputs: Vec<Input>) -> Vec<Result<Result<Answer, Refusal>, Failure>> {
        let (mut jobs, mut answers) = (Vec::with_capacity(inputs.len()), Vec::with_capacity(inputs.len()));
        for input in inputs {
            let (reply, answer) = oneshot::channel();
            jobs.push(Job::Input { input, reply });
            answers.push(answer);
        }
        // Jobs that are not taken are dropped, and with them their ends of the answers.
        let _ = self.jobs.send(jobs);
        let mut results = Vec::with_capacity(answers.len());
        for answer in answers {
            results.push(answer.await.unwrap_or_else(|_| Err(gone())));
        }
        results
    }

    /// Tells when something is committed about a token. It is a hint to look; the database says what happened.
    #[must_use]
    pub fn watch(&self, token: &str) -> Watch {
        self.watchers.watch(token)
    }

    /// Claims tasks, and waits for one if there is none. Empty when none came in time.
    ///
    /// # Errors
    /// A [`Failure`] when the database broke.
    pub async fn claim(&self, claim: Claim) -> Result<Vec<Granted>, Failure> {
        let deadline = Instant::now() + claim.wait;
        self.ask(|reply| Job::Claim(Parked { claim, deadline, reply })).await
    }

    /// Renews the leases of the tasks that the supervisor still holds. Answers the others, sorted.
    ///
    /// # Errors
    /// A [`Failure`] when the database broke.
    pub async fn heartbeat(
        &self,
        supervisor: String,
        incarnation: Option<Incarnation>,
        tasks: Vec<u64>,
    ) -> Result<Vec<u64>, Failure> {
        self.ask(|reply| Job::Heartbeat { supervisor, incarnation, tasks, reply }).await
    }

    /// Does at most `limit` pieces of upkeep. Answers how many it found: as many as `limit` means that more may wait.
    ///
    /// # Errors
    /// A [`Failure`] when the database broke.
    pub async fn upkeep(&self, what: Upkeep, limit: u32) -> Result<u32, Failure> {
        self.ask(|reply| Job::Upkeep { what, limit, reply }).await
    }

    /// Keeps a component and puts it in force for a state.
    ///
    /// # Errors
    /// A [`Failure`] when the database broke.
    pub async fn assign(&self, push: Push) -> Result<Assignment, Failure> {
        self.ask(|reply| Job::Assign { push: Box::new(push), reply }).await
    }

    async fn ask<T>(&self, job: impl FnOnce(job::Reply<T>) -> Job) -> Result<T, Failure> {
        let (reply, answer) = oneshot::channel();
        self.jobs.send(vec![job(reply)]).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

fn gone() -> Failure {
    Failure::new(FailureKind::NotServing, "this control plane is stopping; ask again in a moment")
}

/// A component on its way into the database, checked already.
#[derive(Debug, Clone)]
pub struct Push {
    /// What it is; `uploaded_at` is set when it is written.
    pub upload: Upload,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The workflow whose state it is to serve.
    pub workflow: String,
    /// The state.
    pub state: String,
    /// A name for people.
    pub name: String,
    /// Limits of its attempts.
    pub limits: RoutineLimits,
}
