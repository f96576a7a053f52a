//! What every SDK can do, in every language: one list of acts, one guest a language
//! (`tests/guests/<language>/conforms`; Rust's is `tests/guests/conforms`), and the same answers from all.

use std::time::Duration;

use serde_json::{Value, json};
use stateous_runtime::{Event, Limits, Outcome, StopCode, Task};

use crate::guests::built;
use crate::harness::{Story, run_with, task};

/// A context value that loses something in any language that reads JSON carelessly.
const VALUE: &str = concat!(
    r#"{"big": 123456789012345678901234567890, "least": -9007199254740993, "text": "naïve 🖋 \u0001\"\\", "#,
    r#""list": [1, {"deep": [true, null, 2.5]}, []], "empty": {}}"#
);

/// Fuel for any language's start and some work.
const FUEL: u64 = 2_000_000_000;

#[tokio::test]
async fn javascript() {
    conforms("js-conforms", "(look.ts:7:").await;
}

#[tokio::test]
async fn python() {
    conforms("python-conforms", "(look.py:2)").await;
}

#[tokio::test]
async fn c() {
    conforms("c-conforms", "(routine.c:8)").await;
}

#[tokio::test]
async fn go() {
    conforms("go-conforms", "main.look (conforms/routine.go:16)").await;
}

/// Runs the whole list. `place` is what the history says of where the crash was.
pub(crate) async fn conforms(guest: &str, place: &str) {
    let Some(component) = built(guest) else { return };
    let act = async |act: &str| run_with(component.clone(), given(act), limits()).await;

    reads(&act("read").await);
    writes(&act("write").await);

    let story = act("fatal").await;
    assert_eq!(story.failed(), ("there is no such thing", false), "{guest}");
    let story = act("retry").await;
    let (message, retry) = story.failed();
    assert!(retry && message.starts_with("no answer"), "{guest}: {message}");
    assert!(story.ended.context_writes.is_empty());

    let refused = Event { name: "refused".to_owned(), payload: Some(r#"{"code":"invalid_key"}"#.to_owned()) };
    let Outcome::Event(event) = act("refused").await.ended.outcome else { panic!("{guest}") };
    assert_eq!((event.name, compact(event.payload)), (refused.name, refused.payload.map(|p| parsed(&p))));
    let story = act("careless").await;
    let (message, retry) = story.failed();
    assert!(retry && message.contains("a memory key has 1 to 128 characters, not 0"), "{guest}: {message}");

    let (message, retry) = end(act("crash").await);
    assert!(retry && message.contains("no such order") && message.contains(place), "{guest}: {message}");
    let (message, _) = end(act("shout").await);
    assert!(message.len() <= 8 << 10 && message.contains("xxxxxxxx"), "{guest}: {} bytes", message.len());

    assert_eq!(act("spin").await.stopped().0, StopCode::FuelExhausted, "{guest}");
    let timed = Limits { fuel: u64::MAX, wall: Duration::from_millis(200), ..limits() };
    let story = run_with(component.clone(), given("spin"), timed).await;
    assert_eq!(story.stopped().0, StopCode::TimedOut, "{guest}");
    hoards(guest, &act("hoard").await);
}

/// Everything that a routine is given, back in a payload, with every digit and character.
fn reads(story: &Story) {
    let Outcome::Event(event) = &story.ended.outcome else { panic!("{:?}", story.ended) };
    assert_eq!(event.name, "done");
    let expected = json!({
        "value": parsed(VALUE), "token": "order-1", "task": 7, "workflow": "orders", "state": "draft", "visit": 3,
        "attempt": 2, "now_ms": 1_700_000_000_000_u64, "entered_by": "reviewed", "given": {"why": "länger"},
        "known": [1, 2], "none": true,
    });
    assert_eq!(compact(event.payload.clone()), Some(expected));
}

/// Everything that a routine may ask for.
fn writes(story: &Story) {
    assert_eq!(story.ended.outcome, Outcome::Waiting, "{}", story.calls);
    let writes: Vec<(&str, Value)> =
        story.ended.context_writes.iter().map(|(key, json)| (key.as_str(), parsed(json))).collect();
    assert_eq!(writes, [("copy", parsed(VALUE)), ("keys", json!(["copy"]))]);
    let [timer] = &story.ended.schedules[..] else { panic!("{:?}", story.ended.schedules) };
    assert_eq!((timer.event.name.as_str(), timer.after.as_str()), ("reminded", "6h"));
    assert_eq!(compact(timer.event.payload.clone()), Some(json!({"n": 1})));

    let mut calls = story.calls.lines();
    let set = calls.next().and_then(|call| call.strip_prefix("set copy = ")).unwrap_or_default();
    assert_eq!(parsed(set), parsed(VALUE));
    let rest: Vec<&str> = calls.collect();
    assert_eq!(
        rest,
        ["delete known", "note noted 🖋", "Debug: a line", "Info: a line", "Warn: a line", "Error: a line"]
    );
}

/// A guest that takes memory without end is stopped for it, or hears of it as an error of its language.
fn hoards(guest: &str, story: &Story) {
    match &story.ended.outcome {
        Outcome::Stopped { code, .. } => assert_eq!(*code, StopCode::MemoryExceeded, "{guest}"),
        Outcome::Failed { message, .. } => {
            let told = ["out of memory", "MemoryError"].iter().any(|words| message.contains(words));
            assert!(told, "{guest}: {message}");
        }
        other => panic!("{guest}: {other:?}"),
    }
    let most = limits().memory_bytes;
    assert!(story.ended.stats.memory_peak <= most && story.ended.stats.memory_peak > most / 2, "{guest}");
}

/// The message of an attempt that crashed, as the history has it, and whether it is tried again.
fn end(story: Story) -> (String, bool) {
    match story.ended.outcome {
        Outcome::Failed { message, retry } => (message, retry),
        Outcome::Stopped { message, .. } => (message, true),
        other => panic!("{other:?}"),
    }
}

fn given(act: &str) -> Task {
    let mut task = task();
    task.context = format!(r#"{{"do": "{act}", "value": {VALUE}}}"#);
    task.visit = 3;
    task.entered_by =
        Event { name: "reviewed".to_owned(), payload: Some(r#"{"why": "länger"}"#.to_owned()) };
    task.memory.insert("known".to_owned(), "[1, 2]".to_owned());
    task
}

fn limits() -> Limits {
    Limits { fuel: FUEL, wall: Duration::from_secs(60), ..Limits::default() }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}"))
}

fn compact(payload: Option<String>) -> Option<Value> {
    payload.map(|payload| parsed(&payload))
}
