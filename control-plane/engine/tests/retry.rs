//! A failed token that is retried, told as lists of inputs; what they did is the token's ledger.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use stateous_engine::change::Answer;
use stateous_engine::input::Outcome;
use stateous_engine::json::{Object, parse_stored};
use stateous_engine::model::{Status, TaskStatus, TimerKind};
use stateous_engine::{Input, Refusal};
use world::World;

/// Nothing takes `error` or `timeout`, so a token that cannot go on fails.
const ORDERS: &str = r#"{
  "stateous": 1, "workflow": "orders",
  "states": {
    "draft": {"emits": ["submitted"]},
    "review": {"timeout": "1h", "retries": 1, "emits": ["reviewed"]}
  },
  "events": {"submitted": {"payload": "Draft"}, "reviewed": {}},
  "transitions": [
    {"from": "__start__", "to": "draft"},
    {"from": "draft", "to": "review", "on": "submitted"},
    {"from": "review", "to": "draft", "on": "reviewed", "when": "count('reviewed') < 2"},
    {"from": "review", "to": "__end__", "on": "reviewed", "otherwise": true}
  ],
  "schemas": {"Draft": {"type": "object"}}
}"#;

fn object(text: &str) -> Object {
    parse_stored(text).unwrap()
}

/// A world whose token `T` was started and submitted.
fn in_review() -> World {
    let mut world = World::new(ORDERS);
    let start = Input::StartToken { token: "T".into(), workflow: None, context: object(r#"{"n":1.50}"#) };
    world.input(&start).unwrap();
    fire(&mut world, "submitted", Some("k")).unwrap();
    world
}

fn fire(world: &mut World, event: &str, key: Option<&str>) -> Result<Answer, Refusal> {
    world.input(&Input::FireEvent {
        token: "T".into(),
        event: event.into(),
        payload: (event == "submitted").then(|| object(r#"{"pages":2}"#)),
        key: key.map(Into::into),
    })
}

fn retry(world: &mut World, token: &str) -> Result<Answer, Refusal> {
    world.input(&Input::RetryToken { token: token.into() })
}

/// Claims the queued task and says the grant.
fn claim(world: &mut World) -> stateous_engine::Grant {
    let task = world.tasks.values().find(|task| task.status == TaskStatus::Queued).unwrap().id;
    match world.input(&Input::ClaimTask { task, supervisor: "a".into(), request: None }).unwrap() {
        Answer::Granted(grant) => *grant,
        other => panic!("not granted: {other:?}"),
    }
}

fn report(world: &mut World, task: u64, outcome: Outcome) -> Result<Answer, Refusal> {
    world.input(&Input::ReportTask {
        task,
        supervisor: Some("a".into()),
        attempt: None,
        outcome,
        context: Object::new(),
        schedules: Vec::new(),
    })
}

/// The token fails in `review`, its memory written.
fn failed() -> World {
    let mut world = in_review();
    let task = claim(&mut world).task.id;
    let cell = |key: &str| Input::SetMemory { task, attempt: None, key: key.into(), value: Some("1".into()) };
    world.input(&cell("place")).unwrap();
    report(&mut world, task, Outcome::Failed { error: "no reviewer".into(), retry: false }).unwrap();
    assert_eq!(world.tokens["T"].0.status, Status::Failed);
    world
}

#[test]
fn a_failed_token_enters_its_last_state_again_as_a_new_visit() {
    let mut world = failed();
    world.now = world.now.plus_ms(3_600_000);
    let Answer::Token(view) = retry(&mut world, "T").unwrap() else { panic!("a token is told") };
    assert_eq!(
        (view.token.status, view.token.state.as_str(), view.token.visit),
        (Status::Active, "review", 2)
    );
    assert_eq!(&*view.context, r#"{"n":1.50}"#);
    let timeouts: Vec<_> = world.timers.values().collect();
    assert_eq!(timeouts.len(), 1);
    assert_eq!((timeouts[0].kind, timeouts[0].visit), (TimerKind::Timeout, 2));
    assert_eq!(timeouts[0].due_at, world.now.plus_ms(3_600_000), "the timeout counts from now");

    let grant = claim(&mut world);
    assert_eq!((grant.task.attempt, grant.task.failures, grant.task.visit), (1, 0, 2));
    assert!(grant.memory.is_empty(), "memory went when the token failed");
    assert_eq!(grant.entered_by.name, "submitted");
    assert_eq!(grant.entered_by.payload, Some(object(r#"{"pages":2}"#)));

    // The retries of the state are all there again.
    let failed = || Outcome::Failed { error: "once more".into(), retry: true };
    report(&mut world, grant.task.id, failed()).unwrap();
    assert_eq!(world.tokens["T"].0.status, Status::Active);
    let grant = claim(&mut world);
    report(&mut world, grant.task.id, Outcome::Event { event: "reviewed".into(), payload: None }).unwrap();
    assert_eq!(world.tokens["T"].0.state, "draft", "counts go on from where they were");
    insta::assert_snapshot!(world.history("T"));
}

#[test]
fn it_can_fail_and_be_retried_again_and_again() {
    let mut world = failed();
    for visit in 2..5 {
        retry(&mut world, "T").unwrap();
        assert_eq!(world.tokens["T"].0.visit, visit);
        let task = claim(&mut world).task.id;
        report(&mut world, task, Outcome::Failed { error: "still".into(), retry: false }).unwrap();
        assert_eq!(world.tokens["T"].0.status, Status::Failed);
    }
}

#[test]
fn what_belongs_to_the_visit_before_stays_over() {
    let mut world = failed();
    let old = world.tasks.keys().copied().last().unwrap();
    retry(&mut world, "T").unwrap();
    let late = report(&mut world, old, Outcome::Event { event: "reviewed".into(), payload: None });
    assert_eq!(late.unwrap_err().code.as_str(), "task_not_held");
    // A key that was used stays used: the delivery that it names was taken.
    assert!(matches!(fire(&mut world, "submitted", Some("k")), Ok(Answer::Duplicate(_))));
}

#[test]
fn a_token_that_did_not_fail_is_not_retried() {
    let mut seen = String::new();
    let mut note = |world: &mut World, token: &str| {
        let before = world.ledger.len();
        let refusal = retry(world, token).unwrap_err();
        assert_eq!(world.ledger.len(), before, "a refused retry leaves no trace");
        seen.push_str(&format!("{}: {refusal}\n", refusal.code.as_str()));
    };
    let mut world = in_review();
    note(&mut world, "X");
    note(&mut world, "T");
    world.input(&Input::PauseToken { token: "T".into() }).unwrap();
    note(&mut world, "T");
    world.input(&Input::ResumeToken { token: "T".into() }).unwrap();
    for _ in 0..2 {
        let task = claim(&mut world);
        let event = if task.task.state == "draft" { "submitted" } else { "reviewed" };
        let payload = (event == "submitted").then(Object::new);
        report(&mut world, task.task.id, Outcome::Event { event: event.into(), payload }).unwrap();
    }
    let task = claim(&mut world).task.id;
    report(&mut world, task, Outcome::Event { event: "reviewed".into(), payload: None }).unwrap();
    note(&mut world, "T");

    let mut world = in_review();
    world.input(&Input::CancelToken { token: "T".into() }).unwrap();
    note(&mut world, "T");

    let mut world = World::new(CHECKS);
    start(&mut world);
    note(&mut world, "T.checks.1.lint");
    insta::assert_snapshot!(seen);
}

/// Both children of `checks` fail, and so does the join.
const CHECKS: &str = r#"{
  "stateous": 1, "workflow": "checks",
  "states": {"checks": {"timeout": "1h", "parallel": ["lint", "audit"], "join": "all", "inputs": ["n"]}},
  "events": {},
  "transitions": [
    {"from": "__start__", "to": "checks"},
    {"from": "checks", "to": "__end__", "on": "joined", "when": "branches.all(status == 'completed')"}
  ],
  "workflows": {
    "lint": {
      "states": {"look": {"emits": ["seen"]}}, "events": {"seen": {}},
      "transitions": [{"from": "__start__", "to": "look"}, {"from": "look", "to": "__end__", "on": "seen"}]
    },
    "audit": {
      "states": {"look": {"emits": ["seen"]}}, "events": {"seen": {}},
      "transitions": [{"from": "__start__", "to": "look"}, {"from": "look", "to": "__end__", "on": "seen"}]
    }
  },
  "schemas": {}
}"#;

fn start(world: &mut World) {
    let start = Input::StartToken { token: "T".into(), workflow: None, context: object(r#"{"n":1.50}"#) };
    world.input(&start).unwrap();
}

/// Ends both children of the visit: lint as told, audit well.
fn end_children(world: &mut World, lint: Outcome) {
    let grant = claim(world);
    assert_eq!(grant.task.workflow, "lint");
    report(world, grant.task.id, lint).unwrap();
    let grant = claim(world);
    report(world, grant.task.id, Outcome::Event { event: "seen".into(), payload: None }).unwrap();
}

#[test]
fn a_parallel_state_starts_its_children_anew() {
    let mut world = World::new(CHECKS);
    start(&mut world);
    end_children(&mut world, Outcome::Failed { error: "no linter".into(), retry: false });
    assert_eq!(world.tokens["T"].0.status, Status::Failed);

    retry(&mut world, "T").unwrap();
    assert_eq!(world.tokens["T.checks.1.lint"].0.status, Status::Failed, "an ended child stays ended");
    for child in ["T.checks.2.lint", "T.checks.2.audit"] {
        let (token, context) = &world.tokens[child];
        assert_eq!((token.status, &**context), (Status::Active, r#"{"n":1.50}"#));
    }
    end_children(&mut world, Outcome::Event { event: "seen".into(), payload: None });
    assert_eq!(world.tokens["T"].0.status, Status::Completed);
    insta::assert_snapshot!(world.history("T"));
}

#[test]
fn a_parallel_state_whose_child_cannot_start_is_not_entered() {
    let mut world = World::new(CHECKS);
    start(&mut world);
    end_children(&mut world, Outcome::Failed { error: "no linter".into(), retry: false });
    let squatter =
        Input::StartToken { token: "T.checks.2.audit".into(), workflow: None, context: Object::new() };
    world.input(&squatter).unwrap();
    let refusal = retry(&mut world, "T").unwrap_err();
    assert_eq!(
        (refusal.code.as_str(), refusal.message.as_str()),
        (
            "not_retryable",
            "token 'T' cannot enter 'checks' again: the child id 'T.checks.2.audit' is taken by another token"
        )
    );
    assert_eq!(world.tokens["T"].0.status, Status::Failed);
}
