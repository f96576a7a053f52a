//! Starting, listing and showing tokens, and their histories.

use crate::harness::{Plane, table};

#[tokio::test]
async fn a_token_is_made_once() {
    let plane = Plane::new().await;
    let requests = [
        ("POST", "/tokens", r#"{"token":"T1","context":{"repo":"acme"}}"#),
        ("POST", "/tokens", r#"{"token":"T1","context":{"repo":"other"}}"#),
        ("POST", "/tokens", r#"{"token":"t1","context":{"repo":"acme"}}"#),
        ("POST", "/tokens", r#"{"token":7}"#),
        ("POST", "/tokens", r#"{"token":"-a"}"#),
        ("POST", "/tokens", r#"{"token":"T2","context":[]}"#),
        ("POST", "/tokens", r#"{"token":"T2","context":null}"#),
        ("POST", "/tokens", r#"{"token":"T2","context":{"repo":1}}"#),
        ("POST", "/tokens", r#"{"token":"T2","workflow":"other","context":{"repo":"a"}}"#),
        ("POST", "/tokens", r#"{"token":"T2","workflow":5,"context":{"repo":"a"}}"#),
        ("POST", "/tokens", r#"{"token":"T2","workflow":"sdlc","context":{"repo":"a"}}"#),
        ("GET", "/tokens/T1", ""),
        ("GET", "/tokens/t1", ""),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
}

#[tokio::test]
async fn listings_are_filtered_and_bounded() {
    let plane = Plane::new().await;
    for token in ["A", "B", "C"] {
        plane.token(token).await;
        plane.clock.advance(1000);
    }
    plane.send("POST", "/tokens/A/events/stuck", "").await;
    let listed = async |query: &str| {
        let answer = plane.send("GET", &format!("/tokens{query}"), "").await;
        let tokens = answer.json();
        tokens
            .as_array()
            .map(|t| t.iter().map(|t| t["token"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(listed("").await.unwrap(), ["C", "B", "A"]);
    assert_eq!(listed("?status=active").await.unwrap(), ["C", "B"]);
    assert_eq!(listed("?status=completed&limit=1&offset=7").await.unwrap(), ["A"]);
    assert_eq!(listed("?limit=1&limit=02").await.unwrap(), ["C", "B"]);
    assert!(listed("?parent=A").await.unwrap().is_empty());
    let long = format!("/tokens?parent={}", "a".repeat(129));
    let refused = [
        ("GET", "/tokens?limit=0", ""),
        ("GET", "/tokens?limit=1001", ""),
        ("GET", "/tokens?limit=%2B5", ""),
        ("GET", "/tokens?limit=", ""),
        ("GET", "/tokens?status=open", ""),
        ("GET", "/tokens?parent=", ""),
        ("GET", long.as_str(), ""),
    ];
    insta::assert_snapshot!(table(&plane, &refused).await);
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
