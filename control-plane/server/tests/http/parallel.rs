//! Parallel states: children as the API tells of them.

use std::sync::Arc;

use stateous_store::ManualClock;

use crate::harness::{Plane, START, table};

const RELEASE: &str = include_str!("../../../engine/tests/fixtures/graphs/release.json");

#[tokio::test]
async fn children_are_tokens_that_their_own_supervisors_work_on() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let plane = Plane::start(folder, Arc::new(ManualClock::new(START)), RELEASE).await.unwrap();
    let claim = |states: &str| format!(r#"{{"supervisor":"vm","states":{states}}}"#);
    let report = |event: &str| format!(r#"{{"kind":"event","event":"{event}","supervisor":"vm"}}"#);
    let (scan, run, ship) =
        (claim(r#"["lint/scan"]"#), claim(r#"["unit-tests/run"]"#), claim(r#"["ship","scan"]"#));
    let (clean, passed) =
        (report("clean"), r#"{"kind":"event","event":"ran","payload":{"ok":true},"supervisor":"vm"}"#);
    let start = r#"{"token":"R","context":{"title":"t","size":2,"risk":"high","author":{"name":"Ada"}}}"#;
    let requests = [
        ("POST", "/tokens", start),
        ("POST", "/tokens/R/events/go", ""),
        ("GET", "/tokens?parent=R", ""),
        // A child's state has its workflow's name before it; without one it is a state of the default workflow.
        ("POST", "/tasks/claim", ship.as_str()),
        ("POST", "/tasks/claim", scan.as_str()),
        ("POST", "/tokens/R.checks.1.lint/pause", ""),
        ("POST", "/tasks/2/report", clean.as_str()),
        ("POST", "/tasks/claim", run.as_str()),
        ("POST", "/tasks/3/report", passed),
        ("GET", "/tokens/R", ""),
        ("POST", "/tasks/claim", ship.as_str()),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
    insta::assert_snapshot!(plane.history("R").await);
    insta::assert_snapshot!(plane.history("R.checks.1.lint").await);
}
