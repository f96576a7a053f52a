//! The committer on a real store, with the real engine: batches, guilt, parked claims, the order inside a batch.

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use stateous_engine::change::{Answer, Change};
use stateous_engine::json::Object;
use stateous_engine::loaded::{Loaded, Wanted};
use stateous_engine::model::{FanOutKey, Incarnation, Kind, TaskStatus, Token};
use stateous_engine::{Catalog, Code, Graph, Input, Refusal, Rules, Timestamp};
use tokio::task::{JoinHandle as Running, yield_now};

use super::Harness;
use super::db::NOW;
use super::samples::{insert, token};
use crate::clock::ManualClock;
use crate::committer::{Claim, Committer, Granted, Push, Upkeep};
use crate::failure::{Failure, FailureKind};
use crate::rows::{Assignment, ControlRow, RoutineLimits, Upload};
use crate::traits::{NewAssignment, QueuedFilter, Reader, Store, Writer};

const GRAPH: &str = r#"{"stateous": 1, "workflow": "orders",
    "states": {"draft": {"timeout": "1h", "retries": 1, "emits": ["submitted"]}, "review": {"emits": ["reviewed"]}},
    "events": {"submitted": {}, "reviewed": {}},
    "transitions": [{"from": "__start__", "to": "draft"}, {"from": "draft", "to": "review", "on": "submitted"},
        {"from": "draft", "to": "review", "on": "timeout"}, {"from": "review", "to": "__end__", "on": "reviewed"}],
    "schemas": {}}"#;
const LEASE_MS: i64 = 120_000;
/// A claim that waits: longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(600);

/// A writer that counts commits, stops before one when told to, and refuses to write one token.
struct Watched {
    writer: Box<dyn Writer>,
    watch: Arc<Watch>,
}

#[derive(Default)]
struct Watch {
    commits: AtomicU32,
    /// While it is shut, a commit says that it is there and waits for its opening.
    gate: Mutex<Option<(Sender<()>, Receiver<()>)>>,
    poison: Mutex<Option<String>>,
    /// How many of the next commits find another program in their way.
    collisions: AtomicU32,
}

impl Writer for Watched {
    fn begin(&mut self) -> Result<(), Failure> {
        self.writer.begin()
    }
    fn ahead(&mut self, wanted: &mut dyn Iterator<Item = Wanted>) {
        self.writer.ahead(wanted);
    }
    fn load(&mut self, wanted: &Wanted) -> Result<Loaded, Failure> {
        self.writer.load(wanted)
    }
    fn apply(&mut self, changes: &[Change]) -> Result<(), Failure> {
        self.writer.apply(changes)?;
        let poison = self.watch.poison.lock().unwrap();
        let bad = |change: &Change| matches!(change, Change::Append(e) if Some(&e.token) == poison.as_ref());
        match changes.iter().any(bad) {
            true => Err(Failure::new(FailureKind::Statement, "poisoned")),
            false => Ok(()),
        }
    }
    fn queued_tasks(&mut self, filter: &QueuedFilter, limit: u32) -> Result<Vec<u64>, Failure> {
        self.writer.queued_tasks(filter, limit)
    }
    fn tasks_of_request(&mut self, supervisor: &str, request: &str) -> Result<Vec<u64>, Failure> {
        self.writer.tasks_of_request(supervisor, request)
    }
    fn assignment(&mut self, workflow: &str, state: &str) -> Result<Option<Assignment>, Failure> {
        self.writer.assignment(workflow, state)
    }
    fn assign(
        &mut self,
        upload: &Upload,
        bytes: &[u8],
        to: NewAssignment<'_>,
        now: Timestamp,
    ) -> Result<Assignment, Failure> {
        self.writer.assign(upload, bytes, to, now)
    }
    fn expired_leases(&mut self, now: Timestamp, limit: u32) -> Result<Vec<u64>, Failure> {
        self.writer.expired_leases(now, limit)
    }
    fn due_timers(&mut self, now: Timestamp, limit: u32) -> Result<Vec<u64>, Failure> {
        self.writer.due_timers(now, limit)
    }
    fn pending_fan_outs(&mut self, limit: u32) -> Result<Vec<FanOutKey>, Failure> {
        self.writer.pending_fan_outs(limit)
    }
    fn extend_leases(&mut self, ms: i64) -> Result<u64, Failure> {
        self.writer.extend_leases(ms)
    }
    fn held_tasks(&mut self) -> Result<u64, Failure> {
        self.writer.held_tasks()
    }
    fn tasks_of_other_starts(
        &mut self,
        supervisor: &str,
        incarnation: &Incarnation,
    ) -> Result<Vec<u64>, Failure> {
        self.writer.tasks_of_other_starts(supervisor, incarnation)
    }
    fn live_tokens_outside(&mut self, served: &[(&str, &str)]) -> Result<u64, Failure> {
        self.writer.live_tokens_outside(served)
    }
    fn control(&mut self) -> Result<ControlRow, Failure> {
        self.writer.control()
    }
    fn record_graph(&mut self, structure: &str, checksum: &str) -> Result<(), Failure> {
        self.writer.record_graph(structure, checksum)
    }
    fn commit(&mut self, now: Timestamp) -> Result<(), Failure> {
        let gate = self.watch.gate.lock().unwrap().take();
        if let Some((here, opened)) = gate {
            let _ = here.send(());
            let _ = opened.recv();
        }
        let fewer = |left: u32| left.checked_sub(1);
        if self.watch.collisions.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_ok() {
            return Err(Failure::new(FailureKind::Collided, "in the way"));
        }
        self.watch.commits.fetch_add(1, Ordering::SeqCst);
        self.writer.commit(now)
    }
    fn rollback(&mut self) {
        self.writer.rollback();
    }
}

