//! One attempt, from its grant to its answered report.
//!
//! ```text
//! started ──run──▶ component ready ──▶ routine runs, writes go out ──▶ report written ──▶ answered
//!    │skip, no answer                     │lost, refused write
//!    ▼                                    ▼
//! nothing runs                         routine stopped
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use stateous_api::{ClientError, Disposition, Grant, Raw, ReturnRequest, RoutineLimits, StartedRequest};
use stateous_runtime::{Ended, Event, Limits, LocalComponent, Outcome, PrepareError, Task, read_local};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::bodies::Reporter;
use crate::lease::{HeldLease, Lease, Loss};
use crate::outbox::Kind;
use crate::ports::OutboxPorts;
use crate::reach::Unanswered;
use crate::routines::Routines;
use crate::sender::{Delivery, unwritten};
use crate::supervisor::{AttemptId, Supervisor, sentence};
use crate::web::of_state;

/// A routine without a wall limit of its own outlives its state's timeout by so much: the control plane's timer decides,
/// and this supervisor hears of it at its next heartbeat.
const AFTER_TIMEOUT: Duration = Duration::from_secs(35);

/// A task that was granted to this supervisor.
pub(crate) struct Attempt {
    pub(crate) supervisor: Arc<Supervisor>,
    pub(crate) grant: Grant,
    pub(crate) held: HeldLease,
    /// From when the times in the grant count.
    pub(crate) granted_at: Instant,
}

/// Why the routine runs no longer.
enum Stopped {
    Ended(Ended),
    Lost(Loss),
    /// A message of the running routine did not count.
    Uncounted(Delivery),
}

impl Attempt {
    /// Does all of it. Returns when nothing of this attempt is left to do here.
    pub(crate) async fn run<R: Routines>(mut self, routines: &R) {
        let id =
            AttemptId { task: self.grant.task, attempt: self.grant.attempt, token: self.grant.token.clone() };
        let (task, token, state, attempt) = (id.task, &id.token, &self.grant.state, id.attempt);
        info!(task.id = task, token.id = %token, attempt, "task {task}: {state} of {token}, attempt {attempt}");

        let reporter = Reporter { supervisor: self.supervisor.name.clone(), attempt };
        if let Some(why) = self.not_to_begin() {
            return self.give_back(&id, why).await;
        }
        let ready = tokio::select! {
            loss = self.held.lease.lost() => return log_lost(&id, loss, &self.held.lease),
            ready = self.make_ready(&id, &reporter, routines) => ready,
        };
        match ready {
            Some(Ok(ready)) => self.run_ready(&id, &reporter, routines, &ready).await,
            Some(Err(report)) => self.report(&id, report).await,
            None => {}
        }
    }

    /// Asks whether to run, and makes the component ready. `None`: nothing runs, and nothing is reported. An error is
    /// the body of the report to send.
    async fn make_ready<R: Routines>(
        &self,
        id: &AttemptId,
        reporter: &Reporter,
        routines: &R,
    ) -> Option<Result<R::Ready, String>> {
        let (task, token) = (id.task, &id.token);
        let supervisor = &self.supervisor;
        let incarnation = Some(supervisor.incarnation.clone());
        let body = StartedRequest { supervisor: supervisor.name.clone(), attempt: id.attempt, incarnation };
        match supervisor.reach.call(|_| supervisor.client.started(task, &body)).await {
            Ok(Disposition::Run) => {}
            Ok(Disposition::Skip { reason }) => {
                info!(task.id = task, token.id = %token, "task {task} of {token}: its routine does not run: {reason}");
                return None;
            }
            Err(Unanswered::No(error)) => {
                let why = sentence(&error);
                warn!(task.id = task, token.id = %token, "task {task} of {token}: the control plane refused its start: {why}");
                return None;
            }
            Err(Unanswered::GaveUp) => {
                warn!(
                    task.id = task,
                    token.id = %token,
                    "task {task} of {token}: the control plane cannot be reached; its routine does not run"
                );
                return None;
            }
        }
        let Some(pinned) = &self.grant.routine else {
            let state = &self.grant.state;
            return Some(
                Err(reporter.failed(&format!("this supervisor has no routine for '{state}'"), true)),
            );
        };
        if let Some(path) = self.local() {
            return Some(self.make_local_ready(id, reporter, routines, path).await);
        }
        let fetch = async {
            match supervisor.reach.call(|_| supervisor.client.component(&pinned.digest)).await {
                Ok(bytes) => Ok(Vec::from(bytes)),
                Err(Unanswered::No(error)) => Err(error),
                Err(Unanswered::GaveUp) => Err(ClientError::Unreachable {
                    url: supervisor.reach.url().to_owned(),
                    why: "this supervisor is stopping".into(),
                }),
            }
        };
        match routines.prepare(&pinned.digest, fetch).await {
            Ok(ready) => {
                // Compiling may have taken longer than the lease has left.
                self.held.lease.fresh().await;
                Some(Ok(ready))
            }
            Err(error) => Some(Err(reporter.unprepared(&error))),
        }
    }

