//! What the clock does: leases end, timers fire, and a time without a control plane does not count.

use crate::harness::{Plane, SDLC};

const MINUTE: i64 = 60_000;

#[tokio::test]
async fn a_silent_supervisor_loses_its_task() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    plane.clock.advance(MINUTE);
    let beat = format!(r#"{{"supervisor":"vm","tasks":[{task}]}}"#);
    assert_eq!(plane.send("POST", "/tasks/heartbeat", &beat).await.text(), r#"{"lost":[]}"#);
    plane.clock.advance(2 * MINUTE + 1);
    plane.until("T", "task_retrying").await;
    insta::assert_snapshot!(plane.history("T").await);
    let note = plane.send("POST", &format!("/tasks/{task}/note"), r#"{"text":"late","attempt":1}"#).await;
    assert_eq!(note.status, 409, "{}", note.text());
    assert_eq!(plane.claimed(r#"["coding"]"#).await, task);
    let note = plane.send("POST", &format!("/tasks/{task}/note"), r#"{"text":"late","attempt":1}"#).await;
    assert_eq!(note.brief(), "409 attempt_over: task 1 is at attempt 2, not attempt 1");
}

#[tokio::test]
async fn a_timeout_and_a_routines_timer_fire() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    let waiting = r#"{"kind":"waiting","supervisor":"vm","schedules":[{"event":"done","after":"10m"}]}"#;
    plane.send("POST", &format!("/tasks/{task}/report"), waiting).await;
    plane.clock.advance(10 * MINUTE);
    plane.until("T", "timer_fired").await;
    assert_eq!(plane.send("GET", "/tokens/T", "").await.json()["state"], "testing");
    plane.clock.advance(60 * MINUTE);
    plane.until("T", "failed").await;
    insta::assert_snapshot!(plane.history("T").await);
}

#[tokio::test]
async fn deadlines_are_told_from_the_moment_of_the_claim() {
    let plane = Plane::new().await;
    plane.token("T").await;
    plane.clock.advance(MINUTE);
    let claim = r#"{"supervisor":"vm","states":["coding"],"max":1}"#;
    let answer = plane.send("POST", "/tasks/claim", claim).await.json();
    assert_eq!(answer["waited_ms"], 0);
    assert_eq!(answer["grants"][0]["lease_ms"], 2 * MINUTE);
    assert_eq!(answer["grants"][0]["deadline_ms"], 6 * 60 * MINUTE - MINUTE);
}

#[tokio::test]
async fn a_time_without_a_control_plane_ends_no_lease() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    let (folder, clock) = plane.stop().await;
    clock.advance(60 * MINUTE);
    let plane = Plane::start(folder, clock, SDLC).await.unwrap();
    // A whole lease is left, although an hour passed.
    plane.clock.advance(2 * MINUTE);
    plane.plane.nudge();
    let beat = format!(r#"{{"supervisor":"vm","tasks":[{task}]}}"#);
    assert_eq!(plane.send("POST", "/tasks/heartbeat", &beat).await.text(), r#"{"lost":[]}"#);
    let done = r#"{"kind":"event","event":"done","attempt":1,"supervisor":"vm"}"#;
    assert_eq!(plane.send("POST", &format!("/tasks/{task}/report"), done).await.status, 200);
}
