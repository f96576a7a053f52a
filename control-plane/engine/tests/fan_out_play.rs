//! Random interleavings of a fan-out's life: its children end, its loop runs or is late, and people steer it.
//!
//! [`World`] checks after each input that counts equal rows, that every live token has a wake source, and that no live child
//! stands apart from its parent but where a sweep is still to reach it. Here it is added that a join of all fires only when
//! each child exists and has ended, that nothing moves under an act that was answered, that every ledger replays to the
//! rows, and that the loop, left alone, brings everything to rest. A crash needs no act of its own: a decision that was not
//! committed left nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use stateous_engine::Input;
use stateous_engine::change::Answer;
use stateous_engine::input::Outcome;
use stateous_engine::json::{Object, parse_stored};
use stateous_engine::model::{Status, Task, TaskStatus, Token};
use stateous_engine::replay::{Replayed, Rows, replay};
use world::World;

const GRAPH: &str = r#"{
  "stateous": 1, "workflow": "w",
  "states": {
    "flat": {"timeout": "1h", "parallel": ["host"], "each": "ctx['items']", "join": "all", "max_live": 230},
    "tree": {"parallel": ["group"], "each": "ctx['items']", "join": "all"},
    "some": {"parallel": ["group"], "each": "ctx['items']", "join": {"quorum": 2}, "max_live": 2},
    "race": {"parallel": ["host"], "each": "ctx['items']", "join": "any"},
    "rest": {"emits": ["again"]}
  },
  "events": {"skip": {}, "again": {}},
  "transitions": [
    {"from": "__start__", "to": "flat", "when": "ctx['mode'] == 'flat'"},
    {"from": "__start__", "to": "tree", "when": "ctx['mode'] == 'tree'"},
    {"from": "__start__", "to": "some", "when": "ctx['mode'] == 'some'"},
    {"from": "__start__", "to": "race", "otherwise": true},
    {"from": "flat", "to": "rest", "on": "joined"}, {"from": "flat", "to": "rest", "on": "skip"},
    {"from": "tree", "to": "rest", "on": "joined"}, {"from": "tree", "to": "rest", "on": "empty"},
    {"from": "some", "to": "rest", "on": "joined"}, {"from": "some", "to": "some", "on": "skip"},
    {"from": "race", "to": "rest", "on": "joined"},
    {"from": "rest", "to": "__end__", "on": "again"}
  ],
  "workflows": {
    "host": {
      "states": {"look": {"timeout": "2h", "emits": ["seen", "split"]}, "pair": {"parallel": ["leaf"], "join": "all"}},
      "events": {"seen": {}, "split": {}, "nudge": {}},
      "transitions": [
        {"from": "__start__", "to": "look"}, {"from": "look", "to": "__end__", "on": "seen"},
        {"from": "look", "to": "look", "on": "nudge"}, {"from": "look", "to": "pair", "on": "split"},
        {"from": "pair", "to": "__end__", "on": "joined"}
      ]
    },
    "leaf": {
      "states": {"dig": {"emits": ["seen"]}}, "events": {"seen": {}},
      "transitions": [{"from": "__start__", "to": "dig"}, {"from": "dig", "to": "__end__", "on": "seen"}]
    },
    "group": {
      "states": {"each": {"parallel": ["host"], "each": "ctx['item']", "join": "all"}}, "events": {},
      "transitions": [{"from": "__start__", "to": "each"}, {"from": "each", "to": "__end__", "on": "joined"}]
    }
  },
  "schemas": {}
}"#;

#[derive(Debug, Clone)]
enum Act {
    /// The loop does so many steps.
    Loop(usize),
    /// The nth open task is claimed, or reports.
    Work(usize, &'static str),
    Fail(usize),
    Nudge(usize),
    Skip,
    Pause,
    Resume,
    Cancel,
    Retry,
    /// So many milliseconds pass, and what is due happens.
    Pass(i64),
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (1..4usize).prop_map(Act::Loop),
        6 => (any::<usize>(), prop_oneof![3 => Just("seen"), 1 => Just("split")]).prop_map(|(n, e)| Act::Work(n, e)),
        2 => any::<usize>().prop_map(Act::Fail),
        2 => any::<usize>().prop_map(Act::Nudge),
        1 => Just(Act::Skip),
        3 => Just(Act::Pause),
        3 => Just(Act::Resume),
        1 => Just(Act::Cancel),
        1 => Just(Act::Retry),
        1 => prop_oneof![Just(1_000), Just(130_000), Just(3_700_000)].prop_map(Act::Pass),
    ]
}

