//! The rules, told as lists of inputs; what they did is the token's ledger.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use stateous_engine::change::{Answer, Grant};
use stateous_engine::input::{Outcome, Schedule};
use stateous_engine::json::{Json, Object};
use stateous_engine::model::Incarnation;
use stateous_engine::{Code, Input, Refusal};
use world::World;

/// The other documented example of the original, with one event more so that `testing` has a timer of its own.
const SDLC: &str = r#"{
  "stateous": 1, "workflow": "sdlc", "context": "Ticket",
  "states": {
    "coding": {"timeout": "6h", "retries": 2, "emits": ["done", "stuck"]},
    "testing": {"timeout": "1h", "emits": ["passed", "failed"]}
  },
  "events": {"done": {}, "stuck": {}, "nudge": {}, "passed": {"payload": "Tests"}, "failed": {"payload": "Tests"}},
  "transitions": [
    {"from": "__start__", "to": "coding"},
    {"from": "coding", "to": "testing", "on": "done"},
    {"from": "coding", "to": "__end__", "on": "stuck"},
    {"from": "coding", "to": "coding", "on": "nudge"},
    {"from": "testing", "to": "__end__", "on": "passed"},
    {"from": "testing", "to": "coding", "on": "failed", "when": "count('failed') < 3"},
    {"from": "testing", "to": "__end__", "on": "failed", "otherwise": true}
  ],
  "schemas": {
    "Tests": {"type": "object", "properties": {"passed": {"type": "integer"}, "failed": {"type": "integer"}},
              "required": ["passed", "failed"]},
    "Ticket": {"type": "object", "properties": {"repo": {"type": "string"}, "tries": {"type": "integer", "default": 0}},
               "required": ["repo"]}
  }
}"#;

fn object(json: Json) -> Object {
    match json {
        Json::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

fn start(world: &mut World, id: &str) -> Answer {
    let context = object(serde_json::json!({"repo": "acme/api"}));
    world.input(&Input::StartToken { token: id.into(), workflow: None, context }).unwrap()
}

fn claim(world: &mut World, task: u64, supervisor: &str) -> Grant {
    let input = Input::ClaimTask { task, supervisor: supervisor.into(), request: Some("r1".into()) };
    match world.input(&input).unwrap() {
        Answer::Granted(grant) => *grant,
        other => panic!("not granted: {other:?}"),
    }
}

fn report(task: u64, attempt: u64, outcome: Outcome) -> Input {
    Input::ReportTask {
        task,
        supervisor: Some("a".into()),
        attempt: Some(attempt),
        outcome,
        context: Object::new(),
        schedules: Vec::new(),
    }
}

fn event(name: &str, payload: Option<Json>) -> Outcome {
    Outcome::Event { event: name.into(), payload: payload.map(object) }
}

fn failed(error: &str, retry: bool) -> Outcome {
    Outcome::Failed { error: error.into(), retry }
}

fn refused(told: Result<Answer, Refusal>) -> &'static str {
    told.unwrap_err().code.as_str()
}

fn fire(id: &str, name: &str, key: Option<&str>) -> Input {
    Input::FireEvent { token: id.into(), event: name.into(), payload: None, key: key.map(Into::into) }
}

#[test]
fn a_token_goes_from_start_to_end() {
    let mut world = World::new(SDLC);
    assert!(matches!(start(&mut world, "T-1"), Answer::Created(_)));
    let grant = claim(&mut world, 1, "a");
    assert_eq!((grant.task.attempt, grant.lease_ms), (1, 120_000));
    assert_eq!(&*grant.context, r#"{"tries":0,"repo":"acme/api"}"#, "defaults of the schema come first");
    assert_eq!(grant.deadline.map(|t| t.0), Some(1_000_000 + 6 * 3_600_000));
    assert_eq!(
        world.input(&Input::StartTask { task: 1, attempt: 1, supervisor: "a".into(), incarnation: None }),
        Ok(Answer::Run)
    );
    world.input(&report(1, 1, event("done", None))).unwrap();
    claim(&mut world, 2, "a");
    let tests = serde_json::json!({"passed": 3, "failed": 0});
    world.input(&report(2, 1, event("passed", Some(tests)))).unwrap();
    insta::assert_snapshot!(world.history("T-1"));
}

#[test]
fn starting_again_changes_nothing_and_case_is_no_difference() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    let before = world.history("T-1");
    assert!(matches!(start(&mut world, "T-1"), Answer::Token(_)));
    assert_eq!(world.history("T-1"), before);
    let again = Input::StartToken { token: "t-1".into(), workflow: None, context: Object::new() };
    let refusal = world.input(&again).unwrap_err();
    assert_eq!(refusal.code, Code::InvalidTokenId);
    assert_eq!(
        refusal.message,
        "a token 'T-1' already exists; token ids are compared without regard to case"
    );
}

#[test]
fn a_context_that_breaks_its_schema_starts_nothing() {
    let mut world = World::new(SDLC);
    let input = Input::StartToken { token: "T-1".into(), workflow: None, context: Object::new() };
    assert_eq!(world.input(&input).unwrap_err().code, Code::InvalidContext);
    assert!(world.tokens.is_empty() && world.ledger.is_empty());
}

#[test]
fn a_key_is_used_once_and_a_refused_event_does_not_use_it() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    let refusal = world.input(&fire("T-1", "passed", Some("k"))).unwrap_err();
    assert_eq!(refusal.code, Code::InvalidPayload);
    let refusal = world.input(&fire("T-1", "unheard-of", Some("k"))).unwrap_err();
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (Code::EventNotAllowed, "the workflow 'sdlc' has no event 'unheard-of'")
    );
    assert!(matches!(world.input(&fire("T-1", "done", Some("k"))), Ok(Answer::Token(_))));
    let before = world.history("T-1");
    assert!(matches!(world.input(&fire("T-1", "stuck", Some("k"))), Ok(Answer::Duplicate(_))));
    assert_eq!(world.history("T-1"), before);
    insta::assert_snapshot!(before);
}

