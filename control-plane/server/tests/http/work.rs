//! The work that there is: tasks, and the supervisors that do them.

use stateous_store::Clock as _;

use crate::harness::{Answer, Plane, table};

/// The numbers of the tasks.
fn ids(answer: &Answer) -> Vec<u64> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json().as_array().unwrap().iter().map(|task| task["task"].as_u64().unwrap()).collect()
}

async fn listed(plane: &Plane, query: &str) -> Vec<u64> {
    ids(&plane.send("GET", &format!("/tasks{query}"), "").await)
}

#[tokio::test]
async fn a_task_is_told_from_its_queue_to_its_end() {
    let plane = Plane::new().await;
    plane.token("T").await;
    let mut told = vec![plane.send("GET", "/tasks/1", "").await.text()];
    plane.clock.advance(1000);
    plane.claimed(r#"["coding"]"#).await;
    told.push(plane.send("GET", "/tasks/1", "").await.text());
    plane.send("POST", "/tasks/1/started", r#"{"supervisor":"vm","attempt":1}"#).await;
    told.push(plane.send("GET", "/tasks/1", "").await.text());
    plane.send("POST", "/tasks/1/report", r#"{"kind":"failed","error":"no disk"}"#).await;
    told.push(plane.send("GET", "/tasks/1", "").await.text());
    plane.claimed(r#"["coding"]"#).await;
    plane.send("POST", "/tasks/1/report", r#"{"kind":"waiting","supervisor":"vm"}"#).await;
    told.push(plane.send("GET", "/tasks/1", "").await.text());
    plane.send("POST", "/tasks/1/report", r#"{"kind":"event","event":"done"}"#).await;
    told.push(plane.send("GET", "/tasks?status=any", "").await.text());
    insta::assert_snapshot!(told.join("\n").replace("},{", "},\n{"));
    let refused = [("GET", "/tasks/99", ""), ("GET", "/tasks/claim", ""), ("POST", "/tasks/1", "{}")];
    insta::assert_snapshot!(table(&plane, &refused).await);
}

#[tokio::test]
async fn tasks_are_listed_by_what_they_are() {
    let plane = Plane::new().await;
    for token in ["A", "B", "C", "D"] {
        plane.token(token).await;
    }
    // 1 waits, 2 is claimed, 3 has begun, 4 is queued.
    for _ in 0..3 {
        plane.claimed(r#"["coding"]"#).await;
    }
    plane.send("POST", "/tasks/1/report", r#"{"kind":"waiting","supervisor":"vm"}"#).await;
    plane.send("POST", "/tasks/3/started", r#"{"supervisor":"vm","attempt":1}"#).await;
    // 5 is queued in testing, and 2 is done.
    plane.send("POST", "/tasks/2/report", r#"{"kind":"event","event":"done"}"#).await;
    let check = async |query: &str, expected: &[u64]| {
        assert_eq!(listed(&plane, query).await, expected, "{query}");
    };
    check("", &[1, 3, 4, 5]).await;
    check("?status=open", &[1, 3, 4, 5]).await;
    check("?status=any", &[1, 2, 3, 4, 5]).await;
    check("?status=queued", &[4, 5]).await;
    check("?status=claimed", &[3]).await;
    check("?status=started", &[3]).await;
    check("?status=done", &[2]).await;
    check("?state=coding", &[1, 3, 4]).await;
    check("?state=sdlc/testing&workflow=sdlc", &[5]).await;
    check("?workflow=other", &[]).await;
    check("?token=B", &[5]).await;
    check("?token=B&status=any", &[2, 5]).await;
    check("?supervisor=vm", &[1, 3]).await;
    check("?supervisor=other", &[]).await;

    let mut path = "/tasks?status=any&limit=2".to_owned();
    let mut pages = Vec::new();
    loop {
        let answer = plane.send("GET", &path, "").await;
        pages.push(ids(&answer));
        let Some(link) = answer.header("link") else { break };
        assert!(link.starts_with("</tasks?status=any&limit=2&cursor="), "{link}");
        path = link[1..link.find('>').unwrap()].to_owned();
    }
    assert_eq!(pages, [vec![1, 2], vec![3, 4], vec![5]]);

    let refused = [
        ("GET", "/tasks?status=open,queued", ""),
        ("GET", "/tasks?token=-a", ""),
        ("GET", "/tasks?supervisor=", ""),
        ("GET", "/tasks?unserved=yes", ""),
        ("GET", "/tasks?unserved=true&status=any", ""),
        ("GET", "/tasks?limit=1001", ""),
        ("GET", "/tasks?cursor=bm90IG91cnM", ""),
        ("GET", "/tasks?workflow=a%00b", ""),
    ];
    insta::assert_snapshot!(table(&plane, &refused).await);
}

#[tokio::test]
async fn who_is_alive_and_what_nobody_serves() {
    let plane = Plane::new().await;
    plane.token("A").await;
    plane.token("B").await;
    plane.send("POST", "/tokens/B/events/done", "").await;
    assert_eq!(plane.send("GET", "/supervisors", "").await.text(), "[]");
    assert_eq!(listed(&plane, "?unserved=true").await, [1, 3]);

    plane.claimed(r#"["coding","other/state"]"#).await;
    plane.token("C").await;
    assert_eq!(listed(&plane, "?unserved=true").await, [3]);
    let any = r#"{"supervisor":"wasm","max":5,"routines":true}"#;
    assert_eq!(plane.send("POST", "/tasks/claim", any).await.status, 200);
    // No state has a component, so nothing is served by who asks for those.
    assert_eq!(listed(&plane, "?unserved=true&state=testing").await, [3]);
    plane.clock.advance(60_000);
    plane.send("POST", "/tasks/heartbeat", r#"{"supervisor":"vm","tasks":[1]}"#).await;
    insta::assert_snapshot!(plane.send("GET", "/supervisors", "").await.text().replace("},{", "},\n{"));

    // Who is busy still serves what it asked for; who is silent for two minutes does not.
    plane.clock.advance(120_000);
    assert_eq!(listed(&plane, "?unserved=true").await, [3]);
    plane.clock.advance(1);
    assert_eq!(listed(&plane, "?unserved=true&token=C").await, [4]);
    assert_eq!(plane.send("GET", "/supervisors", "").await.json().as_array().unwrap().len(), 2);
    let now = plane.clock.now();
    plane.clock.advance(479_999);
    let names = plane.send("GET", "/supervisors", "").await.text();
    assert!(names.contains("\"vm\"") && !names.contains("\"wasm\""), "{names} at {now}");
    plane.clock.advance(1);
    assert_eq!(plane.send("GET", "/supervisors", "").await.text(), "[]");
}