/// A running committer.
struct Bench {
    committer: Option<Committer>,
    thread: Option<JoinHandle<()>>,
    store: Box<dyn Store>,
    clock: Arc<ManualClock>,
    watch: Arc<Watch>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.committer = None;
        self.thread.take().unwrap().join().unwrap();
    }
}

/// The ends of a shut gate: wait until the writer stands before it, then open it.
struct Gate {
    here: Receiver<()>,
    opened: Sender<()>,
}

impl Gate {
    fn wait(&self) {
        self.here.recv().unwrap();
    }
    fn open(self) {
        self.opened.send(()).unwrap();
    }
}

impl Bench {
    /// Starts a committer on the harness's database, which holds `rows` already.
    fn start(harness: &dyn Harness, rows: &[Change]) -> Self {
        let store = harness.open().unwrap();
        let mut writer = store.writer().unwrap();
        writer.begin().unwrap();
        writer.apply(rows).unwrap();
        writer.commit(NOW).unwrap();
        let catalog = Catalog::new(vec![Graph::parse(GRAPH).unwrap()]).unwrap();
        let (clock, watch) = (Arc::new(ManualClock::new(NOW)), Arc::new(Watch::default()));
        let watched = Watched { writer, watch: Arc::clone(&watch) };
        let rules = Arc::new(Rules { catalog, lease_ms: LEASE_MS });
        let (committer, thread) = Committer::start(Box::new(watched), rules, Arc::clone(&clock) as _);
        Self { committer: Some(committer), thread: Some(thread), store, clock, watch }
    }

    fn committer(&self) -> Committer {
        self.committer.clone().unwrap()
    }

    /// Reads on a thread of its own, as a reader may block and this one drives the test's futures.
    fn read<T: Send>(&self, read: impl FnOnce(&dyn Reader) -> T + Send) -> T {
        let reader = self.store.reader();
        std::thread::scope(|scope| scope.spawn(|| read(reader.as_ref())).join().unwrap())
    }

    fn token(&self, id: &str) -> Option<Token> {
        self.read(|reader| reader.token(id)).unwrap().map(|view| view.token)
    }

    fn commits(&self) -> u32 {
        self.watch.commits.load(Ordering::SeqCst)
    }

    /// Shuts the gate: the next transaction stops before its commit, and what comes meanwhile gathers.
    fn shut(&self) -> Gate {
        let ((here_in, here), (opened, opened_out)) = (channel(), channel());
        *self.watch.gate.lock().unwrap() = Some((here_in, opened_out));
        Gate { here, opened }
    }

    /// Submits, and comes back when the job is with the committer.
    async fn submit(&self, input: Input) -> Running<Result<Result<Answer, Refusal>, Failure>> {
        let committer = self.committer();
        sent(async move { committer.submit(input).await }).await
    }

