//! Parallel states, told as lists of inputs; what they did is the ledger of the family.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use stateous_engine::change::Answer;
use stateous_engine::input::Outcome;
use stateous_engine::json::{Object, parse_stored};
use stateous_engine::model::Status;
use stateous_engine::{Code, Input, Refusal};
use world::World;

/// `checks` waits for both children, `race` for the first; `audit` is parallel itself, two levels down.
const RELEASE: &str = r#"{
  "stateous": 1, "workflow": "release", "context": "Release",
  "states": {
    "build": {"emits": ["built", "rushed"]},
    "checks": {"timeout": "1h", "parallel": ["lint", "audit"], "join": "all", "inputs": ["sha", "level"]},
    "race": {"parallel": ["lint", "probe"], "join": "any"},
    "narrow": {"parallel": ["picky"], "join": "all", "inputs": ["level"]}
  },
  "events": {"built": {}, "rushed": {}, "skip": {}, "narrowed": {}},
  "transitions": [
    {"from": "__start__", "to": "race", "when": "ctx['sha'] == 'race'"},
    {"from": "__start__", "to": "narrow", "when": "ctx['sha'] == 'narrow'"},
    {"from": "__start__", "to": "build", "otherwise": true},
    {"from": "build", "to": "checks", "on": "built"},
    {"from": "build", "to": "race", "on": "rushed"},
    {"from": "build", "to": "narrow", "on": "narrowed"},
    {"from": "checks", "to": "__end__", "on": "joined", "when": "branches.all(status == 'completed')"},
    {"from": "checks", "to": "build", "on": "joined", "when": "branches.any(workflow == 'lint' and status == 'failed')"},
    {"from": "checks", "to": "build", "on": "skip"},
    {"from": "race", "to": "__end__", "on": "joined"},
    {"from": "narrow", "to": "__end__", "on": "joined"}
  ],
  "workflows": {
    "lint": {
      "context": "Lint", "states": {"scan": {"timeout": "10m", "emits": ["clean"]}}, "events": {"clean": {"payload": "Clean"}},
      "transitions": [{"from": "__start__", "to": "scan"}, {"from": "scan", "to": "__end__", "on": "clean"}]
    },
    "audit": {
      "states": {"both": {"parallel": ["probe"], "join": "all", "inputs": ["sha"]}, "sum": {"emits": ["summed"]}},
      "events": {"summed": {}},
      "transitions": [
        {"from": "__start__", "to": "both"},
        {"from": "both", "to": "sum", "on": "joined"},
        {"from": "sum", "to": "__end__", "on": "summed"}
      ]
    },
    "probe": {
      "states": {"look": {"emits": ["seen"]}}, "events": {"seen": {}},
      "transitions": [{"from": "__start__", "to": "look"}, {"from": "look", "to": "__end__", "on": "seen"}]
    },
    "picky": {
      "context": "Picky", "states": {"look": {"emits": ["seen"]}}, "events": {"seen": {}},
      "transitions": [{"from": "__start__", "to": "look"}, {"from": "look", "to": "__end__", "on": "seen"}]
    }
  },
  "schemas": {
    "Release": {"type": "object", "properties": {"sha": {"type": "string"}}},
    "Lint": {"type": "object", "properties": {"rules": {"type": "integer", "default": 3}, "sha": {"type": "string"}}},
    "Clean": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "Picky": {"type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]}
  }
}"#;
/// An hour, in milliseconds.
const HOUR: i64 = 3_600_000;