#[test]
fn an_ended_token_takes_no_events_and_says_so() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    world.input(&fire("T-1", "stuck", None)).unwrap();
    let refusal = world.input(&fire("T-1", "done", None)).unwrap_err();
    assert_eq!(refusal.code, Code::TokenNotActive);
    assert_eq!(refusal.message, "token 'T-1' is completed; it takes no events");
    for own in ["timeout", "error", "joined", "__started__"] {
        assert_eq!(world.input(&fire("T-1", own, None)).unwrap_err().code, Code::TokenNotActive);
    }
}

#[test]
fn a_failed_attempt_is_tried_again_until_retries_are_spent() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    for attempt in 1..=3 {
        claim(&mut world, 1, "a");
        world.input(&report(1, attempt, failed("boom", true))).unwrap();
    }
    insta::assert_snapshot!(world.history("T-1"));
}

#[test]
fn a_failure_that_no_retry_can_mend_spends_them_all() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    claim(&mut world, 1, "a");
    world.input(&report(1, 1, failed("bad input", false))).unwrap();
    assert_eq!(world.tokens["T-1"].0.status.as_str(), "failed");
}

#[test]
fn a_lease_that_ends_is_a_failed_attempt_that_names_who_went_silent() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    claim(&mut world, 1, "build-box-1");
    world.now = world.now.plus_ms(120_000);
    assert_eq!(
        world.input(&Input::ExpireLease { task: 1 }),
        Ok(Answer::Stale),
        "a lease is over once its end is past"
    );
    world.now = world.now.plus_ms(1);
    assert_eq!(world.input(&Input::ExpireLease { task: 1 }), Ok(Answer::Done));
    assert_eq!(
        world.input(&Input::ExpireLease { task: 1 }),
        Ok(Answer::Stale),
        "the second sweep finds nothing"
    );
    claim(&mut world, 1, "build-box-2");
    let late = Input::AddNote { task: 1, attempt: Some(1), text: "late".into() };
    assert_eq!(world.input(&late).unwrap_err().code, Code::AttemptOver);
    insta::assert_snapshot!(world.history("T-1"));
}