    async fn claim(&self, claim: Claim) -> Running<Result<Vec<Granted>, Failure>> {
        let committer = self.committer();
        sent(async move { committer.claim(claim).await }).await
    }

    /// Claims, and comes back when the claim has found nothing: what comes next is in a later transaction.
    async fn park(&self, claim: Claim) -> Running<Result<Vec<Granted>, Failure>> {
        let gate = self.shut();
        let running = self.claim(claim).await;
        gate.wait();
        gate.open();
        running
    }

    async fn answer(&self, input: Input) -> Result<Answer, Refusal> {
        self.submit(input).await.await.unwrap().unwrap()
    }

    async fn grants(&self, claim: Claim) -> Vec<Granted> {
        self.claim(claim).await.await.unwrap().unwrap()
    }

    fn kinds(&self, token: &str) -> Vec<Kind> {
        let entries = self.read(|reader| reader.history(token, 0, 1000)).unwrap().unwrap();
        entries.iter().map(|entry| entry.kind).collect()
    }
}

/// Runs `job` beside the test, once it has sent what it sends at its first step: there is one thread, and it takes
/// turns.
async fn sent<T: Send + 'static>(job: impl Future<Output = T> + Send + 'static) -> Running<T> {
    let running = tokio::spawn(job);
    yield_now().await;
    running
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
}

fn start(token: &str) -> Input {
    Input::StartToken { token: token.to_owned(), workflow: None, context: Object::new() }
}

fn fire(token: &str, event: &str) -> Input {
    Input::FireEvent { token: token.to_owned(), event: event.to_owned(), payload: None, key: None }
}

fn claim(request: Option<&str>, max: u32, wait: Duration) -> Claim {
    let filter = QueuedFilter { states: None, assigned: false };
    Claim {
        supervisor: "vm".to_owned(),
        filter,
        request: request.map(str::to_owned),
        incarnation: None,
        max,
        wait,
    }
}

fn tasks(grants: &[Granted]) -> Vec<(u64, u64)> {
    grants.iter().map(|granted| (granted.grant.task.id, granted.grant.task.attempt)).collect()
}

/// What queues while one commit runs is the next batch.
pub fn inputs_that_arrive_together_share_a_commit(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    run(async {
        let gate = bench.shut();
        let first = bench.submit(start("t-0")).await;
        gate.wait();
        let mut others = Vec::new();
        for number in 1..100 {
            others.push(bench.submit(start(&format!("t-{number}"))).await);
        }
        assert!(bench.token("t-0").is_none(), "answered before it was durable");
        gate.open();
        for running in std::iter::once(first).chain(others) {
            assert!(matches!(running.await.unwrap().unwrap(), Ok(Answer::Created(_))));
        }
        assert_eq!(bench.commits(), 2);
        for number in 0..100 {
            let token = bench.token(&format!("t-{number}")).unwrap();
            assert_eq!(token.state, "draft");
        }
    });
}

/// Whoever is in the way once is gone a moment later; whoever stays is told of.
pub fn a_collision_is_run_once_more(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    run(async {
        bench.watch.collisions.store(1, Ordering::SeqCst);
        assert!(matches!(bench.answer(start("t-1")).await, Ok(Answer::Created(_))));
        assert_eq!(bench.commits(), 1);

        bench.watch.collisions.store(2, Ordering::SeqCst);
        let failure = bench.submit(start("t-2")).await.await.unwrap().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Collided);
        assert!(bench.token("t-2").is_none());
        assert!(matches!(bench.answer(start("t-2")).await, Ok(Answer::Created(_))));
        assert_eq!(bench.token("t-2").unwrap().seq, bench.token("t-1").unwrap().seq, "written once");
    });
}

/// Its neighbours are applied, each as if it had come alone.
pub fn a_guilty_input_fails_alone(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    *bench.watch.poison.lock().unwrap() = Some("bad".to_owned());
    run(async {
        let gate = bench.shut();
        let first = bench.submit(start("t-0")).await;
        gate.wait();
        let good = bench.submit(start("good")).await;
        let bad = bench.submit(start("bad")).await;
        let better = bench.submit(start("better")).await;
        gate.open();
        for running in [first, good, better] {
            assert!(matches!(running.await.unwrap().unwrap(), Ok(Answer::Created(_))));
        }
        let failure = bad.await.unwrap().unwrap_err();
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Statement, "poisoned"));
        assert!(bench.token("bad").is_none());
        assert!(bench.token("better").is_some());
    });
}

