//! Events from outside, and their keys.

use crate::harness::{Plane, table};

#[tokio::test]
async fn events_move_a_token_or_are_refused() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let requests = [
        ("POST", "/tokens/X/events/done", ""),
        ("POST", "/tokens/T/events/nope", ""),
        ("POST", "/tokens/T/events/timeout", ""),
        ("POST", "/tokens/T/events/passed", r#"{"payload":{"passed":1,"failed":0}}"#),
        ("POST", "/tokens/T/events/done", r#"{"payload":[]}"#),
        ("POST", "/tokens/T/events/done", r#"{"payload":{"x":1}}"#),
        ("POST", "/tokens/T/events/done", r#"{"payload":{}}"#),
        ("POST", "/tokens/T/events/failed", r#"{"payload":{"passed":"x"}}"#),
        ("POST", "/tokens/T/events/passed", r#"{"payload":{"passed":1,"failed":0,"more":1.0}}"#),
        ("POST", "/tokens/T/events/done", ""),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
    insta::assert_snapshot!(plane.history("T").await);
}

#[tokio::test]
async fn a_key_counts_once() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let fire = async |event: &str, key: &str| {
        let path = format!("/tokens/T/events/{event}");
        plane.send_with("POST", &path, &[("idempotency-key", key)], b"").await.brief()
    };
    let long = "k".repeat(257);
    let mut lines = Vec::new();
    for (event, key) in [
        ("nope", "K"),
        ("done", "K"),
        ("done", "K"),
        ("nope", "K"),
        ("done", ""),
        ("done", "a\tb"),
        ("done", &long),
    ] {
        let shown: String = key.chars().take(5).collect();
        lines.push(format!("{event} with {shown:?}\n  {}", fire(event, key).await));
    }
    insta::assert_snapshot!(lines.join("\n"));
}
