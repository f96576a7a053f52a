//! Many messages in one request: each is answered as its own route would answer it.

use serde_json::{Value, json};

use crate::harness::{Plane, table};

/// Sends messages, `(task, kind, body)`, and lists the results.
async fn send(plane: &Plane, messages: &[(u64, &str, &str)]) -> Vec<Value> {
    let messages: Vec<Value> = messages
        .iter()
        .map(|(task, kind, body)| json!({"task": task, "kind": kind, "body": body, "attempt": "x", "signature": 7}))
        .collect();
    let body = json!({"supervisor": "vm", "messages": messages, "later": true}).to_string();
    let answer = plane.send("POST", "/tasks/batch", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["results"].as_array().unwrap().clone()
}

#[tokio::test]
async fn messages_are_answered_as_their_own_routes_would() {
    // Two control planes with the same past: one is told one by one, the other all at once.
    let (single, together) = (Plane::new().await, Plane::new().await);
    for plane in [&single, &together] {
        for token in ["A", "B", "C"] {
            plane.token(token).await;
            plane.claimed(r#"["coding"]"#).await;
        }
    }
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(1 << 20));
    let messages = [
        (1, "started", r#"{"supervisor":"vm","attempt":1}"#),
        (2, "started", r#"{"supervisor":"vm","attempt":2}"#),
        (2, "started", r#"{"supervisor":"vm"}"#),
        (1, "memory", r#"{"key":"k","value":[1.50],"attempt":1}"#),
        (1, "memory", r#"{"key":"k"}"#),
        (1, "note", r#"{"text":" half way ","attempt":1}"#),
        (1, "note", r#"{"text":""}"#),
        (1, "note", &large),
        (3, "note", "{"),
        (3, "note", "[]"),
        (3, "note", ""),
        (3, "memory", r#"{"key":"k","value":"\ud800"}"#),
        (3, "started", r#"{"supervisor":"\ud800","attempt":1}"#),
        (1, "report", r#"{"kind":"event","event":"nope","supervisor":"vm"}"#),
        (1, "report", r#"{"kind":"event","event":"done","context":{"n":1.50},"supervisor":"vm"}"#),
        (1, "report", r#"{"kind":"event","event":"done","supervisor":"vm"}"#),
        (1, "note", r#"{"text":"too late","attempt":1}"#),
        (2, "report", r#"{"kind":"failed","error":"no disk"}"#),
        (99, "note", r#"{"text":"x"}"#),
        (3, "report", r#"{"kind":"event","event":"stuck"}"#),
    ];
    let results = send(&together, &messages).await;
    assert_eq!(results.len(), messages.len());
    for ((task, kind, body), result) in messages.iter().zip(&results) {
        let method = if *kind == "memory" { "PUT" } else { "POST" };
        let alone = single.send(method, &format!("/tasks/{task}/{kind}"), body).await;
        let body = (!alone.body.is_empty()).then(|| alone.json());
        assert_eq!((&result["status"], result.get("body")), (&json!(alone.status), body.as_ref()), "{kind}");
    }
    for token in ["A", "B", "C"] {
        assert_eq!(together.history(token).await, single.history(token).await);
    }
    let statuses: Vec<u64> = results.iter().map(|result| result["status"].as_u64().unwrap()).collect();
    let expected =
        [200, 200, 422, 204, 422, 204, 422, 413, 400, 422, 422, 422, 422, 409, 200, 409, 409, 200, 404, 200];
    assert_eq!(statuses, expected);
}

#[tokio::test]
async fn a_bad_item_spoils_none_of_its_neighbours() {
    let plane = Plane::new().await;
    plane.token("T").await;
    plane.claimed(r#"["coding"]"#).await;
    let items = [
        r#""note""#,
        r#"{"kind":"note","body":"{}"}"#,
        r#"{"task":1.0,"kind":"note","body":"{}"}"#,
        r#"{"task":9223372036854775808,"kind":"note","body":"{}"}"#,
        r#"{"task":1,"kind":"heartbeat","body":"{}"}"#,
        r#"{"task":1,"kind":"note","body":{"text":"not as text"}}"#,
        r#"{"task":1,"kind":"note","body":"{\"text\":\"the good one\"}"}"#,
    ];
    let body = format!(r#"{{"supervisor":"vm","messages":[{}]}}"#, items.join(","));
    let answer = plane.send("POST", "/tasks/batch", &body).await;
    insta::assert_snapshot!(answer.text().replace("},{\"status", "},\n{\"status"));
    assert!(plane.history("T").await.contains("the good one"));
}

#[tokio::test]
async fn the_envelope_is_read_strictly() {
    let plane = Plane::new().await;
    let many = vec![r#"{"task":1,"kind":"note","body":"{}"}"#; 1001].join(",");
    let many = format!(r#"{{"supervisor":"vm","messages":[{many}]}}"#);
    let deep = format!(r#"{{"supervisor":"vm","messages":{}{}}}"#, "[".repeat(64), "]".repeat(64));
    let requests = [
        "{}",
        r#"{"supervisor":"vm"}"#,
        r#"{"supervisor":"vm","messages":{}}"#,
        r#"{"messages":[]}"#,
        r#"{"supervisor":"vm","messages":["\ud800"]}"#,
        &deep,
        &many,
        r#"{"supervisor":"vm","messages":[]}"#,
    ]
    .map(|body| ("POST", "/tasks/batch", body));
    insta::assert_snapshot!(table(&plane, &requests).await);
    let large = vec![b' '; (8 << 20) + 1];
    let answer = plane.send_with("POST", "/tasks/batch", &[], &large).await;
    assert_eq!(answer.brief(), "413 bad_request: the body is larger than 8 MiB, the most this API reads");
    // Who sends a batch is alive, whatever is in it.
    assert!(plane.send("GET", "/supervisors", "").await.text().contains(r#""name":"vm""#));
}
