//! The ledger of a token tells its rows: what the engine decided, as this store gives it back.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::test_runner::{Config, TestRunner};
use stateous_engine::input::{Outcome, Schedule};
use stateous_engine::loaded::Wanted;
use stateous_engine::model::MemoryCell;
use stateous_engine::replay::{Replayed, Rows, replay};
use stateous_engine::{Catalog, Graph, Input, Rules, Timestamp, decide_loading};

use super::Harness;
use super::db::{Db, NOW, all_of, all_of_task};
use super::samples::object;

const GRAPH: &str = r#"{"stateous": 1, "workflow": "orders",
    "states": {"draft": {"timeout": "1h", "retries": 1, "emits": ["go", "nudge"]},
        "checks": {"timeout": "1h", "parallel": ["lint"], "join": "all", "inputs": ["n"]}},
    "events": {"go": {"payload": "Any"}, "nudge": {"payload": "Any"}},
    "transitions": [{"from": "__start__", "to": "draft"}, {"from": "draft", "to": "checks", "on": "go"},
        {"from": "draft", "to": "draft", "on": "nudge"}, {"from": "draft", "to": "draft", "on": "error"},
        {"from": "checks", "to": "draft", "on": "joined", "when": "count('joined') < 2"},
        {"from": "checks", "to": "__end__", "on": "joined", "otherwise": true}],
    "workflows": {"lint": {"states": {"scan": {"retries": 2, "emits": ["go"]}}, "events": {"go": {"payload": "Any"}},
        "transitions": [{"from": "__start__", "to": "scan"}, {"from": "scan", "to": "__end__", "on": "go"}]}},
    "schemas": {"Any": {"type": "object"}}}"#;
const LEASE_MS: i64 = 120_000;

/// What happens, with what it speaks of: the nth token, task or timer.
type Act = (u8, usize);

/// Random inputs; after each, every token's ledger is read back and replayed.
pub fn a_ledger_replays_to_the_rows(harness: &dyn Harness) {
    let rules =
        Rules { catalog: Catalog::new(vec![Graph::parse(GRAPH).unwrap()]).unwrap(), lease_ms: LEASE_MS };
    let config = Config { cases: 24, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&vec((0..16u8, 0..6usize), 1..40), |acts: Vec<Act>| {
        let harness = harness.another();
        let mut db = Db::open(&*harness);
        let mut now = NOW;
        for act in [(0, 0)].into_iter().chain(acts) {
            now = now.plus_ms([0, 1000, 60_000, 3_600_000][act.1 % 4]);
            for input in inputs(&mut db, act, now) {
                db.transact(|writer| {
                    let decision = decide_loading(&rules, &input, now, |wanted| writer.load(wanted)).unwrap();
                    writer.apply(&decision.changes).unwrap();
                });
            }
            for id in ids(&db) {
                compare(&mut db, &id);
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

fn inputs(db: &mut Db<'_>, (what, which): Act, now: Timestamp) -> Vec<Input> {
    let ids = ids(db);
    let token = ids.get(which % ids.len().max(1)).cloned().unwrap_or_else(|| "T".to_owned());
    let open: Vec<u64> =
        ids.iter().flat_map(|id| db.load(&all_of(id)).member.unwrap().tasks).map(|t| t.id).collect();
    let task = open.get(which % open.len().max(1)).copied().unwrap_or(1);
    let payload = Some(object(r#"{"n":1.50}"#));
    let report = |outcome: Outcome, timers: &[&str]| Input::ReportTask {
        task,
        supervisor: (what % 2 == 0).then(|| "vm".to_owned()),
        attempt: None,
        outcome,
        context: object([r#"{"n":1}"#, "{}", r#"{"n":"é 1e400"}"#][which % 3]),
        schedules: timers
            .iter()
            .map(|after| Schedule { event: "nudge".into(), payload: payload.clone(), after: (*after).into() })
            .collect(),
    };
    let fire = |event: &str| Input::FireEvent {
        token: token.clone(),
        event: event.into(),
        payload: payload.clone(),
        key: None,
    };
    let input = match what {
        0 => Input::StartToken { token: "T".into(), workflow: None, context: object(r#"{"n":0.10}"#) },
        1 => fire("go"),
        2 => fire("nudge"),
        3 => Input::PauseToken { token },
        4 | 5 => Input::ResumeToken { token },
        6 => Input::CancelToken { token },
        7 | 8 => Input::ClaimTask { task, supervisor: "vm".into(), request: None },
        9 => Input::StartTask { task, attempt: 1, supervisor: "vm".into(), incarnation: None },
        10 => report(Outcome::Event { event: "go".into(), payload: payload.clone() }, &["10m"]),
        11 => report(Outcome::Failed { error: "boom".into(), retry: which != 0 }, &[]),
        12 => report(Outcome::Waiting, &["1m", "1m"]),
        13 => {
            let value = (which % 3 > 0).then(|| r#"{"at":[1.0,"NUL \u0000"]}"#.into());
            Input::SetMemory { task, attempt: None, key: "k".into(), value }
        }
        14 => {
            return db
                .transact(|w| w.due_timers(now, 9))
                .unwrap()
                .into_iter()
                .map(|timer| Input::FireTimer { timer })
                .collect();
        }
        _ => {
            return db
                .transact(|w| w.expired_leases(now, 9))
                .unwrap()
                .into_iter()
                .map(|task| Input::ExpireLease { task })
                .collect();
        }
    };
    vec![input]
}

fn ids(db: &Db<'_>) -> Vec<String> {
    let filter = crate::rows::TokenFilter::newest(100);
    let mut ids: Vec<_> =
        db.reader().tokens(&filter).unwrap().tokens.into_iter().map(|listed| listed.id).collect();
    ids.sort();
    ids
}

/// `replay(ledger) == rows`, both as the store gives them.
fn compare(db: &mut Db<'_>, id: &str) {
    let ledger = db.reader().history(id, 0, 10_000).unwrap().unwrap();
    let replayed = replay(&ledger).unwrap().unwrap();
    let view = db.reader().token(id).unwrap().unwrap();
    let loaded = db.load(&Wanted { family: true, held: true, ..all_of(id) });
    let member = loaded.member.unwrap();
    let mut tasks: BTreeMap<u64, _> = member.tasks.into_iter().map(|task| (task.id, task)).collect();
    let mut memory: BTreeMap<(String, String), MemoryCell> = BTreeMap::new();
    for task in replayed.tasks.keys() {
        let found = db.load(&all_of_task(*task));
        let task = found.task.unwrap();
        memory.extend(found.memory.into_iter().map(|cell| ((task.state.clone(), cell.key.clone()), cell)));
        tasks.insert(task.id, task);
    }
    let rows = Rows {
        token: &view.token,
        context: &view.context,
        tasks: tasks.values().collect(),
        timers: member.timers.iter().collect(),
        held: loaded.held.iter().filter(|held| held.token == id).collect(),
        memory: memory.iter().map(|((state, _), cell)| (state.as_str(), cell)).collect(),
    };
    assert_eq!(replayed, Replayed::of_rows(&rows), "replay(ledger), then the rows, of {id}");
}