/// A world with the token `R` in `build`.
fn built() -> World {
    let mut world = World::new(RELEASE);
    start(&mut world, "R", r#"{"sha":"abc","note":"not handed on"}"#).unwrap();
    world
}

/// The same in `checks`, on its first visit.
fn in_checks() -> World {
    let mut world = built();
    fire(&mut world, "R", "built").unwrap();
    world
}

fn start(world: &mut World, token: &str, context: &str) -> Result<Answer, Refusal> {
    let context: Object = parse_stored(context).unwrap();
    world.input(&Input::StartToken { token: token.into(), workflow: None, context })
}

fn fire(world: &mut World, token: &str, event: &str) -> Result<Answer, Refusal> {
    world.input(&Input::FireEvent { token: token.into(), event: event.into(), payload: None, key: None })
}

/// Claims the queued task of a token and reports `outcome`.
fn work(world: &mut World, token: &str, outcome: Outcome) -> Result<Answer, Refusal> {
    let task = world.tasks.values().find(|t| t.token == token && t.status.is_open()).unwrap().id;
    let supervisor = || "a".to_owned();
    world.input(&Input::ClaimTask { task, supervisor: supervisor(), request: None }).unwrap();
    world.input(&Input::ReportTask {
        task,
        supervisor: Some(supervisor()),
        attempt: None,
        outcome,
        context: Object::new(),
        schedules: Vec::new(),
    })
}

fn event(name: &str) -> Outcome {
    let (event, payload) =
        name.split_once(' ').map_or((name, None), |(e, p)| (e, Some(parse_stored(p).unwrap())));
    Outcome::Event { event: event.into(), payload }
}

fn failed(error: &str) -> Outcome {
    Outcome::Failed { error: error.into(), retry: true }
}

fn steer(world: &mut World, act: fn(String) -> Input) {
    world.input(&act("R".to_owned())).unwrap();
}

fn pause(token: String) -> Input {
    Input::PauseToken { token }
}

fn resume(token: String) -> Input {
    Input::ResumeToken { token }
}

fn cancel(token: String) -> Input {
    Input::CancelToken { token }
}

/// The ledger of the whole family, token by token in the order of their start.
fn histories(world: &World) -> String {
    let mut ids: Vec<&String> = Vec::new();
    for entry in &world.ledger {
        if !ids.contains(&&entry.token) {
            ids.push(&entry.token);
        }
    }
    let told =
        |id: &&String| format!("{id} {}\n{}\n", world.tokens[*id].0.status.as_str(), world.history(id));
    ids.iter().map(told).collect::<Vec<_>>().join("\n")
}

fn status(world: &World, token: &str) -> Status {
    world.tokens[token].0.status
}

#[test]
fn all_children_end_before_the_parent_goes_on() {
    let mut world = in_checks();
    work(&mut world, "R.checks.1.lint", event(r#"clean {"n":0}"#)).unwrap();
    work(&mut world, "R.checks.1.audit.both.1.probe", event("seen")).unwrap();
    assert_eq!(status(&world, "R"), Status::Active);
    work(&mut world, "R.checks.1.audit", event("summed")).unwrap();
    assert_eq!(status(&world, "R"), Status::Completed);
    insta::assert_snapshot!(histories(&world));
}

#[test]
fn a_failed_child_is_told_to_the_parent_and_the_next_visit_has_children_of_its_own() {
    let mut world = in_checks();
    work(&mut world, "R.checks.1.audit.both.1.probe", event("seen")).unwrap();
    work(&mut world, "R.checks.1.audit", event("summed")).unwrap();
    work(&mut world, "R.checks.1.lint", failed("no linter")).unwrap();
    fire(&mut world, "R", "built").unwrap();
    assert_eq!(status(&world, "R.checks.2.lint"), Status::Active);
    insta::assert_snapshot!(histories(&world));
}

#[test]
fn a_join_that_no_transition_takes_fails_the_parent() {
    let mut world = in_checks();
    // A nested child fails its parent's join only through a guard, and here nobody asks for a failed audit.
    work(&mut world, "R.checks.1.audit.both.1.probe", event("seen")).unwrap();
    work(&mut world, "R.checks.1.audit", failed("no sums")).unwrap();
    work(&mut world, "R.checks.1.lint", event("clean")).unwrap();
    assert_eq!(status(&world, "R"), Status::Failed);
    insta::assert_snapshot!(world.history("R"));
}

#[test]
fn the_first_child_to_end_wins_and_the_others_are_cancelled() {
    let mut world = built();
    fire(&mut world, "R", "rushed").unwrap();
    work(&mut world, "R.race.1.probe", event("seen")).unwrap();
    insta::assert_snapshot!(histories(&world));
}

#[test]
fn leaving_in_another_way_cancels_the_children_all_the_way_down() {
    let mut world = in_checks();
    fire(&mut world, "R", "skip").unwrap();
    insta::assert_snapshot!(histories(&world));
}

#[test]
fn a_timeout_of_the_parallel_state_cancels_the_children() {
    let mut world = in_checks();
    world.now = world.now.plus_ms(HOUR);
    let timer = world.timers.values().find(|t| t.token == "R").unwrap().id;
    world.input(&Input::FireTimer { timer }).unwrap();
    assert_eq!(status(&world, "R.checks.1.audit.both.1.probe"), Status::Cancelled);
    insta::assert_snapshot!(histories(&world));
}

#[test]
fn a_family_is_paused_and_resumed_as_one() {
    let mut world = in_checks();
    steer(&mut world, pause);
    assert_eq!(status(&world, "R.checks.1.audit.both.1.probe"), Status::Paused);
    // Held in the order of arrival over the family: the end of a child, then an event for its parent that would have
    // cancelled it.
    world.now = world.now.plus_ms(1000);
    world
        .input(&Input::FireEvent {
            token: "R.checks.1.lint".into(),
            event: "clean".into(),
            payload: Some(parse_stored(r#"{"n":7}"#).unwrap()),
            key: Some("k-1".into()),
        })
        .unwrap();
    fire(&mut world, "R", "skip").unwrap();
    fire(&mut world, "R.checks.1.audit.both.1.probe", "seen").unwrap();
    steer(&mut world, resume);
    insta::assert_snapshot!(histories(&world));
}

#[test]
fn a_childs_held_end_meets_the_join_on_resume() {
    let mut world = in_checks();
    work(&mut world, "R.checks.1.audit.both.1.probe", event("seen")).unwrap();
    work(&mut world, "R.checks.1.audit", event("summed")).unwrap();
    steer(&mut world, pause);
    assert_eq!(status(&world, "R.checks.1.audit"), Status::Completed, "an ended child stays as it ended");
    fire(&mut world, "R.checks.1.lint", "clean").unwrap();
    steer(&mut world, resume);
    assert_eq!(status(&world, "R"), Status::Completed);
}

#[test]
fn cancel_stops_a_paused_family_and_drops_what_each_held() {
    let mut world = in_checks();
    steer(&mut world, pause);
    fire(&mut world, "R.checks.1.lint", "clean").unwrap();
    fire(&mut world, "R", "skip").unwrap();
    fire(&mut world, "R.checks.1.audit.both.1.probe", "seen").unwrap();
    steer(&mut world, cancel);
    assert!(world.held.is_empty() && world.timers.is_empty());
    insta::assert_snapshot!(histories(&world));
}

#[test]
fn a_child_is_not_steered_on_its_own() {
    let mut world = in_checks();
    for act in [pause, resume, cancel] {
        let refusal = world.input(&act("R.checks.1.audit.both.1.probe".into())).unwrap_err();
        assert_eq!(refusal.code, Code::ChildToken);
        assert!(refusal.message.ends_with("'R' instead"), "{refusal}");
    }
}

#[test]
fn a_state_whose_children_cannot_start_is_not_entered() {
    let mut lines = Vec::new();
    let mut check = |context: &str, before: &dyn Fn(&mut World), id: &str, event: &str| {
        let mut world = World::new(RELEASE);
        before(&mut world);
        start(&mut world, id, context).unwrap();
        let refusal = fire(&mut world, id, event).unwrap_err();
        lines.push(format!("{}: {refusal}", refusal.code.as_str()));
        assert_eq!(world.tokens[id].0.state, "build");
    };
    let squat = |id: &'static str| move |world: &mut World| drop(start(world, id, "{}").unwrap());
    check("{}", &|_| (), "R", "narrowed");
    check(r#"{"level":"high"}"#, &|_| (), "R", "narrowed");
    check("{}", &squat("r.CHECKS.1.audit"), "R", "built");
    check("{}", &squat("R.checks.1.audit.both.1.probe"), "R", "built");
    check("{}", &|_| (), &"R".repeat(115), "built");
    check("{}", &|_| (), &"R".repeat(105), "built");
    let mut world = World::new(RELEASE);
    let refusal = start(&mut world, "N", r#"{"sha":"narrow"}"#).unwrap_err();
    lines.push(format!("{}: {refusal}", refusal.code.as_str()));
    assert!(world.tokens.is_empty());
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_token_can_start_in_a_parallel_state() {
    let mut world = World::new(RELEASE);
    start(&mut world, "R", r#"{"sha":"race"}"#).unwrap();
    assert_eq!(status(&world, "R.race.1.lint"), Status::Active);
    // A second start answers the token as it is, and starts no child again.
    let entries = world.ledger.len();
    start(&mut world, "R", "{}").unwrap();
    assert_eq!(world.ledger.len(), entries);
    // Its timeout fails the child, which ends the race.
    world.now = world.now.plus_ms(HOUR);
    let timer = world.timers.values().find(|t| t.token == "R.race.1.lint").unwrap().id;
    world.input(&Input::FireTimer { timer }).unwrap();
    assert_eq!(status(&world, "R"), Status::Completed);
    insta::assert_snapshot!(world.history("R"));
}

#[test]
fn a_late_end_of_an_older_visit_moves_nobody() {
    let mut world = in_checks();
    fire(&mut world, "R", "skip").unwrap();
    fire(&mut world, "R", "built").unwrap();
    let refusal = fire(&mut world, "R.checks.1.lint", "clean").unwrap_err();
    assert_eq!(refusal.code, Code::TokenNotActive);
    assert_eq!(world.tokens["R"].0.visit, 2);
}