/// Flat and nested, small ones and ones that no decision steers whole.
fn contexts() -> impl Strategy<Value = String> {
    let list = |n: usize| format!("[{}]", vec!["0"; n].join(","));
    prop_oneof![
        2 => (0..5usize).prop_map(move |n| format!(r#"{{"mode":"flat","items":{}}}"#, list(n))),
        2 => Just(format!(r#"{{"mode":"flat","items":{}}}"#, list(235))),
        2 => vec(0..4usize, 0..4).prop_map(move |groups| tree("tree", &groups)),
        1 => Just(tree("tree", &[90, 60, 70])),
        2 => vec(0..3usize, 1..5).prop_map(move |groups| tree("some", &groups)),
        1 => (1..5usize).prop_map(move |n| format!(r#"{{"mode":"race","items":{}}}"#, list(n))),
    ]
}

fn tree(mode: &str, groups: &[usize]) -> String {
    let groups: Vec<String> = groups.iter().map(|n| format!("[{}]", vec!["0"; *n].join(","))).collect();
    format!(r#"{{"mode":"{mode}","items":[{}]}}"#, groups.join(","))
}

/// The token's next step of the loop; says whether there was one.
fn step(play: &mut Play) -> bool {
    let pending = play.world.fan_outs.values().filter(|(row, _)| row.pending);
    let Some((next, _)) = pending.min_by_key(|(row, _)| (row.looked_at, row.key.clone())) else {
        return false;
    };
    let input = Input::Unfold(next.key.clone());
    assert_eq!(play.give(&input), Ok(Answer::Done), "what is pending has something to do");
    true
}

struct Play {
    world: World,
    seen: usize,
}

impl Play {
    fn give(&mut self, input: &Input) -> Result<Answer, stateous_engine::Refusal> {
        let told = self.world.input(input);
        let added = self.world.ledger[self.seen..].to_vec();
        self.seen = self.world.ledger.len();
        let grown: BTreeSet<&String> = added.iter().map(|entry| &entry.token).collect();
        grown.into_iter().for_each(|id| self.replays(id));
        for entry in &added {
            let joined = entry.data.get("event").is_some_and(|event| event == "joined");
            let all =
                entry.data.get("state").is_some_and(|s| ["flat", "tree", "each"].iter().any(|all| s == all));
            if entry.kind.as_str() == "event_accepted" && joined && all {
                let payload = &entry.data["payload"];
                let counted: u64 = payload["counts"]
                    .as_object()
                    .unwrap()
                    .values()
                    .filter_map(serde_json::Value::as_u64)
                    .sum();
                assert_eq!(payload["total"].as_u64(), Some(counted), "every child ended: {payload}");
                let visit = self.world.tokens[&entry.token].0.visits[entry.data["state"].as_str().unwrap()];
                let of_visit = format!("{}.{}.{visit}.", entry.token, entry.data["state"].as_str().unwrap());
                let children: Vec<&Token> = self
                    .world
                    .tokens
                    .values()
                    .map(|(t, _)| t)
                    .filter(|t| t.id.starts_with(&of_visit))
                    .collect();
                let own = children.iter().filter(|t| t.parent.as_ref() == Some(&entry.token));
                assert_eq!(own.count() as u64, counted, "every child exists");
                assert!(
                    children.iter().all(|t| t.status.is_ended()),
                    "no child lives on under {}",
                    entry.token
                );
            }
        }
        told
    }

    fn replays(&self, id: &str) {
        let world = &self.world;
        let (token, context) = &world.tokens[id];
        let entries: Vec<_> = world.ledger.iter().filter(|entry| entry.token == id).collect();
        let rows = Rows {
            token,
            context,
            tasks: world.tasks.values().filter(|task| task.token == id).collect(),
            timers: world.timers.values().filter(|timer| timer.token == id).collect(),
            held: world.held.values().filter(|held| held.token == id).collect(),
            memory: Vec::new(),
        };
        let told = replay(entries).unwrap().unwrap();
        assert_eq!(
            told,
            Replayed::of_rows(&rows),
            "the ledger of {id} tells its rows:\n{}",
            world.history(id)
        );
    }

    fn open_task(&self, nth: usize) -> Option<Task> {
        let open: Vec<&Task> = self.world.tasks.values().filter(|task| task.status.is_open()).collect();
        (!open.is_empty()).then(|| open[nth % open.len()].clone())
    }

    fn top(&self) -> Status {
        self.world.tokens["S"].0.status
    }

    fn work(&mut self, nth: usize, outcome: Outcome) {
        let Some(task) = self.open_task(nth) else { return };
        let stood = self.top() != Status::Active;
        let before = self.world.tokens[&task.token].0.clone();
        let input = if task.status == TaskStatus::Queued {
            Input::ClaimTask { task: task.id, supervisor: "vm".into(), request: None }
        } else {
            Input::ReportTask {
                task: task.id,
                supervisor: None,
                attempt: None,
                outcome,
                context: Object::new(),
                schedules: Vec::new(),
            }
        };
        let told = self.give(&input);
        let after = &self.world.tokens[&task.token].0;
        if stood {
            assert!(
                !matches!(told, Ok(Answer::Granted(_))),
                "nothing is given out under a pause or a cancel"
            );
            assert_eq!(
                (&after.state, after.visit),
                (&before.state, before.visit),
                "nothing moves then either"
            );
        }
    }

    fn act(&mut self, act: &Act) {
        let id = || "S".to_owned();
        match act {
            Act::Loop(steps) => (0..*steps).for_each(|_| {
                step(self);
            }),
            Act::Work(nth, event) => {
                self.work(*nth, Outcome::Event { event: (*event).into(), payload: None });
            }
            Act::Fail(nth) => self.work(*nth, Outcome::Failed { error: "no route".into(), retry: false }),
            Act::Nudge(nth) => {
                let tokens: Vec<String> = self.world.tokens.keys().cloned().collect();
                let token = tokens[nth % tokens.len()].clone();
                let _ =
                    self.give(&Input::FireEvent { token, event: "nudge".into(), payload: None, key: None });
            }
            Act::Skip => {
                let _ = self.give(&Input::FireEvent {
                    token: id(),
                    event: "skip".into(),
                    payload: None,
                    key: None,
                });
            }
            Act::Pause => drop(self.give(&Input::PauseToken { token: id() })),
            Act::Resume => drop(self.give(&Input::ResumeToken { token: id() })),
            Act::Cancel => drop(self.give(&Input::CancelToken { token: id() })),
            Act::Retry => drop(self.give(&Input::RetryToken { token: id() })),
            Act::Pass(ms) => {
                self.world.now = self.world.now.plus_ms(*ms);
                let now = self.world.now;
                let over =
                    self.world.tasks.values().filter(|t| t.lease_until.is_some_and(|until| until < now));
                let over: Vec<u64> = over.map(|t| t.id).collect();
                over.into_iter().for_each(|task| drop(self.give(&Input::ExpireLease { task })));
                let due: Vec<u64> =
                    self.world.timers.values().filter(|t| t.due_at <= now).map(|t| t.id).collect();
                due.into_iter().take(5).for_each(|timer| drop(self.give(&Input::FireTimer { timer })));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_order_counts_hold_and_nothing_joins_early(context in contexts(), acts in vec(acts(), 1..60)) {
        let mut play = Play { world: World::new(GRAPH), seen: 0 };
        let context = parse_stored(&context).unwrap();
        play.give(&Input::StartToken { token: "S".into(), workflow: None, context }).unwrap();
        for act in &acts {
            play.act(act);
        }
        // Left alone, the loop comes to rest, and everybody stands or moves as the top token does.
        let mut steps = 0;
        while step(&mut play) {
            steps += 1;
            prop_assert!(steps < 1_000, "the loop comes to rest");
        }
        let top = play.top();
        for (token, _) in play.world.tokens.values().filter(|(token, _)| !token.status.is_ended()) {
            prop_assert_eq!(token.status, top, "{}", token.id);
        }
        // Whatever happened, a cancel ends it all.
        if !top.is_ended() {
            play.give(&Input::CancelToken { token: "S".into() }).unwrap();
            while step(&mut play) {}
        }
        prop_assert!(play.world.tokens.values().all(|(token, _)| token.status.is_ended()));
        prop_assert!(play.world.fan_outs.is_empty() && play.world.held.is_empty());
    }
}
