//! The programs of `tests/guests/`, each in a test of its own name: real Rust, through the SDK.
//!
//! `cargo xtask guests` builds them. Without that the tests say `skipped` and pass, so that `cargo test`
//! works right after a clone; `cargo xtask test` builds them first.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use stateous_runtime::{Config, Event, Limits, Outcome, StopCode, Task, WebError};

use crate::harness::{Recorder, Story, limits, run_on, run_with, task};

/// Runs the guest of this name, or says that it is not there.
async fn guest(name: &str, task: Task, limits: Limits) -> Option<Story> {
    Some(run_with(built(name)?, task, limits).await)
}

/// The guest's component, if it is built.
pub(crate) fn built(name: &str) -> Option<Vec<u8>> {
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
async fn configured() {
    let Some(component) = built("configured") else { return };
    let config = Config {
        settings: [("city", "Bern"), ("unit", "kg")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        secrets: ["API_TOKEN".to_owned()].into(),
    };
    let ports = Recorder { config, ..Recorder::default() };
    let story = run_on(component, task(), limits(), ports).await;
    let payload = r#"{"city":"Bern","missing":null,"settings":["city","unit"],"secrets":["API_TOKEN"]}"#;
    assert_eq!(story.ended.outcome, event("done", Some(payload)));
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
async fn fetches() {
    let Some(component) = built("fetches") else { return };
    let run = async |method: &str, web, limits| {
        let url = "https://api.example.com/v1/orders?open=1#top";
        let context = format!(
            r#"{{"method": "{method}", "url": "{url}", "authorization": "Bearer {{{{secret:API_TOKEN}}}}", "body": "hello"}}"#
        );
        let ports = Recorder { web, ..Recorder::default() };
        run_on(component.clone(), Task { context, ..task() }, limits, ports).await
    };

    // The request arrives whole, the secret's name where the secret will stand; the answer comes back.
    let story = run("POST", Some(Ok("an answer".into())), limits()).await;
    assert_eq!(story.ended.outcome, event("done", Some(r#"{"status":200,"body":"an answer"}"#)));
    assert_eq!(
        story.calls,
        "POST https://api.example.com/v1/orders?open=1 | host: api.example.com | authorization: Bearer \
         {{secret:API_TOKEN}} | content-length: 5 | hello"
    );

    // The guest hears which no it was.
    for (error, code) in [
        (WebError::Denied("no".to_owned()), "HTTP-request-denied"),
        (WebError::AddressDenied("no".to_owned()), "destination-IP-prohibited"),
        (WebError::Dns("no such name".to_owned()), "DNS-error"),
        (WebError::AnswerTimeout(Duration::from_secs(1)), "HTTP-response-timeout"),
        (WebError::TooMany(1), "connection-limit-reached"),
    ] {
        let story = run("GET", Some(Err(error)), limits()).await;
        let Outcome::Event(refused) = &story.ended.outcome else { panic!("{:?}", story.ended) };
        assert_eq!(refused.name, "refused");
        let payload = refused.payload.clone().unwrap_or_default();
        assert!(
            payload.starts_with(&format!(
                r#"{{"code":"{code}","message":"GET https://api.example.com/v1/orders: "#
            )),
            "{payload}"
        );
    }

    // An answer that never comes does not outlive the attempt.
    let story = run("GET", None, Limits { wall: Duration::from_millis(100), ..limits() }).await;
    assert_eq!(story.stopped().0, StopCode::TimedOut);
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