#[test]
fn a_renewed_lease_lasts_from_then_on() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    claim(&mut world, 1, "a");
    let renew = |who: &str| Input::RenewLease { task: 1, supervisor: who.into(), incarnation: None };
    world.now = world.now.plus_ms(100_000);
    assert_eq!(world.input(&renew("a")), Ok(Answer::Done));
    assert_eq!(world.input(&renew("b")).unwrap_err().code, Code::TaskNotHeld);
    world.now = world.now.plus_ms(100_000);
    assert_eq!(world.input(&Input::ExpireLease { task: 1 }), Ok(Answer::Stale));
}

#[test]
fn a_repeated_claim_gets_the_same_grant_while_it_is_held() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    let first = claim(&mut world, 1, "a");
    let repeat =
        |request: &str| Input::RepeatClaim { task: 1, supervisor: "a".into(), request: request.into() };
    world.now = world.now.plus_ms(1);
    let Ok(Answer::Granted(again)) = world.input(&repeat("r1")) else { panic!("not granted again") };
    assert_eq!(again.task.attempt, first.task.attempt);
    assert!(again.task.lease_until > first.task.lease_until);
    assert_eq!(world.input(&repeat("r2")), Ok(Answer::Stale));
    world.now = world.now.plus_ms(120_001);
    assert_eq!(world.input(&repeat("r1")), Ok(Answer::Stale), "a lease that ended is not revived");
}

#[test]
fn memory_is_of_the_state_and_goes_with_the_token() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    claim(&mut world, 1, "a");
    let set = |attempt, value: Option<&str>| Input::SetMemory {
        task: 1,
        attempt: Some(attempt),
        key: "dev".into(),
        value: value.map(Into::into),
    };
    world.input(&set(1, Some("1.50"))).unwrap();
    world.input(&report(1, 1, failed("boom", true))).unwrap();
    let grant = claim(&mut world, 1, "b");
    assert_eq!((grant.memory[0].key.as_str(), &*grant.memory[0].value), ("dev", "1.50"), "digit for digit");
    world.input(&set(2, None)).unwrap();
    world.input(&set(2, None)).unwrap();
    world.input(&set(2, Some("2"))).unwrap();
    world.input(&fire("T-1", "stuck", None)).unwrap();
    assert!(world.memory.is_empty());
    insta::assert_snapshot!(world.history("T-1"));
}

#[test]
fn memory_has_an_end() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    claim(&mut world, 1, "a");
    let value: std::sync::Arc<str> = format!("\"{}\"", "x".repeat(1 << 20)).into();
    let set = |n: u32| Input::SetMemory {
        task: 1,
        attempt: None,
        key: format!("k{n}"),
        value: Some(value.clone()),
    };
    for n in 0..15 {
        world.input(&set(n)).unwrap();
    }
    let refusal = world.input(&set(15)).unwrap_err();
    assert_eq!(refusal.code, Code::InvalidPayload);
    assert!(refusal.message.contains("at most 16 MiB"), "{}", refusal.message);
    world.input(&set(14)).unwrap();
}

#[test]
fn waiting_clears_the_lease_and_takes_a_report_from_outside() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    claim(&mut world, 1, "a");
    let outside = |outcome| Input::ReportTask {
        task: 1,
        supervisor: None,
        attempt: None,
        outcome,
        context: object(serde_json::json!({"repo": "acme/web", "b": 1, "a": 2})),
        schedules: Vec::new(),
    };
    assert_eq!(world.input(&outside(Outcome::Waiting)).unwrap_err().code, Code::TaskNotHeld);
    world.input(&report(1, 1, Outcome::Waiting)).unwrap();
    assert_eq!(
        world.input(&report(1, 1, event("done", None))).unwrap_err().code,
        Code::TaskNotHeld,
        "a lease is over"
    );
    world.input(&outside(event("done", None))).unwrap();
    assert_eq!(&*world.tokens["T-1"].1, r#"{"tries":0,"repo":"acme/web","b":1,"a":2}"#);
    insta::assert_snapshot!(world.history("T-1"));
}

