//! Fan-out over HTTP: the loops start the children, and join.

use std::sync::Arc;

use serde_json::{Value, json};
use stateous_store::ManualClock;

use crate::harness::{Plane, START};

const GRAPH: &str = r#"{
  "stateous": 1, "workflow": "scan",
  "states": {
    "hosts": {"parallel": ["host"], "each": "ctx['hosts']", "join": "all"},
    "sum": {"emits": ["summed"]}
  },
  "events": {"summed": {}},
  "transitions": [
    {"from": "__start__", "to": "hosts"},
    {"from": "hosts", "to": "sum", "on": "joined"},
    {"from": "sum", "to": "__end__", "on": "summed"}
  ],
  "workflows": {"host": {
    "states": {"look": {"emits": ["seen"]}}, "events": {"seen": {}},
    "transitions": [{"from": "__start__", "to": "look"}, {"from": "look", "to": "__end__", "on": "seen"}]
  }},
  "schemas": {}
}"#;

async fn plane() -> Plane {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    Plane::start(folder, Arc::new(ManualClock::new(START)), GRAPH).await.unwrap()
}

async fn start(plane: &Plane, items: usize) {
    let body = json!({"token": "S", "context": {"hosts": (0..items).collect::<Vec<_>>()}}).to_string();
    let answer = plane.send("POST", "/tokens", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// Claims up to `max` tasks, waiting for a first one.
async fn claim(plane: &Plane, max: usize) -> Vec<u64> {
    let body =
        json!({"supervisor": "vm", "states": ["host/look"], "max": max, "wait_ms": 10_000}).to_string();
    let answer = plane.send("POST", "/tasks/claim", &body).await.json();
    let grants = answer["grants"].as_array().unwrap();
    grants.iter().map(|grant| grant["task"].as_u64().unwrap()).collect()
}

async fn report(plane: &Plane, task: u64, body: &Value) {
    let answer = plane.send("POST", &format!("/tasks/{task}/report"), &body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn seen() -> Value {
    json!({"kind": "event", "event": "seen", "supervisor": "vm"})
}

/// Runs a fan-out of `items` to its end; one child fails.
async fn run(items: usize) -> Plane {
    let plane = plane().await;
    start(&plane, items).await;
    let mut done = 0;
    while done < items {
        for task in claim(&plane, 500).await {
            let failed = json!({"kind": "failed", "error": "no route", "retry": false, "supervisor": "vm"});
            report(&plane, task, &if done == 0 { failed } else { seen() }).await;
            done += 1;
        }
    }
    plane.until("S", "task_queued").await;
    plane
}

/// 69: more children than one batch, all joined.
#[tokio::test]
async fn the_loops_start_the_children_and_join() {
    let plane = run(450).await;
    let joined = plane.history("S").await;
    assert!(joined.contains(r#""counts":{"completed":449,"failed":1},"more":true"#), "{joined:.2000}");
    let body = r#"{"supervisor":"vm","states":["sum"]}"#;
    let task = plane.send("POST", "/tasks/claim", body).await.json()["task"].as_u64().unwrap();
    let summed = json!({"kind": "event", "event": "summed", "supervisor": "vm"});
    report(&plane, task, &summed).await;
    assert_eq!(plane.send("GET", "/tokens/S", "").await.json()["status"], "completed_with_errors");
    // A filter on `completed` means both.
    let listed = plane.send("GET", "/tokens?status=completed&limit=1", "").await.json();
    assert_eq!(listed[0]["token"], "S");
}

/// A pause that is answered holds for every child, however many, and a resume brings them back.
#[tokio::test]
async fn a_large_family_is_steered() {
    let plane = plane().await;
    start(&plane, 450).await;
    let task = claim(&plane, 1).await[0];
    while !claim(&plane, 1000).await.is_empty() {
        let listed = plane.send("GET", "/tokens?parent=S&status=active&limit=1000", "").await.json();
        if listed.as_array().unwrap().len() == 450 {
            break;
        }
    }
    assert_eq!(plane.send("POST", "/tokens/S/pause", "").await.status, 200);
    report(&plane, task, &seen()).await;
    let child = |status: &str| format!("/tokens?parent=S&status={status}&limit=1000");
    let all_are = async |status: &str| loop {
        let listed = plane.send("GET", &child(status), "").await.json();
        if listed.as_array().unwrap().len() == 450 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), all_are("paused")).await.unwrap();
    while plane.send("POST", "/tokens/S/resume", "").await.status != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    tokio::time::timeout(std::time::Duration::from_secs(20), async {
        loop {
            let listed = plane.send("GET", &child("completed"), "").await.json();
            if listed.as_array().unwrap().len() == 1 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    assert_eq!(plane.send("POST", "/tokens/S/cancel", "").await.status, 200);
    let live = async {
        loop {
            let listed = plane.send("GET", &child("active"), "").await.json();
            if listed.as_array().unwrap().is_empty() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), live).await.unwrap();
}

/// Measures a fan-out of 10,000 children; run by hand.
#[tokio::test]
#[ignore = "a measurement: cargo test -p stateous-server --test http ten_thousand -- --ignored --nocapture"]
async fn ten_thousand_children() {
    let begun = std::time::Instant::now();
    let plane = run(10_000).await;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    println!("10,000 children in {:?}; {peak}", begun.elapsed());
    drop(plane);
}
