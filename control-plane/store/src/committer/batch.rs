//! The writer's thread: gather, decide, apply, commit, answer.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use stateous_engine::change::{Answer, Change, Decision};
use stateous_engine::loaded::Wanted;
use stateous_engine::model::{Kind, TaskStatus};
use stateous_engine::{Input, Refusal, Rules, Timestamp, decide_loading, limits};
use tokio::sync::Notify;
use tracing::warn;

use super::job::Job;
use super::offers::Offers;
use super::parked::{Parked, Waiting};
use super::tally::Tally;
use super::watch::Watchers;
use super::{Claim, Granted, Push, Upkeep};
use crate::clock::Clock;
use crate::failure::{Failure, FailureKind};
use crate::outage::Outage;
use crate::rows::{Assignment, Upload};
use crate::traits::{NewAssignment, Writer};

/// With so many jobs a transaction takes no more: bounds how long an answer waits for its neighbours.
const BATCH_MAX: usize = 1024;
/// How long the thread sleeps when nothing waits and no claim is parked.
const IDLE: Duration = Duration::from_secs(3600);

/// The state of the writer's thread.
pub(super) struct Machine {
    writer: Box<dyn Writer>,
    rules: Arc<Rules>,
    clock: Arc<dyn Clock>,
    waiting: Waiting,
    watchers: Arc<Watchers>,
    outage: Outage,
    tally: Arc<Tally>,
    /// Woken when a commit left something to do for a fan-out.
    fan_outs: Arc<Notify>,
}

/// What became of a job inside a transaction that is not durable yet.
enum Settled {
    Answer(Box<dyn FnOnce() + Send>),
    /// A claim that found nothing and may wait.
    Park(Parked),
}

/// What a batch did that others wait for.
#[derive(Default)]
struct Queued {
    /// States in which it queued a task: which parked claims are worth another try.
    states: Vec<(String, String)>,
    /// Something changed that could open any state to a claim.
    any: bool,
    /// What claims may take; asked for once everything else is done.
    offers: Offers,
    /// Tokens whose ledgers it wrote to.
    told: Vec<String>,
    /// The kinds of what it wrote to ledgers.
    entries: Vec<Kind>,
    /// There is something to do for a fan-out.
    fan_outs: bool,
}

impl Machine {
    pub(super) fn new(
        writer: Box<dyn Writer>,
        rules: Arc<Rules>,
        clock: Arc<dyn Clock>,
        watchers: Arc<Watchers>,
        tally: Arc<Tally>,
        fan_outs: Arc<Notify>,
    ) -> Self {
        let (waiting, outage) = (Waiting::default(), Outage::default());
        Self { writer, rules, clock, waiting, watchers, fan_outs, outage, tally }
    }

