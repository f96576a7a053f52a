//! Reports, notes and memory.

use crate::harness::{Plane, table};

async fn tasked() -> (Plane, u64) {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    (plane, task)
}

#[tokio::test]
async fn reports_are_read_strictly() {
    let (plane, task) = tasked().await;
    let path = format!("/tasks/{task}/report");
    let requests = [
        "{}",
        r#"{"kind":"done"}"#,
        r#"{"kind":5}"#,
        r#"{"kind":"event"}"#,
        r#"{"kind":"failed"}"#,
        r#"{"kind":"failed","error":"e","retry":"no"}"#,
        r#"{"kind":"waiting","schedules":{}}"#,
        r#"{"kind":"waiting","schedules":[1]}"#,
        r#"{"kind":"waiting","schedules":[{}]}"#,
        r#"{"kind":"waiting","schedules":[{"event":"done"}]}"#,
        r#"{"kind":"waiting","schedules":[{"event":"done","after":"1x"}]}"#,
        r#"{"kind":"waiting","supervisor":"vm","schedules":[{"event":"nope","after":"1s"}]}"#,
        r#"{"kind":"waiting","attempt":0}"#,
        r#"{"kind":"waiting","attempt":-1}"#,
        r#"{"kind":"waiting","attempt":"1"}"#,
        r#"{"kind":"waiting","attempt":2}"#,
        r#"{"kind":"waiting","payload":[]}"#,
        r#"{"kind":"waiting","context":[]}"#,
        r#"{"kind":"waiting","supervisor":""}"#,
        r#"{"kind":"waiting","supervisor":"other"}"#,
        r#"{"kind":"waiting"}"#,
        r#"{"kind":"event","event":"passed","supervisor":"vm"}"#,
        r#"{"kind":"event","event":"done","payload":{"x":1},"supervisor":"vm"}"#,
        r#"{"kind":"event","event":"done","context":{"repo":5},"supervisor":"vm"}"#,
    ]
    .map(|body| ("POST", path.as_str(), body));
    insta::assert_snapshot!(table(&plane, &requests).await);
}

#[tokio::test]
async fn a_report_saves_its_context_and_moves_the_token_once() {
    let (plane, task) = tasked().await;
    let path = format!("/tasks/{task}/report");
    let done =
        r#"{"kind":"event","event":"done","attempt":1,"supervisor":"vm","context":{"n":1.50,"repo":"new"}}"#;
    let requests = [
        (
            "POST",
            path.as_str(),
            r#"{"kind":"waiting","attempt":1,"supervisor":"vm","schedules":[{"event":"stuck","after":"10m"}]}"#,
        ),
        ("POST", path.as_str(), done),
        (
            "POST",
            path.as_str(),
            r#"{"kind":"event","event":"done","attempt":1,"context":{"n":1.50,"repo":"new"}}"#,
        ),
        ("POST", path.as_str(), done),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
    insta::assert_snapshot!(plane.history("T").await);
}

#[tokio::test]
async fn failures_are_tried_again_unless_the_routine_says_no() {
    let (plane, task) = tasked().await;
    let path = format!("/tasks/{task}/report");
    let fail = async |body: &str| {
        plane.send("POST", &path, body).await.json()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(fail(r#"{"kind":"failed","error":"flaky","attempt":1,"supervisor":"vm"}"#).await, "active");
    assert_eq!(plane.claimed(r#"["coding"]"#).await, task);
    let last =
        r#"{"kind":"failed","error":"no such repository","attempt":2,"supervisor":"vm","retry":false}"#;
    assert_eq!(fail(last).await, "failed");
    insta::assert_snapshot!(plane.history("T").await);
}

#[tokio::test]
async fn notes_and_memory() {
    let (plane, task) = tasked().await;
    let (note, memory) = (format!("/tasks/{task}/note"), format!("/tasks/{task}/memory"));
    let longest = format!(r#"{{"text":" {} "}}"#, "ü".repeat(500));
    let too_long = format!(r#"{{"text":"{}"}}"#, "ü".repeat(501));
    let requests = [
        ("POST", note.as_str(), r#"{"text":" half way ","attempt":1}"#),
        ("POST", note.as_str(), &longest),
        ("POST", note.as_str(), &too_long),
        ("POST", note.as_str(), r#"{"text":"  "}"#),
        ("POST", note.as_str(), r#"{"text":7}"#),
        ("POST", note.as_str(), r#"{"text":"x","attempt":0}"#),
        ("POST", note.as_str(), r#"{"text":"x","attempt":true}"#),
        ("POST", note.as_str(), r#"{"text":"x","attempt":2}"#),
        ("PUT", memory.as_str(), r#"{"key":"k","value":{"z":1.50,"a":[]},"attempt":1}"#),
        ("PUT", memory.as_str(), r#"{"key":"gone","value":1}"#),
        ("PUT", memory.as_str(), r#"{"key":"gone","value":null}"#),
        ("PUT", memory.as_str(), r#"{"key":"k"}"#),
        ("PUT", memory.as_str(), r#"{"key":"","value":1}"#),
        ("PUT", memory.as_str(), r#"{"key":"a\u0000b","value":1}"#),
        ("PUT", memory.as_str(), r#"{"key":"k","value":1e999}"#),
        ("PUT", memory.as_str(), r#"{"key":"k","value":1,"attempt":"1"}"#),
        ("PUT", memory.as_str(), r#"{"key":"k","value":1,"attempt":7}"#),
        ("PUT", "/tasks/99/memory", r#"{"key":"k","value":1}"#),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
    // The next attempt finds what this one wrote.
    let failed = r#"{"kind":"failed","error":"e","attempt":1,"supervisor":"vm"}"#;
    plane.send("POST", &format!("/tasks/{task}/report"), failed).await;
    let claim = r#"{"supervisor":"vm","states":["coding"]}"#;
    let grant = plane.send("POST", "/tasks/claim", claim).await.text();
    assert!(grant.contains(r#""memory":{"k":{"z":1.50,"a":[]}}"#), "{grant}");
}
