//! How many changes a second this store writes, by how many callers ask at once. Run it alone, on a quiet machine:
//! `cargo test --release -p stateous-store-postgres --test measure -- --ignored --nocapture`.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use stateous_engine::change::Answer;
use stateous_engine::input::Outcome;
use stateous_engine::json::Object;
use stateous_engine::{Catalog, Graph, Input, Rules, Timestamp};
use stateous_private_postgres::Cluster;
use stateous_store::{Claim, Committer, ManualClock, QueuedFilter, Store};
use stateous_store_postgres::{Limits, Options};

const GRAPH: &str = r#"{"stateous": 1, "workflow": "orders",
    "states": {"draft": {"timeout": "1h", "retries": 1, "emits": ["submitted"]}},
    "events": {"submitted": {}}, "schemas": {},
    "transitions": [{"from": "__start__", "to": "draft"}, {"from": "draft", "to": "__end__", "on": "submitted"}]}"#;
const NOW: Timestamp = Timestamp(1_795_950_988_123);
/// How long each figure is measured.
const SPAN: Duration = Duration::from_secs(4);

#[test]
#[ignore = "a measurement, not a check"]
fn cycles_per_second() {
    let Some(cluster) = Cluster::own() else { return };
    let options = Options { host: "test".to_owned(), now: NOW, limits: Limits::default() };
    let store = stateous_store_postgres::open(&cluster.database(), &options).unwrap();
    let catalog = Catalog::new(vec![Graph::parse(GRAPH).unwrap()]).unwrap();
    let rules = Arc::new(Rules { catalog, lease_ms: 120_000 });
    let clock = Arc::new(ManualClock::new(NOW));
    let (committer, thread) = Committer::start(store.writer().unwrap(), rules, clock);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!("{:>10}  {:>22}", "callers", "cycles a second");
    for callers in [1, 8, 64, 256] {
        let began = Instant::now();
        let cycles = runtime.block_on(async {
            let callers = (0..callers).map(|caller| {
                let (committer, name) = (committer.clone(), format!("{callers}-{caller}"));
                tokio::spawn(async move {
                    let mut cycles = 0_u32;
                    while began.elapsed() < SPAN {
                        cycle(&committer, &name, cycles).await;
                        cycles += 1;
                    }
                    cycles
                })
            });
            let mut cycles = 0;
            for caller in callers.collect::<Vec<_>>() {
                cycles += caller.await.unwrap();
            }
            cycles
        });
        println!("{callers:>10}  {:>22.0}", f64::from(cycles) / began.elapsed().as_secs_f64());
    }
    drop(committer);
    thread.join().unwrap();
}

/// A token from its start to its end: started, claimed, begun, reported.
async fn cycle(committer: &Committer, name: &str, number: u32) {
    let token = format!("T-{name}-{number}");
    let start = Input::StartToken { token, workflow: None, context: Object::new() };
    assert!(matches!(committer.submit(start).await.unwrap(), Ok(Answer::Created(_))));
    let filter = QueuedFilter { states: Some(vec![("orders".into(), "draft".into())]), assigned: false };
    let supervisor = name.to_owned();
    let claim =
        Claim { supervisor, filter, request: None, incarnation: None, max: 1, wait: Duration::from_secs(60) };
    let granted = committer.claim(claim).await.unwrap();
    let (task, attempt) = (granted[0].grant.task.id, granted[0].grant.task.attempt);
    let begin = Input::StartTask { task, attempt, supervisor: name.to_owned(), incarnation: None };
    assert!(matches!(committer.submit(begin).await.unwrap(), Ok(Answer::Run)));
    let report = Input::ReportTask {
        task,
        supervisor: Some(name.to_owned()),
        attempt: Some(attempt),
        outcome: Outcome::Event { event: "submitted".into(), payload: None },
        context: Object::new(),
        schedules: Vec::new(),
    };
    assert!(matches!(committer.submit(report).await.unwrap(), Ok(Answer::Token(_))));
}
