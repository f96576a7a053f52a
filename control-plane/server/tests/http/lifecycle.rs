//! From start to stop: which databases are taken, what stops in which order, and what is free afterwards.

use std::sync::Arc;
use std::time::Duration;

use stateous_server::ServeError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::database::is_free;
use crate::harness::{Plane, SDLC};

#[tokio::test]
async fn a_restart_finds_everything_again() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let before = plane.history("T").await;
    let (folder, clock) = plane.stop().await;
    assert!(is_free(folder.path()).await);
    let plane = Plane::start(folder, clock, SDLC).await.unwrap();
    assert_eq!(plane.history("T").await, before);
}

#[tokio::test]
async fn another_structure_waits_for_the_tokens_of_the_old_one() {
    let plane = Plane::new().await;
    plane.token("A").await;
    plane.token("B").await;
    let other = SDLC.replace("\"testing\"", "\"checking\"");
    let (folder, clock) = plane.stop().await;

    let Err(refused) = Plane::start(Arc::clone(&folder), Arc::clone(&clock), &other).await else {
        panic!("it serves another structure although tokens live in the old one");
    };
    assert!(matches!(refused, ServeError::LiveTokens { live: 2, .. }));
    insta::assert_snapshot!(refused);
    assert!(is_free(folder.path()).await);

    // Only settings changed: the structure is the same.
    let slower = SDLC.replace("\"6h\"", "\"7h\"");
    let plane = Plane::start(folder, clock, &slower).await.unwrap();
    for token in ["A", "B"] {
        plane.send("POST", &format!("/tokens/{token}/events/stuck"), "").await;
    }
    let (folder, clock) = plane.stop().await;
    let plane = Plane::start(folder, clock, &other).await.unwrap();
    assert_eq!(plane.send("GET", "/tokens/A", "").await.json()["status"], "completed");
}

#[tokio::test]
async fn claims_that_wait_are_answered_when_it_stops() {
    let mut plane = Plane::new().await;
    let mut stream = TcpStream::connect(plane.address).await.unwrap();
    let body = r#"{"supervisor":"vm","states":["coding"],"max":1,"wait_ms":60000}"#;
    let health = format!("GET /health HTTP/1.1\r\nhost: {}\r\n\r\n", plane.address);
    let length = body.len();
    let claim = format!(
        "POST /tasks/claim HTTP/1.1\r\nhost: {}\r\ncontent-length: {length}\r\n\r\n{body}",
        plane.address
    );
    stream.write_all(format!("{health}{claim}").as_bytes()).await.unwrap();
    // Both came in one piece: when the first is answered, the second has been read.
    let mut answer = String::new();
    let mut buffer = [0; 4096];
    while !answer.contains("checksum") {
        let count = stream.read(&mut buffer).await.unwrap();
        answer.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    plane.plane.stop();
    let read = tokio::time::timeout(Duration::from_secs(4), stream.read_to_string(&mut answer)).await;
    read.unwrap().unwrap();
    assert!(answer.ends_with(r#"{"grants":[],"waited_ms":0}"#), "{answer}");
    plane.plane.wait().await.unwrap();
    assert!(is_free(plane.folder.path()).await);
}

#[tokio::test]
async fn a_second_stop_drops_what_is_left() {
    let mut plane = Plane::new().await;
    let mut stream = TcpStream::connect(plane.address).await.unwrap();
    // Half a request: a graceful stop would wait five seconds for the rest.
    let half = format!("POST /tokens HTTP/1.1\r\nhost: {}\r\ncontent-length: 10\r\n\r\n{{", plane.address);
    stream.write_all(half.as_bytes()).await.unwrap();
    assert_eq!(plane.send("GET", "/health", "").await.status, 200);
    plane.plane.stop();
    plane.plane.stop();
    tokio::time::timeout(Duration::from_secs(4), plane.plane.wait()).await.unwrap().unwrap();
    assert!(is_free(plane.folder.path()).await);
}

#[tokio::test]
async fn operators_are_told_how_it_gets_on() {
    let plane = Plane::new().await;
    plane.token("T").await;
    assert_eq!(
        plane.send("GET", "/healthz", "").await.brief(),
        r#"200 {"healthy":true,"why":"the database takes transactions"}"#
    );
    plane.send("GET", "/tokens/none", "").await;
    plane.send("GET", "/nowhere", "").await;
    plane.send("POST", "/tasks/claim", r#"{"supervisor":"vm","states":["coding"],"max":1}"#).await;
    let metrics = plane.send("GET", "/metrics", "").await.text();
    for line in [
        r#"stateous_http_requests_total{method="POST",route="/tokens",status="201"} 1"#,
        r#"stateous_http_requests_total{method="GET",route="/tokens/{token}",status="404"} 1"#,
        r#"stateous_http_requests_total{method="GET",route="other",status="404"} 1"#,
        r#"stateous_ledger_entries_total{kind="task_claimed"} 1"#,
        r#"stateous_ledger_entries_total{kind="completed"} 0"#,
        "stateous_commit_failures_total 0",
        "stateous_supervisors 1",
        "# EOF",
    ] {
        assert!(metrics.lines().any(|found| found == line), "no {line:?} in {metrics}");
    }
}
