//! The model check: the engine against a second telling of the rules.
//!
//! Lists of inputs (start, fire, claim, report, expire, pause, resume, cancel, duplicates, late reports, time) are given to
//! the engine, over rows in memory that check their own invariants, and to a model that was written from the rules and not
//! from the engine. After every input both must agree on what was told, on every row, and on the ledger; and the ledger,
//! replayed, must give the rows. A list that finds a difference is made as short as can be and kept in `regressions.txt`,
//! from where it is played first ever after. `PROPTEST_CASES` makes the check longer.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod choices;
mod compare;
mod family;
mod flow;
mod flows;
mod inputs;
mod moves;
mod recorded;
mod reports;
mod rows;
mod rules;
mod steer;
mod tasks;
#[expect(dead_code, reason = "the stories of other tests read histories as text, the model compares them")]
#[path = "../world/mod.rs"]
mod world;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use serde_json::{Value as Json, json};
use stateous_engine::Code;
use stateous_engine::json::parse_stored;
use stateous_engine::model::Kind;

use compare::Pair;
use flow::{Flow, Object};
use inputs::Op;
use rules::Told;

/// Half as many lists for each workflow as proptest would play: 128, unless `PROPTEST_CASES` says otherwise.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let regressions = FileFailurePersistence::Direct("tests/model/regressions.txt");
    ProptestConfig {
        cases: config.cases.div_ceil(2),
        failure_persistence: Some(Box::new(regressions)),
        ..config
    }
}

/// Plays a list on one workflow.
fn agree(flow: Flow, list: &[Op]) {
    let mut pair = Pair::new(flow);
    for op in list {
        pair.play(op);
    }
    pair.replay_all();
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn one_token_alone(list in inputs::lists()) {
        agree(flows::orders(), &list);
    }

    #[test]
    fn a_join_of_all(list in inputs::lists()) {
        agree(flows::release(), &list);
    }

    #[test]
    fn a_join_of_any(list in inputs::lists()) {
        agree(flows::race(), &list);
    }

    #[test]
    fn parallel_states_within_parallel_states(list in inputs::lists()) {
        agree(flows::tower(), &list);
    }
}

/// Lists that never reach a rule would agree about it always.
#[test]
fn the_lists_reach_every_rule() {
    let mut runner = TestRunner::deterministic();
    let (mut kinds, mut codes, mut reasons) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut inputs = 0;
    for flow in flows::all() {
        for _ in 0..48 {
            let list = inputs::lists().new_tree(&mut runner).unwrap().current();
            let mut pair = Pair::new(flow.clone());
            for told in list.iter().flat_map(|op| pair.play(op)) {
                inputs += 1;
                if let Told::Refused(code) = told {
                    codes.insert(code);
                }
            }
            for entry in &pair.world.ledger {
                kinds.insert(entry.kind.as_str());
                reasons
                    .extend(entry.data.get("reason").and_then(|reason| reason.as_str()).map(str::to_owned));
            }
        }
    }
    assert!(inputs > 5000, "{inputs} inputs");
    assert_eq!(kinds, Kind::ALL.iter().map(|kind| kind.as_str()).collect());
    // What a body looks like is asked by the routes.
    let expected = Code::ALL.iter().filter(|code| **code != Code::InvalidBody);
    assert_eq!(codes, expected.map(|code| code.as_str()).collect());
    for words in [
        "matched more than one guard",
        "no guard matched",
        "no transition for",
        "has no transition on 'error'",
        "'error' cannot move it",
        "timed out: ",
        "cannot move the token: ",
        "the parent failed: ",
        "the parent left ",
        "the parent was cancelled",
        "the token was cancelled",
        "the token left the state it came from",
        "it takes no events",
        "would have an id longer",
        "is taken by another token",
        "cannot start: ",
        "may not emit",
        "no heartbeat for 2 minutes",
        "only Stateous fires it",
        "has no event",
    ] {
        assert!(reasons.iter().any(|reason| reason.contains(words)), "no list comes to: {words}");
    }
}

/// What the original's engine did with the same lists, entry by entry.
#[test]
fn the_original_tells_and_records_the_same() {
    let mut lines = include_str!("../fixtures/runs.jsonl").lines().map(|line| parse_stored(line).unwrap());
    let graphs = lines.next().unwrap();
    let mut steps = 0;
    for run in lines {
        let flow = flows::all().into_iter().find(|flow| run["flow"] == flow.name).unwrap();
        assert_eq!(
            Json::Object(parse_stored(&flow.graph_file()).unwrap()),
            graphs[flow.name],
            "{}",
            flow.name
        );
        let mut pair = Pair::new(flow);
        for step in run["steps"].as_array().unwrap() {
            let input = recorded::read(&step["input"]);
            pair.pass_until(step["at"].as_i64().unwrap());
            let told = pair.input(&input);
            assert_eq!(recorded::word(&told), step["told"], "{input:?}");
            let added = pair.last_added();
            assert_eq!(json!(added), step["entries"], "{input:?}");
            steps += 1;
        }
    }
    assert!(steps > 500, "{steps} steps");
}

/// Writes new lists for [`the_original_tells_and_records_the_same`]; `original.py` says how they get their answers.
#[test]
#[ignore = "writes a fixture, which then needs the original's package"]
fn write_runs() {
    let mut runner = TestRunner::deterministic();
    let graphs: Object = flows::all()
        .iter()
        .map(|flow| (flow.name.to_owned(), parse_stored(&flow.graph_file()).unwrap().into()))
        .collect();
    let mut lines = vec![Json::Object(graphs)];
    for flow in flows::all().iter().cycle().take(28) {
        let mut pair = Pair::new(flow.clone());
        let mut steps = Vec::new();
        for op in inputs::lists().new_tree(&mut runner).unwrap().current() {
            for input in pair.inputs(&op) {
                if let Some(written) = recorded::write(&input) {
                    steps.push(json!({"at": pair.world.now.0, "input": written}));
                    pair.input(&input);
                }
            }
        }
        lines.push(json!({"flow": flow.name, "steps": steps}));
    }
    let lines: Vec<_> = lines.iter().map(Json::to_string).collect();
    std::fs::write("tests/fixtures/runs.jsonl", lines.join("\n") + "\n").unwrap();
}
