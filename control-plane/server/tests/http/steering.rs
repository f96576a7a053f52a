//! Pause, resume and cancel.

use crate::harness::{Plane, table};

#[tokio::test]
async fn a_token_is_paused_resumed_and_cancelled() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let requests = [
        ("POST", "/tokens/X/pause", ""),
        ("POST", "/tokens/-/resume", ""),
        ("POST", "/tokens/T/resume", ""),
        ("POST", "/tokens/T/pause", "not read"),
        ("POST", "/tokens/T/pause", ""),
        ("GET", "/tokens?status=paused", ""),
        ("POST", "/tokens/T/resume", "[]"),
        ("POST", "/tokens/T/cancel", ""),
        ("POST", "/tokens/T/cancel", ""),
        ("POST", "/tokens/T/pause", ""),
        ("POST", "/tokens/T/events/done", ""),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
    insta::assert_snapshot!(plane.history("T").await);
}

#[tokio::test]
async fn what_a_paused_token_holds_applies_on_resume() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    plane.send("POST", "/tokens/T/pause", "").await;
    // Nothing is granted of it, its timers stand still, its routine goes on.
    plane.clock.advance(60_000);
    let beat = format!(r#"{{"supervisor":"vm","tasks":[{task}]}}"#);
    let report = format!("/tasks/{task}/report");
    let requests = [
        ("POST", "/tasks/heartbeat", beat.as_str()),
        ("POST", "/tokens/T/events/nope", ""),
        ("POST", report.as_str(), r#"{"kind":"event","event":"passed","attempt":1,"supervisor":"vm"}"#),
        (
            "POST",
            report.as_str(),
            r#"{"kind":"event","event":"done","attempt":1,"supervisor":"vm","context":{"n":1.50},"schedules":[{"event":"stuck","after":"10m"}]}"#,
        ),
        ("POST", report.as_str(), r#"{"kind":"event","event":"done","attempt":1}"#),
        ("POST", "/tokens/T/events/passed", r#"{"payload":{"passed":1,"failed":0}}"#),
        ("POST", "/tokens/T/events/stuck", ""),
        ("POST", "/tokens/T/resume", ""),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
    insta::assert_snapshot!(plane.history("T").await);
}

#[tokio::test]
async fn a_held_event_uses_up_its_key() {
    let plane = Plane::new().await;
    plane.token("T").await;
    plane.send("POST", "/tokens/T/pause", "").await;
    let fire = async || {
        let answer = plane.send_with("POST", "/tokens/T/events/done", &[("idempotency-key", "k")], b"").await;
        let told = answer.json();
        (told["duplicate"] == true, told["status"].as_str().map(str::to_owned))
    };
    assert_eq!(fire().await, (false, Some("paused".to_owned())));
    assert_eq!(fire().await, (true, None));
    plane.send("POST", "/tokens/T/resume", "").await;
    assert_eq!(fire().await, (true, None));
}

#[tokio::test]
async fn a_timeout_gets_the_paused_time_back() {
    let plane = Plane::new().await;
    plane.token("T").await;
    plane.send("POST", "/tokens/T/pause", "").await;
    plane.clock.advance(7 * 3_600_000);
    plane.send("POST", "/tokens/T/resume", "").await;
    plane.clock.advance(6 * 3_600_000 - 1);
    plane.plane.nudge();
    assert_eq!(plane.send("GET", "/tokens/T", "").await.json()["status"], "active");
    plane.clock.advance(1);
    plane.until("T", "timer_fired").await;
}

#[tokio::test]
async fn a_pause_outlives_the_control_plane() {
    let plane = Plane::new().await;
    plane.token("T").await;
    plane.send("POST", "/tokens/T/pause", "").await;
    plane.send("POST", "/tokens/T/events/done", "").await;
    let (folder, clock) = plane.stop().await;
    let plane = Plane::start(folder, clock, crate::harness::SDLC).await.unwrap();
    assert_eq!(plane.send("POST", "/tokens/T/resume", "").await.json()["state"], "testing");
}

#[tokio::test]
async fn a_failed_token_is_retried() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    let report = format!("/tasks/{task}/report");
    let memory = format!("/tasks/{task}/memory");
    let requests = [
        ("POST", "/tokens/X/retry", ""),
        ("POST", "/tokens/T/retry", ""),
        ("PUT", memory.as_str(), r#"{"key":"place","value":7}"#),
        ("POST", report.as_str(), r#"{"kind":"failed","error":"no compiler","retry":false,"attempt":1}"#),
        ("POST", "/tokens/T/retry", "not read"),
        ("POST", "/tokens/T/retry", ""),
        ("GET", "/tokens/T/retry", ""),
        ("POST", "/tasks/claim", r#"{"supervisor":"vm","states":["coding"]}"#),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
    insta::assert_snapshot!(plane.history("T").await);
}
