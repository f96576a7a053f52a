//! A ledger that cannot be one is found out, with the entry that does not follow. That a ledger gives its rows is the model
//! check's work, and on a real database the conformance suite's.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[expect(dead_code, reason = "ledgers are read as entries here, not as text")]
mod world;

use stateous_engine::input::{Outcome, Schedule};
use stateous_engine::json::{Object, parse_stored};
use stateous_engine::model::{Entry, Kind, Private};
use stateous_engine::{Input, replay};
use world::World;

const GRAPH: &str = r#"{
  "stateous": 1, "workflow": "orders",
  "states": {"draft": {"timeout": "1h", "emits": ["nudge"]}},
  "events": {"nudge": {}},
  "transitions": [{"from": "__start__", "to": "draft"}, {"from": "draft", "to": "draft", "on": "nudge"}],
  "schemas": {}
}"#;

/// The ledger of a token that has set a timer, fired it, and remembered something.
fn ledger() -> Vec<Entry> {
    let mut world = World::new(GRAPH);
    let context = parse_stored(r#"{"n":1}"#).unwrap();
    let nudge = Schedule { event: "nudge".into(), payload: None, after: "5m".into() };
    for input in [
        Input::StartToken { token: "T".into(), workflow: None, context },
        Input::ClaimTask { task: 1, supervisor: "a".into(), request: None },
        Input::SetMemory { task: 1, attempt: None, key: "k".into(), value: Some("1".into()) },
        Input::ReportTask {
            task: 1,
            supervisor: Some("a".into()),
            attempt: None,
            outcome: Outcome::Waiting,
            context: parse_stored(r#"{"n":2}"#).unwrap(),
            schedules: vec![nudge],
        },
    ] {
        world.input(&input).unwrap();
    }
    world.now = world.now.plus_ms(300_000);
    world.input(&Input::FireTimer { timer: 2 }).unwrap();
    world.ledger
}

/// Changes the ledger's only entry of a kind.
fn with(kind: Kind, change: impl Fn(&mut Entry)) -> Vec<Entry> {
    let mut ledger = ledger();
    change(ledger.iter_mut().rfind(|e| e.kind == kind).unwrap());
    ledger
}

fn without(kind: Kind) -> Vec<Entry> {
    ledger().into_iter().filter(|e| e.kind != kind).collect()
}

#[test]
fn what_no_token_has_lived_is_no_ledger() {
    assert_eq!(replay(&[]), Ok(None));
    assert!(replay(&ledger()).unwrap().is_some());
    let mut lines = Vec::new();
    let mut check = |ledger: &[Entry]| lines.push(replay(ledger).unwrap_err().to_string());
    check(&ledger()[1..]);
    check(&without(Kind::TaskClaimed));
    check(&[ledger(), ledger()].concat());
    check(&with(Kind::Entered, |e| e.token = "U".into()));
    check(&with(Kind::Entered, |e| e.data = Object::new()));
    check(&with(Kind::TaskClaimed, |e| e.kind = Kind::Started));
    check(&with(Kind::TaskClaimed, |e| e.data["task"] = 9.into()));
    check(&with(Kind::TaskClaimed, |e| e.kind = Kind::Resumed));
    check(&with(Kind::TaskClaimed, |e| e.kind = Kind::EventReplayed));
    check(&with(Kind::TimerSet, |e| e.data["due_at"] = "soon".into()));
    check(&with(Kind::TimerFired, |e| e.private = Some(Private::Timer { id: 9, payload: None })));
    // What earlier versions kept.
    check(&with(Kind::TimerFired, |e| e.private = None));
    check(&with(Kind::ContextChanged, |e| e.private = None));
    check(&with(Kind::MemorySet, |e| e.private = None));
    insta::assert_snapshot!(lines.join("\n"));
}