/// What comes in one piece is committed in one piece, and one that the database does not take fails alone.
pub fn inputs_of_one_batch_share_a_commit(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    run(async {
        let inputs = vec![start("t-0"), fire("t-0", "submitted"), fire("nobody", "submitted"), start("t-1")];
        let results = bench.committer().submit_all(inputs).await;
        let told: Vec<bool> = results.iter().map(|result| result.as_ref().unwrap().is_ok()).collect();
        assert_eq!(told, [true, true, false, true]);
        assert_eq!(bench.token("t-0").unwrap().state, "review");
        assert_eq!(bench.commits(), 1);

        *bench.watch.poison.lock().unwrap() = Some("bad".to_owned());
        let results = bench.committer().submit_all(vec![start("t-2"), start("bad"), start("t-3")]).await;
        let told: Vec<bool> = results.iter().map(Result::is_ok).collect();
        assert_eq!(told, [true, false, true]);
        assert!(bench.committer().submit_all(Vec::new()).await.is_empty());
    });
}

/// Whoever watches a token is woken once what was written about it can be read.
pub fn a_watch_ends_with_the_commit_about_its_token(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    run(async {
        bench.answer(start("t-0")).await.unwrap();
        let (mut watch, mut other) = (bench.committer().watch("t-0"), bench.committer().watch("t-1"));
        let gate = bench.shut();
        let running = bench.submit(fire("t-0", "submitted")).await;
        gate.wait();
        let early = tokio::select! { biased; () = watch.changed() => true, () = yield_now() => false };
        assert!(!early, "woken before the commit");
        gate.open();
        running.await.unwrap().unwrap().unwrap();
        watch.changed().await;
        assert_eq!(bench.token("t-0").unwrap().state, "review");
        let others = tokio::select! { biased; () = other.changed() => true, () = yield_now() => false };
        assert!(!others, "woken by another token");
    });
}

/// A row that breaks an invariant of the engine takes down neither the writer nor its neighbours.
pub fn a_panic_in_a_decision_fails_alone(harness: &dyn Harness) {
    let structure = Graph::parse(GRAPH).unwrap().structure().to_owned();
    let row = stateous_engine::model::Token { structure, ..token("damaged") };
    let damaged = Change::InsertToken { token: row, context: "not JSON".into() };
    let bench = Bench::start(harness, &[damaged]);
    run(async {
        let gate = bench.shut();
        let first = bench.submit(start("t-0")).await;
        gate.wait();
        let damaged = bench.submit(fire("damaged", "submitted")).await;
        let good = bench.submit(start("good")).await;
        gate.open();
        assert!(first.await.unwrap().unwrap().is_ok());
        assert!(good.await.unwrap().unwrap().is_ok());
        let failure = damaged.await.unwrap().unwrap_err();
        assert!(failure.message.contains("broke an invariant"), "{failure}");
    });
}

/// A refusal is an answer; what it records is kept.
pub fn a_refused_input_spoils_nothing(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    run(async {
        let gate = bench.shut();
        let first = bench.submit(start("t-0")).await;
        gate.wait();
        let unknown = bench.submit(fire("nobody", "submitted")).await;
        let refused = bench.submit(fire("t-0", "reviewed")).await;
        let moved = bench.submit(fire("t-0", "submitted")).await;
        gate.open();
        assert!(first.await.unwrap().unwrap().is_ok());
        assert_eq!(unknown.await.unwrap().unwrap().unwrap_err().code, Code::TokenNotFound);
        assert_eq!(refused.await.unwrap().unwrap().unwrap_err().code, Code::EventNotAllowed);
        assert!(moved.await.unwrap().unwrap().is_ok());
        assert_eq!(bench.commits(), 2);
        assert!(bench.kinds("t-0").contains(&Kind::EventRejected));
        assert_eq!(bench.token("t-0").unwrap().state, "review");
    });
}