    /// Runs until every sender is gone.
    pub(super) fn run(&mut self, inbox: &Receiver<Vec<Job>>) {
        loop {
            let now = Instant::now();
            self.waiting.settle_overdue(now);
            let nap = self.waiting.next_deadline().map_or(IDLE, |at| at.saturating_duration_since(now));
            let mut jobs = match inbox.recv_timeout(nap) {
                Ok(jobs) => jobs,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            while jobs.len() < BATCH_MAX
                && let Ok(more) = inbox.try_recv()
            {
                jobs.extend(more);
            }
            // Stable: jobs of one turn keep the order in which they came.
            jobs.sort_by_key(Job::turn);
            self.run_batch(jobs);
        }
    }

    /// One transaction for all; when that fails through one of them, one transaction each.
    fn run_batch(&mut self, jobs: Vec<Job>) {
        let Err((failure, mut jobs)) = self.run_together(jobs) else { return };
        if failure.kind != FailureKind::Statement || jobs.len() == 1 {
            self.outage.failed(&failure);
            jobs.into_iter().for_each(|job| job.fail(failure.clone()));
            return;
        }
        warn!(jobs = jobs.len(), error = %failure, "A batch of {} jobs failed; running them one by one", jobs.len());
        for job in jobs.drain(..) {
            if let Err((failure, jobs)) = self.run_together(vec![job]) {
                self.outage.failed(&failure);
                jobs.into_iter().for_each(|job| job.fail(failure.clone()));
            }
        }
    }

    /// One transaction, and one more when another program's was in the way of the first.
    fn run_together(&mut self, jobs: Vec<Job>) -> Result<(), (Failure, Vec<Job>)> {
        let done = match self.transact(jobs) {
            Err((failure, jobs)) if failure.kind == FailureKind::Collided => self.transact(jobs),
            done => done,
        };
        if done.is_ok() {
            self.outage.worked();
        }
        done
    }

    /// Runs `jobs` in one transaction and answers them once it is durable. Gives them back unanswered when it is not.
    fn transact(&mut self, mut jobs: Vec<Job>) -> Result<(), (Failure, Vec<Job>)> {
        // Claims that wait here take part in every transaction that may have queued something for them; if it fails
        // they go on waiting, so they are kept apart from the jobs that are given back.
        let mut woken = Vec::new();
        match self.attempt(&mut jobs, &mut woken) {
            Ok(settled) => {
                for one in settled {
                    match one {
                        Settled::Answer(send) => send(),
                        Settled::Park(parked) => self.waiting.park(parked),
                    }
                }
                Ok(())
            }
            Err(failure) => {
                self.tally.failed();
                self.writer.rollback();
                woken.into_iter().for_each(|parked| self.waiting.park(parked));
                Err((failure, jobs))
            }
        }
    }

    fn attempt(&mut self, jobs: &mut Vec<Job>, woken: &mut Vec<Parked>) -> Result<Vec<Settled>, Failure> {
        let now = self.clock.now();
        self.writer.begin()?;
        let mut queued = Queued::default();
        let mut results = Vec::with_capacity(jobs.len());
        self.writer.ahead(&mut jobs.iter().flat_map(Job::inputs).map(|input| Wanted::for_input(&input)));
        let claims = jobs.iter().position(|job| matches!(job, Job::Claim(_))).unwrap_or(jobs.len());
        for job in &jobs[..claims] {
            results.push(self.guarded(job, now, &mut queued)?);
        }
        // Those that wait here came before the batch's own claims, and so they go first.
        *woken = self.waiting.take(|p| queued.any || queued.states.iter().any(|(w, s)| p.may_take(w, s)));
        let own = jobs[claims..].iter().filter_map(Job::claim);
        queued.offers = Offers::to(woken.iter().chain(own).map(|parked| &parked.claim));
        let mut grants = Vec::with_capacity(woken.len());
        for parked in woken.iter() {
            grants.push(if parked.reply.is_closed() {
                Vec::new()
            } else {
                self.claim(&parked.claim, now, &mut queued)?
            });
        }
        for job in &jobs[claims..] {
            results.push(self.guarded(job, now, &mut queued)?);
        }
        self.writer.commit(now)?;
        self.tally.committed(results.len() + woken.len(), &queued.entries);
        self.watchers.wake(&queued.told);
        if queued.fan_outs {
            self.fan_outs.notify_one();
        }
        let mut settled: Vec<Settled> =
            std::mem::take(jobs).into_iter().zip(results).map(|(job, result)| settle(job, result)).collect();
        settled
            .extend(std::mem::take(woken).into_iter().zip(grants).map(|(p, grants)| settle_claim(p, grants)));
        Ok(settled)
    }

    /// One job. A panic in a decision is a bug of ours, and must not take the writer with it: it becomes this job's
    /// failure.
    fn guarded(&mut self, job: &Job, now: Timestamp, queued: &mut Queued) -> Result<JobResult, Failure> {
        catch_unwind(AssertUnwindSafe(|| self.one(job, now, queued))).unwrap_or_else(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            Err(Failure::new(
                FailureKind::Statement,
                format!("a decision broke an invariant and was not applied: {text}"),
            ))
        })
    }