    /// Why this attempt is not to begin here, if it is not.
    fn not_to_begin(&self) -> Option<&'static str> {
        if self.supervisor.reach.is_stopping() {
            return Some("this supervisor is stopping");
        }
        (!self.held.lease.is_fresh()).then_some("less than a quarter of its lease is left")
    }

    /// Gives the task back, so that another supervisor gets it at once and no failure is counted. When that cannot be said,
    /// the lease says it later.
    async fn give_back(&self, id: &AttemptId, why: &str) {
        let (task, token, supervisor) = (id.task, &id.token, &self.supervisor);
        // No heartbeat is to bring it back.
        self.held.lease.taken_back();
        let body = ReturnRequest {
            supervisor: supervisor.name.clone(),
            attempt: id.attempt,
            incarnation: Some(supervisor.incarnation.clone()),
        };
        match supervisor.reach.call(|_| supervisor.client.give_back(task, &body)).await {
            Ok(()) => {
                supervisor.metrics.returned.inc();
                info!(task.id = task, token.id = %token, "task {task} of {token}: given back: {why}");
            }
            Err(Unanswered::No(error)) => {
                let sentence = sentence(&error);
                warn!(task.id = task, token.id = %token, "task {task} of {token}: not given back: {sentence}");
            }
            Err(Unanswered::GaveUp) => {
                warn!(task.id = task, token.id = %token, "task {task} of {token}: left to its lease: {why}");
            }
        }
    }

    /// The component of this machine that runs in place of the uploaded one, if the settings name one.
    fn local(&self) -> Option<&Path> {
        let state = format!("{}/{}", self.grant.workflow, self.grant.state_name());
        self.supervisor.local.get(&state).map(PathBuf::as_path)
    }

    async fn make_local_ready<R: Routines>(
        &self,
        id: &AttemptId,
        reporter: &Reporter,
        routines: &R,
        path: &Path,
    ) -> Result<R::Ready, String> {
        let (task, token, file) = (id.task, &id.token, path.to_owned());
        let read = tokio::task::spawn_blocking(move || read_local(&file)).await;
        let ready = match read {
            Ok(Ok(LocalComponent { digest, bytes })) => {
                info!(task.id = task, token.id = %token, digest, "task {task} of {token}: runs {}", path.display());
                routines.prepare(&digest, async { Ok(bytes) }).await
            }
            Ok(Err(error)) => Err(error),
            Err(panic) => Err(PrepareError::Local { path: path.to_owned(), why: panic.to_string() }),
        };
        self.held.lease.fresh().await;
        ready.map_err(|error| reporter.unprepared(&error))
    }

    /// Runs the routine while what it writes is sent, and sees its report through.
    async fn run_ready<R: Routines>(
        &mut self,
        id: &AttemptId,
        reporter: &Reporter,
        routines: &R,
        ready: &R::Ready,
    ) {
        let task = self.task();
        let supervisor = &self.supervisor;
        let (written, to_send) = mpsc::unbounded_channel();
        // A set, so that the sender ends with this attempt.
        let mut sender = JoinSet::new();
        sender.spawn(Arc::clone(supervisor).send_in_order(to_send));
        let pinned = self.grant.routine.as_ref().map(|routine| routine.limits.clone()).unwrap_or_default();
        let limits = limits(&pinned, self.deadline_left());
        let ports = OutboxPorts {
            supervisor: Arc::clone(supervisor),
            id: id.clone(),
            written: written.clone(),
            asks: pinned.http,
            secrets: of_state(&supervisor.secrets, &self.grant.workflow, self.grant.state_name()),
        };
        // Whichever comes first; the routine's future is dropped with the others, which stops it.
        let stopped = tokio::select! {
            biased;
            loss = self.held.lease.lost() => Stopped::Lost(loss),
            Some(delivery) = sender.join_next() => Stopped::Uncounted(joined(delivery)),
            ended = routines.run(ready, task, limits, ports) => Stopped::Ended(ended),
        };
        self.held.lease.only_sending();
        match &stopped {
            Stopped::Ended(ended) => supervisor.metrics.ended(outcome(ended), ended.stats.wall),
            Stopped::Lost(Loss::TakenBack) => supervisor.metrics.lost("taken_back"),
            Stopped::Lost(Loss::Over) => supervisor.metrics.lost("over"),
            Stopped::Uncounted(_) => {}
        }
        let report = match stopped {
            Stopped::Ended(ended) => reporter.ended(ended),
            Stopped::Lost(Loss::TakenBack) => {
                log_lost(id, Loss::TakenBack, &self.held.lease);
                drop(sender);
                return supervisor.settle(id, Delivery::Over).await;
            }
            Stopped::Lost(Loss::Over) => {
                log_lost(id, Loss::Over, &self.held.lease);
                reporter.failed(&lease_lost(&self.held.lease), true)
            }
            Stopped::Uncounted(delivery) => return supervisor.settle(id, delivery).await,
        };
        let new = id.message(Kind::Report, report, supervisor.clock.now_ms());
        let message = match supervisor.outbox.put(new.clone()).await {
            Ok(message) => message,
            Err(error) => unwritten(new, &error),
        };
        // The sender may have ended just now, with a refusal that it tells below.
        let _ = written.send(message);
        if let Some(delivery) = sender.join_next().await {
            supervisor.settle(id, joined(delivery)).await;
        }
    }

    /// Sends a report of an attempt that has written nothing else.
    async fn report(&self, id: &AttemptId, body: String) {
        self.held.lease.only_sending();
        let supervisor = &self.supervisor;
        let new = id.message(Kind::Report, body, supervisor.clock.now_ms());
        let message = match supervisor.outbox.put(new.clone()).await {
            Ok(message) => message,
            Err(error) => unwritten(new, &error),
        };
        let delivery = supervisor.deliver(&message).await;
        supervisor.settle(id, delivery).await;
    }

    /// What is left of the state's timeout, if it has one.
    fn deadline_left(&self) -> Option<Duration> {
        self.grant.deadline_ms.map(|ms| Duration::from_millis(ms).saturating_sub(self.granted_at.elapsed()))
    }

    /// The task as the routine sees it. Its context and memory are moved there: they can be large.
    fn task(&mut self) -> Task {
        let grant = &mut self.grant;
        let text = |raw: Raw| String::from(Box::<str>::from(raw));
        let memory = std::mem::take(&mut grant.memory);
        Task {
            token: grant.token.clone(),
            id: grant.task,
            workflow: grant.workflow.clone(),
            state: grant.state_name().to_owned(),
            visit: u32::try_from(grant.visit).unwrap_or(u32::MAX),
            attempt: u32::try_from(grant.attempt).unwrap_or(u32::MAX),
            entered_by: Event {
                name: grant.entered_by.name.clone(),
                payload: grant.entered_by.payload.take().map(text),
            },
            context: text(std::mem::replace(&mut grant.context, RawValue::NULL.to_owned())),
            memory: memory.into_iter().map(|(key, value)| (key, text(value))).collect(),
            now_ms: self.supervisor.clock.now_ms(),
        }
    }
}

