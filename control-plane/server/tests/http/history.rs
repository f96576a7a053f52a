//! Histories: whole, from an entry on, and as they grow.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Answer, Plane, table};

/// The numbers of the entries.
fn seqs(answer: &Answer) -> Vec<u64> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json().as_array().unwrap().iter().map(|entry| entry["seq"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_history_tells_the_originals_kinds_unless_asked() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    let body = r#"{"supervisor":"vm","attempt":1}"#;
    assert_eq!(
        plane.send("POST", &format!("/tasks/{task}/started"), body).await.text(),
        r#"{"disposition":"run"}"#
    );
    plane.send("POST", &format!("/tasks/{task}/note"), r#"{"text":"half way"}"#).await;
    insta::assert_snapshot!(plane.send("GET", "/tokens/T/history", "").await.text().replace("},{", "},\n{"));
    let all = plane.send("GET", "/tokens/T/history?kinds=all", "").await.json();
    let kinds: Vec<_> = all.as_array().unwrap().iter().map(|e| e["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"task_started"), "{kinds:?}");
    let refused = [("GET", "/tokens/X/history", ""), ("GET", "/tokens/T/history?kinds=some", "")];
    insta::assert_snapshot!(table(&plane, &refused).await);
}

#[tokio::test]
async fn a_long_history_comes_whole() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    for line in 1..=300 {
        let body = format!(r#"{{"text":"line {line}","attempt":1}}"#);
        assert_eq!(plane.send("POST", &format!("/tasks/{task}/note"), &body).await.status, 204);
    }
    let answer = plane.send("GET", "/tokens/T/history", "").await;
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    let entries = answer.json();
    let seqs: Vec<u64> = entries.as_array().unwrap().iter().map(|e| e["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=306).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_history_is_read_from_an_entry_on() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    plane.send("POST", &format!("/tasks/{task}/started"), r#"{"supervisor":"vm","attempt":1}"#).await;
    for line in 1..=300 {
        plane.send("POST", &format!("/tasks/{task}/note"), &format!(r#"{{"text":"line {line}"}}"#)).await;
    }
    let read = async |query: &str| seqs(&plane.send("GET", &format!("/tokens/T/history?{query}"), "").await);
    // Entry 7 says that the routine began: the original has no such kind.
    assert_eq!(read("limit=3").await, [1, 2, 3]);
    assert_eq!(read("after=5&limit=3").await, [6, 8, 9]);
    assert_eq!(read("after=5&limit=3&kinds=all").await, [6, 7, 8]);
    assert_eq!(read("after=6").await, (8..=307).collect::<Vec<_>>());
    assert_eq!(read("after=2&limit=200").await.len(), 200);
    assert_eq!(read("after=300").await, (301..=307).collect::<Vec<_>>());
    assert!(read("after=307").await.is_empty());
    assert!(read("after=9223372036854775807").await.is_empty());
    let refused = [
        ("GET", "/tokens/T/history?after=-1", ""),
        ("GET", "/tokens/T/history?after=9223372036854775808", ""),
        ("GET", "/tokens/T/history?limit=0", ""),
        ("GET", "/tokens/T/history?wait_ms=60001", ""),
        ("GET", "/tokens/X/history?wait_ms=60000", ""),
    ];
    insta::assert_snapshot!(table(&plane, &refused).await);
}

#[tokio::test]
async fn a_history_waits_for_its_next_entry() {
    let plane = Plane::new().await;
    plane.token("T").await;
    plane.token("OTHER").await;
    let last = *seqs(&plane.send("GET", "/tokens/T/history", "").await).last().unwrap();
    let path = format!("/tokens/T/history?after={last}&wait_ms=60000");
    let waiting = plane.send("GET", &path, "");
    let moving = async {
        plane.send("POST", "/tokens/OTHER/events/done", "").await;
        // Whatever came first, the reader gets the entry: it watches before it looks.
        plane.send("POST", "/tokens/T/events/done", "").await;
    };
    let (answer, ()) = tokio::join!(waiting, moving);
    assert_eq!(answer.json()[0]["kind"], "event_accepted", "{}", answer.text());
    assert_eq!(answer.json()[0]["seq"], last + 1);

    // What is there already is told at once, and a token that has ended gets no more.
    assert_eq!(seqs(&plane.send("GET", &path, "").await)[0], last + 1);
    plane.send("POST", "/tokens/T/cancel", "").await;
    let last = *seqs(&plane.send("GET", "/tokens/T/history", "").await).last().unwrap();
    let path = format!("/tokens/T/history?after={last}&wait_ms=60000");
    assert_eq!(plane.send("GET", &path, "").await.text(), "[]");
    // In vain.
    let path = "/tokens/OTHER/history?after=1000&wait_ms=20";
    assert_eq!(plane.send("GET", path, "").await.text(), "[]");
}

#[tokio::test]
async fn kinds_that_the_caller_does_not_know_wake_nobody() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    let last = *seqs(&plane.send("GET", "/tokens/T/history", "").await).last().unwrap();
    let (plain, all) = (
        format!("/tokens/T/history?after={last}&wait_ms=60000"),
        format!("/tokens/T/history?after={last}&wait_ms=60000&kinds=all"),
    );
    let acts = async {
        plane.send("POST", &format!("/tasks/{task}/started"), r#"{"supervisor":"vm","attempt":1}"#).await;
        plane.send("POST", &format!("/tasks/{task}/note"), r#"{"text":"half way"}"#).await;
    };
    let (plain, all, ()) = tokio::join!(plane.send("GET", &plain, ""), plane.send("GET", &all, ""), acts);
    assert_eq!(plain.json()[0]["kind"], "note", "{}", plain.text());
    assert_eq!(all.json()[0]["kind"], "task_started", "{}", all.text());
}

#[tokio::test]
async fn readers_that_wait_are_answered_when_it_stops() {
    let mut plane = Plane::new().await;
    plane.token("T").await;
    let mut stream = TcpStream::connect(plane.address).await.unwrap();
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", plane.address);
    let both = get("/health") + &get("/tokens/T/history?after=1000&wait_ms=60000");
    stream.write_all(both.as_bytes()).await.unwrap();
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
    assert!(answer.ends_with("\r\n\r\n[]"), "{answer}");
    plane.plane.wait().await.unwrap();
}
