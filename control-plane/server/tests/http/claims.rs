//! Supervisors ask for work and keep it.

use std::time::Duration;

use crate::harness::{Plane, table};

#[tokio::test]
async fn the_originals_form_gets_one_grant_or_nothing() {
    let plane = Plane::new().await;
    let claim = r#"{"supervisor":"vm","states":["coding"],"request":"r1"}"#;
    assert_eq!(plane.send("POST", "/tasks/claim", claim).await.brief(), "204");
    plane.token("T").await;
    let first = plane.send("POST", "/tasks/claim", claim).await;
    insta::assert_snapshot!(first.brief());
    // A lost answer is repaired by asking again with the same id.
    assert_eq!(plane.send("POST", "/tasks/claim", claim).await.text(), first.text());
    let other = r#"{"supervisor":"vm","states":["coding"],"request":"r2"}"#;
    assert_eq!(plane.send("POST", "/tasks/claim", other).await.brief(), "204");
}

#[tokio::test]
async fn our_form_gets_a_list_with_more_in_it() {
    let plane = Plane::new().await;
    for token in ["A", "B", "C"] {
        plane.token(token).await;
    }
    let claim = r#"{"supervisor":"vm","states":["sdlc/coding"],"max":2}"#;
    insta::assert_snapshot!(
        plane.send("POST", "/tasks/claim", claim).await.text().replace("},{\"task", "},\n{\"task")
    );
    assert_eq!(plane.send("POST", "/tasks/claim", claim).await.json()["grants"].as_array().unwrap().len(), 1);
    assert_eq!(plane.send("POST", "/tasks/claim", claim).await.text(), r#"{"grants":[],"waited_ms":0}"#);
    // No state has a component.
    let claim = r#"{"supervisor":"vm","max":2,"routines":true}"#;
    assert_eq!(plane.send("POST", "/tasks/claim", claim).await.text(), r#"{"grants":[],"waited_ms":0}"#);
}

#[tokio::test]
async fn a_claim_waits_until_there_is_work() {
    let plane = Plane::new().await;
    let claim = r#"{"supervisor":"vm","states":["coding"],"max":5,"wait_ms":60000}"#;
    let waiting = plane.send("POST", "/tasks/claim", claim);
    let starting = async {
        // Whatever came first, the claim gets the task: it is tried again inside the transaction that queues one.
        plane.token("T").await;
    };
    let (answer, ()) =
        tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(waiting, starting) })
            .await
            .unwrap();
    assert_eq!(answer.json()["grants"][0]["token"], "T");
}