#[test]
fn an_event_that_the_state_may_not_emit_is_recorded_and_saves_no_write() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    claim(&mut world, 1, "a");
    let Input::ReportTask { task, supervisor, attempt, .. } = report(1, 1, Outcome::Waiting) else {
        unreachable!()
    };
    let context = object(serde_json::json!({"repo": "x"}));
    let input = Input::ReportTask {
        task,
        supervisor,
        attempt,
        outcome: event("passed", None),
        context,
        schedules: vec![],
    };
    let refusal = world.input(&input).unwrap_err();
    assert_eq!(refusal.message, "'coding' may not emit 'passed'; it may emit: done, stuck");
    assert!(world.tokens["T-1"].1.contains("acme/api"));
    assert!(world.history("T-1").ends_with(r#"event_rejected {"event":"passed","reason":"'coding' may not emit 'passed'; it may emit: done, stuck"}"#));
}

#[test]
fn a_guard_counts_the_event_that_is_being_routed() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    let tests = || Some(serde_json::json!({"passed": 0, "failed": 1}));
    for (coding, testing) in [(1, 2), (3, 4), (5, 6)] {
        claim(&mut world, coding, "a");
        world.input(&report(coding, 1, event("done", None))).unwrap();
        claim(&mut world, testing, "a");
        world.input(&report(testing, 1, event("failed", tests()))).unwrap();
    }
    let token = &world.tokens["T-1"].0;
    assert_eq!((token.status.as_str(), token.state.as_str(), token.visit), ("completed", "testing", 3));
}

#[test]
fn a_timeout_covers_every_attempt_and_fails_a_token_that_has_no_way() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    claim(&mut world, 1, "a");
    world.input(&report(1, 1, failed("boom", true))).unwrap();
    assert_eq!(world.input(&Input::FireTimer { timer: 1 }), Ok(Answer::Stale), "it is not due");
    world.now = world.now.plus_ms(6 * 3_600_000);
    assert_eq!(world.input(&Input::FireTimer { timer: 1 }), Ok(Answer::Done));
    insta::assert_snapshot!(world.history("T-1"));
}

#[test]
fn a_routines_timer_dies_with_a_retry_and_fires_while_it_waits() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    claim(&mut world, 1, "a");
    let with_timer = |outcome, after: &str| {
        let Input::ReportTask { task, supervisor, attempt, context, .. } = report(1, 1, Outcome::Waiting)
        else {
            unreachable!()
        };
        let schedules = vec![Schedule { event: "nudge".into(), payload: None, after: after.into() }];
        Input::ReportTask { task, supervisor, attempt, outcome, context, schedules }
    };
    assert_eq!(world.input(&with_timer(Outcome::Waiting, "1w")).unwrap_err().code, Code::InvalidPayload);
    world.input(&with_timer(Outcome::Waiting, "30s")).unwrap();
    world.now = world.now.plus_ms(30_000);
    assert_eq!(world.input(&Input::FireTimer { timer: 2 }), Ok(Answer::Done));
    let token = &world.tokens["T-1"].0;
    assert_eq!((token.state.as_str(), token.visit), ("coding", 2));
    assert_eq!(world.input(&Input::FireTimer { timer: 2 }), Ok(Answer::Stale), "a timer fires once");
    insta::assert_snapshot!(world.history("T-1"));
}

#[test]
fn started_says_run_or_skip() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    claim(&mut world, 1, "a");
    let begin =
        |attempt, who: &str| Input::StartTask { task: 1, attempt, supervisor: who.into(), incarnation: None };
    assert_eq!(world.input(&begin(1, "a")), Ok(Answer::Run));
    let before = world.history("T-1");
    assert_eq!(world.input(&begin(1, "a")), Ok(Answer::Run), "a lost answer is repaired by asking again");
    assert_eq!(world.history("T-1"), before);
    assert!(matches!(world.input(&begin(1, "b")), Ok(Answer::Skip(_))));
    assert!(matches!(world.input(&begin(2, "a")), Ok(Answer::Skip(_))));
    world.input(&fire("T-1", "stuck", None)).unwrap();
    assert!(matches!(world.input(&begin(1, "a")), Ok(Answer::Skip(_))));
    let none = Input::StartTask { task: 9, attempt: 1, supervisor: "a".into(), incarnation: None };
    assert_eq!(world.input(&none).unwrap_err().code, Code::TaskNotFound);
}