/// The routine's limits, where it has any; the runtime caps them.
fn limits(of: &RoutineLimits, deadline_left: Option<Duration>) -> Limits {
    let usual = Limits::default();
    let wall = match (of.wall_ms, deadline_left) {
        (Some(ms), _) => Duration::from_millis(ms),
        (None, Some(left)) => left + AFTER_TIMEOUT,
        (None, None) => usual.wall,
    };
    Limits {
        fuel: of.fuel.unwrap_or(usual.fuel),
        memory_bytes: of.memory_bytes.unwrap_or(usual.memory_bytes),
        wall,
        ..usual
    }
}

/// The word for an end in the metrics.
fn outcome(ended: &Ended) -> &'static str {
    match ended.outcome {
        Outcome::Event(_) => "event",
        Outcome::Waiting => "waiting",
        Outcome::Failed { .. } => "failed",
        Outcome::Stopped { code, .. } => code.as_str(),
    }
}

fn joined(delivery: Result<Delivery, tokio::task::JoinError>) -> Delivery {
    // A sender that panicked has said so; what it did not send is sent at the next start.
    delivery.unwrap_or(Delivery::Stays)
}

fn lease_lost(lease: &Lease) -> String {
    format!("lease_lost: no heartbeat was answered for {} s", lease.length.as_secs_f64())
}

fn log_lost(id: &AttemptId, loss: Loss, lease: &Lease) {
    let (task, token) = (id.task, &id.token);
    match loss {
        Loss::TakenBack => warn!(
            task.id = task,
            token.id = %token,
            "task {task} of {token}: the control plane took it back; cancelling its routine"
        ),
        Loss::Over => warn!(
            task.id = task,
            token.id = %token,
            "task {task} of {token}: {}; cancelling its routine",
            lease_lost(lease)
        ),
    }
}