#[tokio::test]
async fn a_claim_that_waited_in_vain_is_answered_empty() {
    let plane = Plane::new().await;
    let claim = r#"{"supervisor":"vm","states":["coding"],"max":5,"wait_ms":20}"#;
    assert_eq!(plane.send("POST", "/tasks/claim", claim).await.text(), r#"{"grants":[],"waited_ms":0}"#);
}

#[tokio::test]
async fn claims_are_read_strictly() {
    let plane = Plane::new().await;
    let names = format!(r#"{{"supervisor":"vm","states":[{}]}}"#, vec![r#""s""#; 1001].join(","));
    let long = format!(r#"{{"supervisor":"{}","states":[]}}"#, "v".repeat(257));
    let bodies = [
        "{}",
        r#"{"states":["coding"]}"#,
        r#"{"supervisor":"a\u0000b","states":[]}"#,
        &long,
        r#"{"supervisor":"vm"}"#,
        r#"{"supervisor":"vm","states":"coding"}"#,
        r#"{"supervisor":"vm","states":[1]}"#,
        r#"{"supervisor":"vm","states":[""]}"#,
        &names,
        r#"{"supervisor":"vm","states":[]}"#,
        r#"{"supervisor":"vm","states":[],"request":"a b"}"#,
        r#"{"supervisor":"vm","states":[],"request":null}"#,
        r#"{"supervisor":"vm","states":[],"max":0}"#,
        r#"{"supervisor":"vm","states":[],"max":1001}"#,
        r#"{"supervisor":"vm","max":1}"#,
        r#"{"supervisor":"vm","states":[],"max":1,"wait_ms":60001}"#,
        r#"{"supervisor":"vm","states":[],"max":1,"routines":"yes"}"#,
        r#"{"supervisor":"vm","states":[],"wait_ms":"not ours: ignored"}"#,
    ];
    let requests = bodies.map(|body| ("POST", "/tasks/claim", body));
    insta::assert_snapshot!(table(&plane, &requests).await);
}

#[tokio::test]
async fn heartbeats_name_what_is_lost() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    let beat = format!(r#"{{"supervisor":"vm","tasks":[99,{task},98,98]}}"#);
    assert_eq!(plane.send("POST", "/tasks/heartbeat", &beat).await.text(), r#"{"lost":[98,99]}"#);
    let other = format!(r#"{{"supervisor":"other","tasks":[{task}]}}"#);
    assert_eq!(
        plane.send("POST", "/tasks/heartbeat", &other).await.text(),
        format!(r#"{{"lost":[{task}]}}"#)
    );
    let many = format!(r#"{{"supervisor":"vm","tasks":[{}]}}"#, vec!["1"; 1001].join(","));
    let requests = [
        r#"{"supervisor":"vm"}"#,
        r#"{"supervisor":"vm","tasks":[0]}"#,
        r#"{"supervisor":"vm","tasks":[true]}"#,
        r#"{"supervisor":"vm","tasks":[1.0]}"#,
        r#"{"supervisor":"vm","tasks":[9223372036854775808]}"#,
        &many,
        r#"{"supervisor":"vm","tasks":[]}"#,
    ]
    .map(|body| ("POST", "/tasks/heartbeat", body));
    insta::assert_snapshot!(table(&plane, &requests).await);
}

#[tokio::test]
async fn a_routine_may_begin_or_must_not() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let task = plane.claimed(r#"["coding"]"#).await;
    let path = format!("/tasks/{task}/started");
    let requests = [
        ("POST", path.as_str(), "{}"),
        ("POST", path.as_str(), r#"{"supervisor":"vm"}"#),
        ("POST", path.as_str(), r#"{"supervisor":"vm","attempt":1}"#),
        ("POST", path.as_str(), r#"{"supervisor":"vm","attempt":1}"#),
        ("POST", path.as_str(), r#"{"supervisor":"vm","attempt":2}"#),
        ("POST", path.as_str(), r#"{"supervisor":"other","attempt":1}"#),
        ("POST", "/tasks/99/started", r#"{"supervisor":"vm","attempt":1}"#),
        ("POST", "/tokens/T/events/stuck", ""),
        ("POST", path.as_str(), r#"{"supervisor":"vm","attempt":1}"#),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
}

/// The task and attempt of the first grant.
async fn claimed(plane: &Plane, folder: &str, start: u64) -> Option<(u64, u64)> {
    let claim = format!(
        r#"{{"supervisor":"vm","states":["coding"],"max":5,"request":"{folder}{start}",
            "incarnation":{{"folder":"{folder}","start":{start}}}}}"#
    );
    let answer = plane.send("POST", "/tasks/claim", &claim).await.json();
    let grant = answer["grants"].get(0)?;
    Some((grant["task"].as_u64()?, grant["attempt"].as_u64()?))
}

#[tokio::test]
async fn what_did_not_begin_is_given_back_and_another_gets_it_at_once() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let (task, _) = claimed(&plane, "f", 1).await.unwrap();
    let waiting = r#"{"supervisor":"other","states":["coding"],"max":5,"wait_ms":60000}"#;
    let waiting = plane.send("POST", "/tasks/claim", waiting);
    let giving = async {
        let path = format!("/tasks/{task}/return");
        let back = r#"{"supervisor":"vm","attempt":1}"#;
        assert_eq!(plane.send("POST", &path, back).await.brief(), "204");
        assert!(plane.send("POST", &path, back).await.brief().starts_with("409 "));
    };
    let (answer, ()) =
        tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(waiting, giving) }).await.unwrap();
    assert_eq!(answer.json()["grants"][0]["attempt"], 2);
    let history = plane.send("GET", "/tokens/T/history?kinds=all", "").await.text();
    assert!(history.contains("task_returned") && !history.contains("task_failed"), "{history}");
}

#[tokio::test]
async fn a_new_start_takes_its_own_tasks_back_and_a_namesake_does_not() {
    let plane = Plane::new().await;
    plane.token("T").await;
    assert_eq!(claimed(&plane, "f", 1).await, Some((1, 1)));
    assert_eq!(claimed(&plane, "g", 7).await, None);
    let beat = |folder: &str| {
        format!(r#"{{"supervisor":"vm","tasks":[1],"incarnation":{{"folder":"{folder}","start":9}}}}"#)
    };
    assert_eq!(plane.send("POST", "/tasks/heartbeat", &beat("g")).await.text(), r#"{"lost":[1]}"#);
    assert_eq!(plane.send("POST", "/tasks/heartbeat", &beat("f")).await.text(), r#"{"lost":[]}"#);
    let begin = r#"{"supervisor":"vm","attempt":1,"incarnation":{"folder":"g","start":7}}"#;
    let told = plane.send("POST", "/tasks/1/started", begin).await.text();
    assert!(told.contains("held by another supervisor that is named 'vm'"), "{told}");
    // Those that say nothing are not fenced.
    let old = r#"{"supervisor":"vm","tasks":[1]}"#;
    assert_eq!(plane.send("POST", "/tasks/heartbeat", old).await.text(), r#"{"lost":[]}"#);

    assert_eq!(claimed(&plane, "f", 2).await, Some((1, 2)), "its lease is not waited for");
    assert_eq!(claimed(&plane, "f", 1).await, None, "an earlier start does not take from a later one");
    let bad = r#"{"supervisor":"vm","tasks":[],"incarnation":{"folder":"a:b","start":1}}"#;
    assert!(plane.send("POST", "/tasks/heartbeat", bad).await.brief().starts_with("422 invalid_argument"));
}