    fn one(&mut self, job: &Job, now: Timestamp, queued: &mut Queued) -> Result<JobResult, Failure> {
        Ok(match job {
            Job::Input { input, .. } => JobResult::Input(Box::new(self.decide(input, now, queued)?)),
            Job::Heartbeat { .. } => JobResult::Lost(self.heartbeat(&job.inputs(), now, queued)?),
            Job::Assign { push, .. } => {
                queued.any = true;
                JobResult::Assigned(self.assign(push, now)?)
            }
            Job::Upkeep { what, limit, .. } => JobResult::Upkeep(self.upkeep(*what, *limit, now, queued)?),
            Job::Claim(parked) if parked.reply.is_closed() => JobResult::Granted(Vec::new()),
            Job::Claim(parked) => JobResult::Granted(self.claim(&parked.claim, now, queued)?),
        })
    }

    /// Load, decide, apply: the only way in which a token changes.
    fn decide(
        &mut self,
        input: &Input,
        now: Timestamp,
        queued: &mut Queued,
    ) -> Result<Result<Answer, Refusal>, Failure> {
        let Decision { changes, result } =
            decide_loading(&self.rules, input, now, |wanted| self.writer.load(wanted))?;
        self.writer.apply(&changes)?;
        for change in &changes {
            match change {
                Change::InsertTask(task) | Change::UpdateTask(task) if task.status == TaskStatus::Queued => {
                    queued.states.push((task.workflow.clone(), task.state.clone()));
                }
                Change::Append(entry) => {
                    queued.entries.push(entry.kind);
                    if queued.told.last() != Some(&entry.token) {
                        queued.told.push(entry.token.clone());
                    }
                }
                _ => {}
            }
            if let Change::InsertFanOut { row, .. } | Change::UpdateFanOut(row) = change {
                queued.fan_outs |= row.pending;
            }
        }
        // A resume may queue nothing, but what was queued can be claimed again.
        queued.any |= matches!(input, Input::ResumeToken { .. } | Input::Unfold(_)) && result.is_ok();
        Ok(result)
    }

