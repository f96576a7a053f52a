//! The programs of `tests/guests/`, each in a test of its own name: real Rust, through the SDK.
//!
//! `cargo xtask guests` builds them. Without that the tests say `skipped` and pass, so that `cargo test`
//! works right after a clone; `cargo xtask test` builds them first.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use stateous_runtime::{Event, Limits, Outcome, StopCode, Task};

use crate::harness::{Story, limits, run_with, task};

/// Runs the guest of this name, or says that it is not there.
async fn guest(name: &str, task: Task, limits: Limits) -> Option<Story> {
    Some(run_with(component(name)?, task, limits).await)
}

/// The component of this guest, or `None` when it is not there, which is said.
pub(crate) fn component(name: &str) -> Option<Vec<u8>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("target/guests").join(name).with_extension("wasm");
    match std::fs::read(&path) {
        Ok(component) => Some(component),
        Err(_) => {
            // `cargo xtask test` builds them first, and there nothing may be left out.
            assert!(std::env::var_os("STATEOUS_TEST_REQUIRE").is_none(), "{} is not built", path.display());
            // Straight to stderr: the print macros are kept from whoever runs tests that pass.
            let _ =
                writeln!(std::io::stderr(), "skipped: {name} is not built; `cargo xtask guests` builds it");
            None
        }
    }
}

fn event(name: &str, payload: Option<&str>) -> Outcome {
    Outcome::Event(Event { name: name.to_owned(), payload: payload.map(str::to_owned) })
}

#[tokio::test]
async fn allocates() {
    let Some(story) = guest("allocates", task(), limits()).await else { return };
    let (code, message) = story.stopped();
    assert_eq!(code, StopCode::MemoryExceeded);
    assert!(
        message.starts_with("the routine wanted 6")
            && message.contains(" MiB of memory; it may have 64 MiB\n"),
        "{message}"
    );
}

#[tokio::test]
async fn conforms() {
    crate::languages::conforms("conforms", "conforms/src/lib.rs:").await;
}

#[tokio::test]
async fn crashes() {
    let Some(story) = guest("crashes", task(), limits()).await else { return };
    let (code, message) = story.stopped();
    assert_eq!(code, StopCode::Trapped);
    assert!(message.starts_with("the routine panicked or aborted\nbacktrace:\n"), "{message}");
    assert_eq!(story.calls, "set position = 41");
    assert!(story.ended.context_writes.is_empty());
}

#[tokio::test]
async fn loops() {
    let Some(story) = guest("loops", task(), limits()).await else { return };
    assert_eq!(story.stopped().0, StopCode::FuelExhausted);

    let limits = Limits { fuel: u64::MAX, wall: Duration::from_millis(100), ..limits() };
    let Some(story) = guest("loops", task(), limits).await else { return };
    assert_eq!(story.stopped().0, StopCode::TimedOut);
}

#[tokio::test]
async fn noop() {
    let Some(story) = guest("noop", task(), limits()).await else { return };
    assert_eq!(story.ended.outcome, event("done", Some(r#"{"began_ms":1700000000000}"#)));
}

#[tokio::test]
async fn panics() {
    let Some(story) = guest("panics", task(), limits()).await else { return };
    let (code, message) = story.stopped();
    assert_eq!(code, StopCode::Trapped);
    assert!(message.starts_with("the routine panicked or aborted\nno such order in attempt 2"), "{message}");
    assert!(message.contains("panics::check_the_order\n"), "{message}");
    assert!(story.calls.starts_with("Error: panic: no such order in attempt 2"), "{}", story.calls);
}

#[tokio::test]
async fn recurses() {
    let Some(story) = guest("recurses", task(), limits()).await else { return };
    let (code, message) = story.stopped();
    assert_eq!(code, StopCode::Trapped);
    assert!(message.contains("probably too deep recursion"), "{message}");
    assert!(message.contains("recurses::descend\n"), "{message}");
}

#[tokio::test]
async fn remembers() {
    let mut task = task();
    task.memory.insert("seen".to_owned(), "4".to_owned());
    let Some(story) = guest("remembers", task, limits()).await else { return };
    assert_eq!(story.ended.outcome, event("done", Some(r#"{"title":"A title","seen":5}"#)));
    assert_eq!(
        story.calls,
        "set seen = 5\nnote seen 5 times\nInfo: attempt 2\nWarn: a memory key has 1 to 128 characters, not 0"
    );
    assert_eq!(story.ended.context_writes.get("seen").map(String::as_str), Some("5"));
    assert_eq!(story.ended.schedules[0].event.name, "reminded");
    assert_eq!(story.ended.schedules[0].after, "6h");
}

#[tokio::test]
async fn shouts() {
    let Some(story) = guest("shouts", task(), limits()).await else { return };
    let (code, message) = story.stopped();
    assert_eq!(code, StopCode::Trapped);
    assert!(message.starts_with("the routine handed over more than 4 MiB in one host call"), "{message}");
}

#[tokio::test]
async fn survives() {
    let Some(story) = guest("survives", task(), limits()).await else { return };
    assert_eq!(story.ended.outcome, event("refused", None));
}

/// Every folder of `tests/guests/` has a test in this file.
#[test]
fn every_guest_has_a_test_of_its_name() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests");
    for entry in std::fs::read_dir(root).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() && entry.path().join("Cargo.toml").exists() {
            let name = entry.file_name().into_string().unwrap();
            assert!(
                include_str!("guests.rs").contains(&format!("\nasync fn {name}() {{")),
                "{name} has no test"
            );
        }
    }
}
