//! Routines: upload, list, download, and grants that pin them.

use crate::harness::{Plane, table};

/// A hand-written component of the routine world, shared with the tests of its check.
const ROUTINE: &str = include_str!("../../../../host/inspect/tests/routine.wat");

fn component() -> Vec<u8> {
    wat::parse_str(ROUTINE).unwrap()
}

#[tokio::test]
async fn a_component_is_put_in_force_and_pinned_by_grants() {
    let plane = Plane::new().await;
    let bytes = component();
    let push = async |query: &str| plane.send_with("POST", &format!("/routines?{query}"), &[], &bytes).await;
    let first = push("state=coding&name=coding.wasm&fuel=1000000&wall_ms=60000").await;
    assert_eq!(first.status, 201, "{}", first.text());
    let digest = stateous_inspect::digest(&bytes);
    insta::assert_snapshot!(first.text().replace(&digest, "DIGEST"));
    let again = push("workflow=sdlc&state=coding&name=coding.wasm&fuel=1000000&wall_ms=60000").await;
    assert_eq!((again.status, again.text()), (200, first.text()));
    let limited = push("state=coding&name=coding.wasm&fuel=2000000").await;
    assert_eq!((limited.status, limited.json()["version"].as_u64()), (201, Some(2)));
    let listed = plane.send("GET", "/routines", "").await;
    assert_eq!(listed.text(), format!("[{}]", limited.text()));

    plane.token("T").await;
    let claim = r#"{"supervisor":"vm","max":4,"routines":true}"#;
    let grant = plane.send("POST", "/tasks/claim", claim).await.json()["grants"][0].clone();
    insta::assert_snapshot!(grant["routine"].to_string().replace(&digest, "DIGEST"));
}

#[tokio::test]
async fn a_component_is_downloaded_by_its_digest() {
    let plane = Plane::new().await;
    let bytes = component();
    let pushed = plane.send_with("POST", "/routines?state=testing", &[], &bytes).await.json();
    let digest = pushed["digest"].as_str().unwrap();
    let path = format!("/routines/{}", digest.replace(':', "%3A"));
    let got = plane.send("GET", &path, "").await;
    assert_eq!(got.status, 200);
    assert_eq!(got.header("content-type"), Some("application/wasm"));
    assert_eq!(got.body, bytes);
    let tag = got.header("etag").unwrap();
    assert_eq!(plane.send_with("GET", &path, &[("if-none-match", tag)], b"").await.status, 304);
    let none = format!("/routines/sha256:{}", "0".repeat(64));
    let requests =
        [("GET", none.as_str(), ""), ("GET", "/routines/..%2Fetc", ""), ("GET", "/routines/latest", "")];
    insta::assert_snapshot!(table(&plane, &requests).await);
}

#[tokio::test]
async fn what_cannot_run_is_refused_on_arrival() {
    let plane = Plane::new().await;
    let requests = [
        ("POST", "/routines", "x"),
        ("POST", "/routines?state=nope", "x"),
        ("POST", "/routines?workflow=nope&state=coding", "x"),
        ("POST", "/routines?state=coding&fuel=0", "x"),
        ("POST", "/routines?state=coding&wall_ms=1s", "x"),
        ("POST", "/routines?state=coding&name=a%0Ab", "x"),
        ("POST", "/routines?state=coding", "hello, world"),
        ("POST", "/routines?state=coding", ""),
        ("POST", "/routines?state=coding", "\0asm\u{1}\0\0\0"),
        ("POST", "/routines?state=coding", "\0asm\u{d}\0\u{1}\0"),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await.replace('\0', "\\0"));
    let large = vec![0; (32 << 20) + 1];
    let answer = plane.send_with("POST", "/routines?state=coding", &[], &large).await;
    assert_eq!(answer.brief(), "413 bad_request: the body is larger than 32 MiB, the most this API reads");
    assert_eq!(plane.send("GET", "/routines", "").await.text(), "[]");
}
