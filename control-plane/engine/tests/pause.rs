//! Pause, resume and cancel, told as lists of inputs; what they did is the token's ledger.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use stateous_engine::change::Answer;
use stateous_engine::input::{Outcome, Schedule};
use stateous_engine::json::{Json, Object};
use stateous_engine::model::Status;
use stateous_engine::{Code, Input, Refusal};
use world::World;

/// `draft` cannot take `error`, `review` can; `torn` has two guards that can both hold.
const ORDERS: &str = r#"{
  "stateous": 1, "workflow": "orders", "context": "Order",
  "states": {
    "draft": {"timeout": "1h", "retries": 1, "emits": ["submitted", "torn"]},
    "review": {"emits": ["reviewed"]}
  },
  "events": {"submitted": {}, "torn": {}, "reviewed": {}, "nudge": {}, "go": {"payload": "Go"}},
  "transitions": [
    {"from": "__start__", "to": "draft"},
    {"from": "draft", "to": "review", "on": "submitted"},
    {"from": "draft", "to": "draft", "on": "nudge"},
    {"from": "draft", "to": "review", "on": "go", "when": "payload.far"},
    {"from": "draft", "to": "review", "on": "torn", "when": "ctx['n'] > 0"},
    {"from": "draft", "to": "draft", "on": "torn", "when": "ctx['n'] > 1"},
    {"from": "review", "to": "__end__", "on": "reviewed"},
    {"from": "review", "to": "draft", "on": "error"}
  ],
  "schemas": {
    "Order": {"type": "object", "properties": {"n": {"type": "integer"}}, "maxProperties": 2},
    "Go": {"type": "object", "properties": {"far": {"type": "boolean"}}, "required": ["far"]}
  }
}"#;
/// A minute, in milliseconds.
const MINUTE: i64 = 60_000;

