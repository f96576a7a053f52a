//! What a supervisor tells operators: whether it gets on, and what it counted.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::fake::{Fake, PATIENCE};
use crate::house::{House, Scripted, event};

/// The status and body of a GET.
async fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[tokio::test]
async fn health_and_metrics_are_told_where_the_settings_say() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    std::fs::write(folder.path().join("stateous.toml"), "listen = '127.0.0.1:0'").unwrap();
    fake.queue(1, &json!({}));
    let house = House::start(folder.path(), &fake, 3, Scripted::new(|_, _| async { event("submitted") }));
    fake.wait_for("report", 1).await;
    house.log.wait_for("task 1 of T-1: reported submitted").await;
    let line = house.log.lines().into_iter().find(|line| line.contains("/healthz")).unwrap();
    let address = line.split('/').nth(2).unwrap().to_owned();

    let (status, health) = get(&address, "/healthz").await;
    assert_eq!((status, &health[..40]), (200, r#"{"healthy":true,"why":"a claim was answe"#));

    let deadline = tokio::time::Instant::now() + PATIENCE;
    let metrics = loop {
        let (status, metrics) = get(&address, "/metrics").await;
        assert_eq!(status, 200);
        // The message leaves the outbox with the next commit.
        if metrics.contains("\nstateous_outbox_messages 0\n") {
            break metrics;
        }
        assert!(tokio::time::Instant::now() < deadline, "{metrics}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    for line in [
        "stateous_attempts_total{outcome=\"event\"} 1",
        "stateous_tasks_claimed_total 1",
        "stateous_tasks_returned_total 0",
        "stateous_slots 3",
        "stateous_healthy 1",
        "stateous_http_requests_total 0",
        "stateous_outbox_parked 0",
        "# TYPE stateous_attempt_seconds histogram",
        "# EOF",
    ] {
        assert!(metrics.lines().any(|found| found == line), "no {line:?} in {metrics}");
    }
    assert_eq!(get(&address, "/other").await.0, 404);
    house.stop().await;
}

#[tokio::test]
async fn a_port_that_is_taken_stops_it_with_one_line() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    std::fs::write(folder.path().join("stateous.toml"), format!("listen = '{address}'")).unwrap();
    let house = House::start(folder.path(), &fake, 3, Scripted::new(|_, _| async { event("never") }));
    let error = house.end().await.0.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot listen on {address} (`listen` in stateous.toml): ")),
        "{error}"
    );
}