    /// The tasks whose leases could not be renewed.
    fn heartbeat(
        &mut self,
        renewals: &[Cow<'_, Input>],
        now: Timestamp,
        queued: &mut Queued,
    ) -> Result<Vec<u64>, Failure> {
        let mut lost = Vec::new();
        for renewal in renewals {
            if self.decide(renewal, now, queued)?.is_err()
                && let Input::RenewLease { task, .. } = **renewal
            {
                lost.push(task);
            }
        }
        lost.sort_unstable();
        lost.dedup();
        Ok(lost)
    }

    fn assign(&mut self, push: &Push, now: Timestamp) -> Result<Assignment, Failure> {
        let upload = Upload { uploaded_at: now, ..push.upload.clone() };
        let to = NewAssignment {
            workflow: &push.workflow,
            state: &push.state,
            name: &push.name,
            limits: &push.limits,
        };
        self.writer.assign(&upload, &push.bytes, to, now)
    }

    fn upkeep(
        &mut self,
        what: Upkeep,
        limit: u32,
        now: Timestamp,
        queued: &mut Queued,
    ) -> Result<u32, Failure> {
        let inputs: Vec<Input> = match what {
            Upkeep::ExpireLeases => {
                // Once a second is often enough to make up for a hint that was lost.
                queued.any = true;
                let tasks = self.writer.expired_leases(now, limit)?;
                tasks.into_iter().map(|task| Input::ExpireLease { task }).collect()
            }
            Upkeep::FireTimers => {
                let timers = self.writer.due_timers(now, limit)?;
                timers.into_iter().map(|timer| Input::FireTimer { timer }).collect()
            }
            Upkeep::UnfoldFanOuts => {
                let fan_outs = self.writer.pending_fan_outs(limit)?;
                fan_outs.into_iter().map(Input::Unfold).collect()
            }
        };
        self.writer.ahead(&mut inputs.iter().map(Wanted::for_input));
        let mut done = 0;
        for input in &inputs {
            // Nobody waits for these; what the clock may not do, the ledger says.
            let stale = matches!(self.decide(input, now, queued)?, Ok(Answer::Stale));
            // A lease or timer that is looked at was due, and is not found again; a fan-out may be.
            done += u32::from(!stale || what != Upkeep::UnfoldFanOuts);
        }
        Ok(done)
    }

    /// The tasks of a repeated claim, else new ones, up to the claim's number and the answer's size.
    fn claim(&mut self, claim: &Claim, now: Timestamp, queued: &mut Queued) -> Result<Vec<Granted>, Failure> {
        let mut granted = Vec::new();
        // Both together, or an id of the supervisor's own: without a request nothing says later who holds the task.
        let request = match (&claim.incarnation, &claim.request) {
            (Some(incarnation), Some(request)) => {
                let held = self.writer.tasks_of_other_starts(&claim.supervisor, incarnation)?;
                for task in held {
                    let incarnation = incarnation.clone();
                    // Stale where the other start is a later one.
                    let _ = self.decide(&Input::AbandonTask { task, incarnation }, now, queued)?;
                    // Now it may be taken, by this claim too.
                    queued.offers.forget();
                }
                Some(incarnation.claim_id(request))
            }
            (_, request) => request.clone(),
        };
        if let Some(request) = &request {
            for task in self.writer.tasks_of_request(&claim.supervisor, request)? {
                let (supervisor, request) = (claim.supervisor.clone(), request.clone());
                self.grant(&Input::RepeatClaim { task, supervisor, request }, now, queued, &mut granted)?;
            }
            if !granted.is_empty() {
                return Ok(granted);
            }
        }
        let mut bytes = 0;
        let (tasks, found) = queued.offers.take(claim, self.writer.as_mut())?;
        let input = |task: u64| {
            let (supervisor, request) = (claim.supervisor.clone(), request.clone());
            Input::ClaimTask { task, supervisor, request }
        };
        self.writer.ahead(&mut found.iter().map(|&task| Wanted::for_input(&input(task))));
        for task in tasks {
            queued.offers.tried(task);
            self.grant(&input(task), now, queued, &mut granted)?;
            bytes += granted.last().map_or(0, |last| size(&last.grant));
            if bytes >= limits::CLAIM_BYTES {
                break;
            }
        }
        Ok(granted)
    }

    fn grant(
        &mut self,
        input: &Input,
        now: Timestamp,
        queued: &mut Queued,
        into: &mut Vec<Granted>,
    ) -> Result<(), Failure> {
        if let Ok(Answer::Granted(grant)) = self.decide(input, now, queued)? {
            let routine = self.writer.assignment(&grant.task.workflow, &grant.task.state)?;
            into.push(Granted { grant: *grant, routine });
        }
        Ok(())
    }
}

/// A job's result, kept until the transaction is durable.
enum JobResult {
    Input(Box<Result<Answer, Refusal>>),
    Lost(Vec<u64>),
    Assigned(Assignment),
    Upkeep(u32),
    Granted(Vec<Granted>),
}

fn settle(job: Job, result: JobResult) -> Settled {
    // Whoever hung up does not hear of it; what was committed stays.
    match (job, result) {
        (Job::Input { reply, .. }, JobResult::Input(result)) => {
            Settled::Answer(Box::new(move || drop(reply.send(Ok(*result)))))
        }
        (Job::Heartbeat { reply, .. }, JobResult::Lost(lost)) => {
            Settled::Answer(Box::new(move || drop(reply.send(Ok(lost)))))
        }
        (Job::Assign { reply, .. }, JobResult::Assigned(assignment)) => {
            Settled::Answer(Box::new(move || drop(reply.send(Ok(assignment)))))
        }
        (Job::Upkeep { reply, .. }, JobResult::Upkeep(found)) => {
            Settled::Answer(Box::new(move || drop(reply.send(Ok(found)))))
        }
        (Job::Claim(parked), JobResult::Granted(granted)) => settle_claim(parked, granted),
        (job, _) => {
            let failure =
                Failure::new(FailureKind::Statement, "a job was answered with another job's result");
            Settled::Answer(Box::new(move || job.fail(failure)))
        }
    }
}

fn settle_claim(parked: Parked, granted: Vec<Granted>) -> Settled {
    if granted.is_empty() && parked.deadline > Instant::now() {
        return Settled::Park(parked);
    }
    Settled::Answer(Box::new(move || drop(parked.reply.send(Ok(granted)))))
}

fn size(grant: &stateous_engine::Grant) -> usize {
    grant.context.len() + grant.memory.iter().map(|cell| cell.key.len() + cell.value.len()).sum::<usize>()
}