#[test]
fn a_context_that_looks_like_a_number_to_serde_json_is_kept_as_it_came() {
    let mut world = World::new(SDLC);
    let text = r#"{"repo":"acme/api","odd":{"$serde_json::private::Number":"x"},"more":{"$serde_json::private::Number":"12"}}"#;
    let context = stateous_engine::json::parse_stored(text).unwrap();
    world.input(&Input::StartToken { token: "T-1".into(), workflow: None, context }).unwrap();
    world.input(&fire("T-1", "done", None)).unwrap();
    assert_eq!(&*world.tokens["T-1"].1, text.replacen('{', r#"{"tries":0,"#, 1));
}

#[test]
fn what_was_claimed_and_not_begun_goes_back_without_a_failure() {
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    let claim = || Input::ClaimTask { task: 1, supervisor: "a".into(), request: None };
    let give_back = |attempt, who: &str| Input::ReturnTask {
        task: 1,
        attempt,
        supervisor: who.into(),
        incarnation: None,
    };
    assert!(matches!(world.input(&claim()), Ok(Answer::Granted(_))));
    assert_eq!(refused(world.input(&give_back(1, "b"))), "task_not_held");
    assert_eq!(world.input(&give_back(1, "a")), Ok(Answer::Done));
    assert_eq!(
        refused(world.input(&give_back(1, "a"))),
        "task_not_held",
        "an old claim is not given back twice"
    );
    assert!(matches!(world.input(&claim()), Ok(Answer::Granted(_))));
    assert_eq!(refused(world.input(&give_back(1, "a"))), "attempt_over");
    let begin = Input::StartTask { task: 1, attempt: 2, supervisor: "a".into(), incarnation: None };
    assert_eq!(world.input(&begin), Ok(Answer::Run));
    assert_eq!(refused(world.input(&give_back(2, "a"))), "task_not_held", "what has begun is reported");
    let task = &world.tasks[&1];
    assert_eq!((task.attempt, task.failures), (2, 0));
}

#[test]
fn a_second_supervisor_with_the_name_is_fenced_and_a_new_start_takes_its_own_back() {
    let of = |folder: &str, start| Incarnation { folder: folder.into(), start };
    let claim = |by: &Incarnation| Input::ClaimTask {
        task: 1,
        supervisor: "a".into(),
        request: Some(by.claim_id("r")),
    };
    let renew = |incarnation| Input::RenewLease { task: 1, supervisor: "a".into(), incarnation };
    let begin = |incarnation| Input::StartTask { task: 1, attempt: 1, supervisor: "a".into(), incarnation };
    let abandon = |incarnation| Input::AbandonTask { task: 1, incarnation };
    let mut world = World::new(SDLC);
    start(&mut world, "T-1");
    assert!(matches!(world.input(&claim(&of("f", 1))), Ok(Answer::Granted(_))));
    assert!(matches!(world.input(&begin(Some(of("g", 5)))), Ok(Answer::Skip(_))));
    assert_eq!(refused(world.input(&renew(Some(of("g", 5))))), "task_not_held");
    for speaks in [None, Some(of("f", 1)), Some(of("f", 2))] {
        assert_eq!(world.input(&renew(speaks)), Ok(Answer::Done));
    }
    assert_eq!(world.input(&begin(Some(of("f", 1)))), Ok(Answer::Run));

    assert_eq!(world.input(&abandon(of("g", 9))), Ok(Answer::Stale));
    assert_eq!(world.input(&abandon(of("f", 1))), Ok(Answer::Stale));
    for start in 2..12 {
        assert_eq!(world.input(&abandon(of("f", start))), Ok(Answer::Done));
        assert_eq!(world.tasks[&1].failures, 0, "start {start}");
        assert!(matches!(world.input(&claim(&of("f", start))), Ok(Answer::Granted(_))));
    }
    assert_eq!(world.input(&abandon(of("f", 12))), Ok(Answer::Done));
    assert_eq!(
        world.tasks[&1].failures, 1,
        "a task that brings its machine down again and again is at fault"
    );
    let returned = world.ledger.iter().filter(|entry| entry.kind.as_str() == "task_returned").count();
    assert_eq!(returned, 10);
}