/// Inside the transaction that queued it: nobody polls, and nobody comes between.
pub fn a_parked_claim_gets_the_task_that_another_input_queued(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    run(async {
        let waiting = bench.park(claim(None, 1, LONG)).await;
        let review = Some(vec![("orders".to_owned(), "review".to_owned())]);
        let filter = QueuedFilter { states: review, assigned: false };
        let elsewhere = bench.park(Claim { filter, ..claim(None, 1, LONG) }).await;
        let second = bench.park(claim(None, 1, LONG)).await;
        bench.answer(start("t-1")).await.unwrap();
        let granted = waiting.await.unwrap().unwrap();
        assert_eq!(tasks(&granted), [(1, 1)]);
        assert_eq!(granted[0].grant.lease_ms, LEASE_MS);
        assert_eq!(bench.kinds("t-1").last(), Some(&Kind::TaskClaimed));
        // Those who came later, or wait for another state, wait on.
        assert!(!elsewhere.is_finished() && !second.is_finished());
        bench.answer(start("t-2")).await.unwrap();
        assert_eq!(tasks(&second.await.unwrap().unwrap()), [(2, 1)]);
        bench.answer(fire("t-1", "submitted")).await.unwrap();
        assert_eq!(tasks(&elsewhere.await.unwrap().unwrap()), [(3, 1)]);
    });
}

/// Nothing is queued by a resume, but what stood still can be claimed again.
pub fn a_parked_claim_gets_the_task_of_a_token_that_is_resumed(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    run(async {
        bench.answer(start("t-1")).await.unwrap();
        bench.answer(Input::PauseToken { token: "t-1".to_owned() }).await.unwrap();
        let waiting = bench.park(claim(None, 1, LONG)).await;
        bench.answer(fire("t-1", "reviewed")).await.unwrap();
        assert!(!waiting.is_finished());
        bench.answer(Input::ResumeToken { token: "t-1".to_owned() }).await.unwrap();
        assert_eq!(tasks(&waiting.await.unwrap().unwrap()), [(1, 1)]);
        let kinds = bench.kinds("t-1");
        let last = [Kind::EventDeferred, Kind::Resumed, Kind::EventDropped, Kind::TaskClaimed];
        assert_eq!(kinds[kinds.len() - last.len()..], last);
    });
}

/// At once when it does not want to wait, else after its time.
pub fn a_parked_claim_goes_away_empty_in_time(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    run(async {
        assert!(bench.grants(claim(None, 9, Duration::ZERO)).await.is_empty());
        assert!(bench.grants(claim(None, 9, Duration::from_millis(20))).await.is_empty());
        // One whose caller hung up takes nothing with it.
        let gone = bench.park(claim(None, 9, LONG)).await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        bench.answer(start("t-1")).await.unwrap();
        assert_eq!(tasks(&bench.grants(claim(None, 9, Duration::ZERO)).await), [(1, 1)]);
    });
}

/// A lost answer loses no task and takes no second one.
pub fn a_repeated_claim_gets_the_same_grant(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    run(async {
        for number in 1..=5 {
            bench.answer(start(&format!("t-{number}"))).await.unwrap();
        }
        let first = bench.grants(claim(Some("r-1"), 2, Duration::ZERO)).await;
        assert_eq!(tasks(&first), [(1, 1), (2, 1)]);
        bench.clock.advance(60_000);
        let again = bench.grants(claim(Some("r-1"), 2, Duration::ZERO)).await;
        assert_eq!(tasks(&again), tasks(&first));
        let until = again[0].grant.task.lease_until.unwrap();
        assert_eq!(until.ms_since(NOW), 60_000 + LEASE_MS, "the lease begins anew");
        assert_eq!(tasks(&bench.grants(claim(Some("r-2"), 2, Duration::ZERO)).await), [(3, 1), (4, 1)]);
        assert_eq!(tasks(&bench.grants(claim(None, 9, Duration::ZERO)).await), [(5, 1)]);
        // Once the tasks are no longer held, the request is as good as new.
        let submitted =
            stateous_engine::input::Outcome::Event { event: "submitted".to_owned(), payload: None };
        for task in [1, 2] {
            let report = Input::ReportTask {
                task,
                supervisor: Some("vm".to_owned()),
                attempt: Some(1),
                outcome: submitted.clone(),
                context: Object::new(),
                schedules: Vec::new(),
            };
            bench.answer(report).await.unwrap();
        }
        assert_eq!(tasks(&bench.grants(claim(Some("r-1"), 9, Duration::ZERO)).await), [(6, 1), (7, 1)]);
    });
}