/// A world with the token `T` in `draft`.
fn started() -> World {
    let mut world = World::new(ORDERS);
    let start = Input::StartToken { token: "T".into(), workflow: None, context: object(r#"{"n":0}"#) };
    world.input(&start).unwrap();
    world
}

/// The same, with task 1 claimed by supervisor `a`, and then the token paused.
fn at_work() -> World {
    let mut world = started();
    claim(&mut world, 1).unwrap();
    pause(&mut world);
    world
}

fn object(text: &str) -> Object {
    stateous_engine::json::parse_stored(text).unwrap()
}

fn claim(world: &mut World, task: u64) -> Result<Answer, Refusal> {
    world.input(&Input::ClaimTask { task, supervisor: "a".into(), request: None })
}

fn pause(world: &mut World) {
    assert_eq!(told(world, &Input::PauseToken { token: "T".into() }), Status::Paused);
}

fn resume(world: &mut World) -> Status {
    told(world, &Input::ResumeToken { token: "T".into() })
}

/// Gives an input that is answered with the token, and says the token's status.
fn told(world: &mut World, input: &Input) -> Status {
    match world.input(input).unwrap() {
        Answer::Token(view) => {
            assert_eq!((&view.token, &view.context), (&world.tokens["T"].0, &world.tokens["T"].1));
            view.token.status
        }
        other => panic!("not a token: {other:?}"),
    }
}

fn fire(event: &str, payload: Option<&str>, key: Option<&str>) -> Input {
    Input::FireEvent {
        token: "T".into(),
        event: event.into(),
        payload: payload.map(object),
        key: key.map(Into::into),
    }
}

fn report(task: u64, outcome: Outcome, context: &str, timers: &[&str]) -> Input {
    let timer = |after: &&str| Schedule { event: "nudge".into(), payload: None, after: (*after).into() };
    Input::ReportTask {
        task,
        supervisor: Some("a".into()),
        attempt: None,
        outcome,
        context: object(context),
        schedules: timers.iter().map(timer).collect(),
    }
}

fn event(name: &str) -> Outcome {
    Outcome::Event { event: name.into(), payload: None }
}

fn failed(error: &str) -> Outcome {
    Outcome::Failed { error: error.into(), retry: true }
}

/// The history from entry `first` on: what came before is the same in every test.
fn since(world: &World, first: usize) -> String {
    world.history("T").lines().skip(first - 1).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_arrives_meanwhile_applies_on_resume_in_order() {
    let mut world = started();
    pause(&mut world);
    // Nobody asks whether they fit: `reviewed` does not yet, `submitted` will not any more.
    assert_eq!(told(&mut world, &fire("go", Some(r#"{"far":true}"#), Some("k"))), Status::Paused);
    assert_eq!(told(&mut world, &fire("submitted", None, None)), Status::Paused);
    assert_eq!(told(&mut world, &fire("reviewed", None, None)), Status::Paused);
    assert_eq!(told(&mut world, &fire("nudge", None, None)), Status::Paused);
    // Its key is used up, now and later.
    assert!(matches!(world.input(&fire("nudge", None, Some("k"))), Ok(Answer::Duplicate(_))));
    assert_eq!(resume(&mut world), Status::Completed);
    assert!(matches!(world.input(&fire("nudge", None, Some("k"))), Ok(Answer::Duplicate(_))));
    assert!(world.held.is_empty());
    insta::assert_snapshot!(since(&world, 6));
}

#[test]
fn each_pause_counts_its_own_arrivals() {
    let mut world = started();
    for _ in 0..2 {
        pause(&mut world);
        told(&mut world, &fire("nudge", None, None));
        assert_eq!(world.held.keys().collect::<Vec<_>>(), [&("T".to_owned(), 1)]);
        assert_eq!(resume(&mut world), Status::Active);
    }
    assert_eq!((world.tokens["T"].0.visit, world.tokens["T"].0.paused_at), (3, None));
}

#[test]
fn an_event_that_no_state_could_take_is_refused_as_ever() {
    let mut world = started();
    pause(&mut world);
    let mut refused = |input: &Input| world.input(input).unwrap_err().code;
    assert_eq!(refused(&fire("timeout", None, Some("k"))), Code::EventNotAllowed);
    assert_eq!(refused(&fire("unheard-of", None, Some("k"))), Code::EventNotAllowed);
    assert_eq!(refused(&fire("go", None, Some("k"))), Code::InvalidPayload);
    assert!(world.held.is_empty());
    told(&mut world, &fire("nudge", None, Some("k")));
}

#[test]
fn an_outcome_is_held_whole() {
    let mut world = at_work();
    let outcome = report(1, event("submitted"), r#"{"n":5}"#, &["10m"]);
    assert_eq!(told(&mut world, &outcome), Status::Paused);
    assert_eq!(&*world.tokens["T"].1, r#"{"n":0}"#);
    // The work is done, whatever becomes of it.
    assert_eq!(world.input(&outcome).unwrap_err().message, "task 1 is done; no one works on it now");
    world.now = world.now.plus_ms(30 * MINUTE);
    assert_eq!(resume(&mut world), Status::Active);
    assert_eq!(&*world.tokens["T"].1, r#"{"n":5}"#);
    insta::assert_snapshot!(since(&world, 7));
}

#[test]
fn an_outcome_is_refused_as_if_the_token_were_active() {
    let mut world = at_work();
    let mut refused = |input: &Input| world.input(input).unwrap_err().code;
    assert_eq!(refused(&report(1, event("reviewed"), "{}", &[])), Code::EventNotAllowed);
    assert_eq!(refused(&report(1, event("torn"), "{}", &[])), Code::EventNotAllowed);
    assert_eq!(refused(&report(1, event("submitted"), r#"{"n":"x"}"#, &[])), Code::InvalidContext);
    assert_eq!(refused(&report(1, event("submitted"), "{}", &["1w"])), Code::InvalidPayload);
    assert!(world.held.is_empty());
    insta::assert_snapshot!(since(&world, 7));
}

#[test]
fn a_held_outcome_is_dropped_when_the_token_moved_on() {
    let mut world = at_work();
    told(&mut world, &fire("nudge", None, None));
    told(&mut world, &report(1, event("submitted"), r#"{"n":5}"#, &["10m"]));
    assert_eq!(resume(&mut world), Status::Active);
    assert_eq!(&*world.tokens["T"].1, r#"{"n":0}"#, "a dropped outcome saves nothing");
    assert_eq!(world.timers.len(), 1, "and sets no timer");
    insta::assert_snapshot!(since(&world, 7));
}

#[test]
fn a_held_outcome_is_dropped_when_its_writes_no_longer_fit() {
    let mut world = at_work();
    told(&mut world, &report(1, event("submitted"), r#"{"a":1}"#, &[]));
    // Nothing in the rules leads here: a hand changed the row.
    world.tokens.get_mut("T").unwrap().1 = r#"{"n":0,"b":2}"#.into();
    resume(&mut world);
    let history = world.history("T");
    let last = history.lines().last().unwrap();
    assert!(
        last.contains(
            r#"event_dropped {"event":"submitted","reason":"the context changes break the schema: "#
        ),
        "{last}"
    );
}

#[test]
fn two_guards_that_hold_fail_the_token_only_on_resume() {
    let mut world = at_work();
    assert_eq!(told(&mut world, &report(1, event("torn"), r#"{"n":2}"#, &[])), Status::Paused);
    assert_eq!(resume(&mut world), Status::Failed);
    insta::assert_snapshot!(since(&world, 7));
}

#[test]
fn waiting_is_applied_at_once_and_timers_get_back_what_they_stood_still() {
    let mut world = at_work();
    world.now = world.now.plus_ms(10 * MINUTE);
    assert_eq!(told(&mut world, &report(1, Outcome::Waiting, r#"{"n":1}"#, &["5m"])), Status::Paused);
    assert_eq!(&*world.tokens["T"].1, r#"{"n":1}"#);
    world.now = world.now.plus_ms(50 * MINUTE);
    for timer in [1, 2] {
        assert_eq!(
            world.input(&Input::FireTimer { timer }),
            Ok(Answer::Stale),
            "a paused token's timer waits"
        );
    }
    assert_eq!(resume(&mut world), Status::Active);
    // The timeout was set before the pause and stood still for all of it, the timer only for what was left.
    let due = |world: &World| world.timers.values().map(|t| t.due_at.ms_since(world.now)).collect::<Vec<_>>();
    assert_eq!(due(&world), [60 * MINUTE, 5 * MINUTE]);
    assert_eq!(world.input(&Input::FireTimer { timer: 2 }), Ok(Answer::Stale), "it is not due yet");
    world.now = world.now.plus_ms(5 * MINUTE);
    assert_eq!(world.input(&Input::FireTimer { timer: 2 }), Ok(Answer::Done));
    assert_eq!(world.tokens["T"].0.visit, 2);
}

#[test]
fn a_failed_attempt_is_queued_again_and_given_out_only_after_the_resume() {
    let mut world = at_work();
    told(&mut world, &report(1, failed("boom"), "{}", &[]));
    assert_eq!(claim(&mut world, 1), Ok(Answer::Stale));
    assert_eq!(resume(&mut world), Status::Active);
    assert!(matches!(claim(&mut world, 1), Ok(Answer::Granted(_))));
    insta::assert_snapshot!(since(&world, 7));
}

#[test]
fn the_last_failed_attempt_is_held_as_error() {
    let mut world = started();
    world.input(&fire("submitted", None, None)).unwrap();
    claim(&mut world, 2).unwrap();
    pause(&mut world);
    // The lease goes on while the token stands still, and ends.
    world.now = world.now.plus_ms(2 * MINUTE + 1);
    assert_eq!(world.input(&Input::ExpireLease { task: 2 }), Ok(Answer::Done));
    assert_eq!(world.tokens["T"].0.status, Status::Paused);
    assert_eq!(resume(&mut world), Status::Active);
    assert_eq!((world.tokens["T"].0.state.as_str(), world.tokens["T"].0.visit), ("draft", 2));
    insta::assert_snapshot!(since(&world, 10));
}

#[test]
fn a_held_error_that_no_transition_takes_fails_the_token() {
    let mut world = at_work();
    told(&mut world, &report(1, failed("boom"), "{}", &[]));
    assert_eq!(resume(&mut world), Status::Active);
    claim(&mut world, 1).unwrap();
    pause(&mut world);
    told(&mut world, &report(1, failed("boom again"), "{}", &[]));
    told(&mut world, &fire("nudge", None, None));
    assert_eq!(resume(&mut world), Status::Failed);
    insta::assert_snapshot!(since(&world, 11));
}

#[test]
fn a_held_error_is_dropped_when_an_earlier_event_moved_the_token() {
    let mut world = at_work();
    told(&mut world, &fire("nudge", None, None));
    let spent = Outcome::Failed { error: "bad input".into(), retry: false };
    told(&mut world, &report(1, spent, "{}", &[]));
    assert_eq!(resume(&mut world), Status::Active);
    assert!(
        world
            .history("T")
            .ends_with(r#"event_dropped {"event":"error","reason":"the token left the state it came from"}"#)
    );
}

#[test]
fn a_routine_that_runs_goes_on() {
    let mut world = at_work();
    let start = Input::StartTask { task: 1, attempt: 1, supervisor: "a".into(), incarnation: None };
    assert_eq!(world.input(&start), Ok(Answer::Run));
    let note = Input::AddNote { task: 1, attempt: Some(1), text: "half way".into() };
    assert_eq!(world.input(&note), Ok(Answer::Done));
    let memory = Input::SetMemory { task: 1, attempt: None, key: "k".into(), value: Some("1".into()) };
    assert_eq!(world.input(&memory), Ok(Answer::Done));
    world.now = world.now.plus_ms(MINUTE);
    let renew = Input::RenewLease { task: 1, supervisor: "a".into(), incarnation: None };
    assert_eq!(world.input(&renew), Ok(Answer::Done));
    assert_eq!(world.tasks[&1].lease_until, Some(world.now.plus_ms(2 * MINUTE)));
    assert_eq!(resume(&mut world), Status::Active);
    assert_eq!(told(&mut world, &report(1, event("submitted"), "{}", &[])), Status::Active);
}

#[test]
fn cancel_stops_all_and_drops_what_was_held() {
    let mut world = at_work();
    let memory = Input::SetMemory { task: 1, attempt: None, key: "k".into(), value: Some("1".into()) };
    world.input(&memory).unwrap();
    told(&mut world, &fire("nudge", None, Some("k")));
    told(&mut world, &fire("submitted", None, None));
    assert_eq!(told(&mut world, &Input::CancelToken { token: "T".into() }), Status::Cancelled);
    assert!(world.held.is_empty() && world.memory.is_empty() && world.timers.is_empty());
    assert_eq!(world.input(&fire("nudge", None, None)).unwrap_err().code, Code::TokenNotActive);
    let late = report(1, event("submitted"), "{}", &[]);
    assert_eq!(world.input(&late).unwrap_err().code, Code::TaskNotHeld);
    insta::assert_snapshot!(since(&world, 7));
}

#[test]
fn an_active_token_can_be_cancelled() {
    let mut world = started();
    assert_eq!(told(&mut world, &Input::CancelToken { token: "T".into() }), Status::Cancelled);
    assert_eq!(world.tokens["T"].0.state, "draft", "an ended token keeps its last state");
    insta::assert_snapshot!(since(&world, 6));
}

#[test]
fn a_token_in_another_status_is_not_steered() {
    let mut world = started();
    let mut lines = Vec::new();
    let mut ask = |world: &mut World, token: &str| {
        let token = || token.to_owned();
        for input in [
            Input::PauseToken { token: token() },
            Input::ResumeToken { token: token() },
            Input::CancelToken { token: token() },
        ] {
            let before = world.history("T");
            if let Err(refusal) = world.input(&input) {
                assert_eq!(world.history("T"), before, "nothing is recorded");
                lines.push(format!("{}: {refusal}", refusal.code.as_str()));
            }
        }
    };
    ask(&mut world, "nobody");
    // Paused, resumed and cancelled in turn, and then it has ended.
    ask(&mut world, "T");
    ask(&mut world, "T");
    let mut world = started();
    let refusal = world.input(&Input::ResumeToken { token: "T".into() }).unwrap_err();
    lines.push(format!("{}: {refusal}", refusal.code.as_str()));
    pause(&mut world);
    let refusal = world.input(&Input::PauseToken { token: "T".into() }).unwrap_err();
    lines.push(format!("{}: {refusal}", refusal.code.as_str()));
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn payloads_come_back_digit_for_digit() {
    let mut world = started();
    pause(&mut world);
    told(&mut world, &fire("go", Some(r#"{"far":true,"exact":1.50}"#), None));
    resume(&mut world);
    let payload = world.tokens["T"].0.entered_by.payload.clone().map(Json::Object);
    assert_eq!(payload.unwrap().to_string(), r#"{"far":true,"exact":1.50}"#);
}