/// Although the upkeep that would have ended it came before: what was said in time is heard first.
pub fn a_heartbeat_in_the_queue_keeps_its_lease(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    run(async {
        bench.answer(start("t-1")).await.unwrap();
        bench.answer(start("t-2")).await.unwrap();
        assert_eq!(bench.grants(claim(None, 9, Duration::ZERO)).await.len(), 2);
        let gate = bench.shut();
        let blocked = bench.submit(start("t-3")).await;
        gate.wait();
        bench.clock.advance(LEASE_MS + 1);
        let (upkeep, heartbeat) = (bench.committer(), bench.committer());
        let ended = sent(async move { upkeep.upkeep(Upkeep::ExpireLeases, 9).await }).await;
        let kept = sent(async move { heartbeat.heartbeat("vm".to_owned(), None, vec![9, 1, 9]).await }).await;
        gate.open();
        blocked.await.unwrap().unwrap().unwrap();
        assert_eq!(kept.await.unwrap().unwrap(), [9], "told once, sorted");
        assert_eq!(ended.await.unwrap().unwrap(), 1);
        assert!(!bench.kinds("t-1").contains(&Kind::TaskFailed));
        assert!(bench.kinds("t-2").contains(&Kind::TaskRetrying));
    });
}

/// What is due is found in the database, and a task that is queued again is given out at once.
pub fn upkeep_ends_leases_and_fires_timers(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[]);
    run(async {
        let committer = bench.committer();
        bench.answer(start("t-1")).await.unwrap();
        assert_eq!(tasks(&bench.grants(claim(None, 1, Duration::ZERO)).await), [(1, 1)]);
        assert_eq!(committer.upkeep(Upkeep::ExpireLeases, 9).await.unwrap(), 0);
        let waiting = bench.park(claim(None, 1, LONG)).await;
        bench.clock.advance(LEASE_MS + 1);
        assert_eq!(committer.upkeep(Upkeep::ExpireLeases, 9).await.unwrap(), 1);
        assert_eq!(tasks(&waiting.await.unwrap().unwrap()), [(1, 2)]);

        assert_eq!(committer.upkeep(Upkeep::FireTimers, 9).await.unwrap(), 0);
        bench.clock.advance(3_600_000);
        assert_eq!(committer.upkeep(Upkeep::FireTimers, 9).await.unwrap(), 1);
        assert_eq!(bench.token("t-1").unwrap().state, "review");
        assert!(bench.kinds("t-1").contains(&Kind::TimerFired));
        let next = bench.grants(claim(None, 1, Duration::ZERO)).await;
        assert_eq!((tasks(&next), next[0].grant.task.status), (vec![(2, 1)], TaskStatus::Claimed));
    });
}

/// A grant names the component that was in force when it was given.
pub fn a_grant_pins_the_component_in_force(harness: &dyn Harness) {
    let bench = Bench::start(harness, &[insert(token("unrelated"))]);
    let push = |bytes: &[u8]| Push {
        upload: Upload {
            digest: format!("sha256:{:0>64}", bytes.len()),
            size: bytes.len() as u64,
            sdk: None,
            uploaded_at: Timestamp(0),
        },
        bytes: bytes.to_vec(),
        workflow: "orders".to_owned(),
        state: "draft".to_owned(),
        name: "draft.wasm".to_owned(),
        limits: RoutineLimits::default(),
    };
    run(async {
        bench.answer(start("t-1")).await.unwrap();
        bench.answer(start("t-2")).await.unwrap();
        let filter = QueuedFilter { states: None, assigned: true };
        let assigned = |wait| Claim { filter: filter.clone(), ..claim(None, 1, wait) };
        assert!(bench.grants(assigned(Duration::ZERO)).await.is_empty());
        // A claim that waits for a state with a component is woken by the push.
        let waiting = bench.park(assigned(LONG)).await;
        let first = bench.committer().assign(push(b"one")).await.unwrap();
        assert_eq!((first.version, first.assigned_at), (1, NOW));
        assert_eq!(waiting.await.unwrap().unwrap()[0].routine, Some(first));
        let second = bench.committer().assign(push(b"three")).await.unwrap();
        assert_eq!(bench.grants(assigned(Duration::ZERO)).await[0].routine, Some(second));
        let uploads = bench.read(|reader| reader.assignments()).unwrap();
        assert_eq!(uploads[0].1.uploaded_at, NOW);
    });
}
