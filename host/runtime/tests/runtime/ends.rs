//! Every way in which an attempt can end has its own name, and says what happened.

use std::time::Duration;

use stateous_runtime::{Event, Limits, Outcome, PortError, Refusal, RefusalCode, StopCode};
use tokio::time::timeout;

use crate::harness::{Recorder, limits, prepare, run, run_on, run_with, runtime, task};
use crate::scripted::Script;

#[tokio::test]
async fn waiting_is_an_outcome() {
    let story = run(Script::new().build()).await;
    assert_eq!(story.ended.outcome, Outcome::Waiting);
    assert_eq!(story.calls, "");
    let stats = story.ended.stats;
    assert!((1..1000).contains(&stats.fuel_used), "{stats:?}");
    assert_eq!(stats.memory_peak, 4 * 65536);
    assert!(stats.instantiate < stats.wall && stats.wall < Duration::from_secs(10), "{stats:?}");
}

#[tokio::test]
async fn an_event_carries_its_payload_as_written() {
    let story = run(Script::new().event("done", Some(r#"{ "n": 1.50e3 }"#)).build()).await;
    let payload = Some(r#"{ "n": 1.50e3 }"#.to_owned());
    assert_eq!(story.ended.outcome, Outcome::Event(Event { name: "done".to_owned(), payload }));
    let story = run(Script::new().event("done", None).build()).await;
    assert_eq!(story.ended.outcome, Outcome::Event(Event { name: "done".to_owned(), payload: None }));
}

#[tokio::test]
async fn fuel_is_the_same_at_every_run() {
    let component = Script::new().repeat(1000, |s| s).memory_set("n", "1").event("done", None).build();
    let first = run(component.clone()).await.ended.stats.fuel_used;
    assert_eq!(run(component).await.ended.stats.fuel_used, first);
}

#[tokio::test]
async fn a_failure_is_the_routines_own_words() {
    let story = run(Script::new().fail("no stock\0", true).build()).await;
    assert_eq!(story.failed(), ("no stock\\u{0}", true));
    let story = run(Script::new().fail("bad order", false).build()).await;
    assert_eq!(story.failed(), ("bad order", false));
    assert_eq!(run(Script::new().fail(" ", false).build()).await.failed().0, "the routine gave no reason");
}

#[tokio::test]
async fn an_event_that_cannot_be_sent_is_a_failure_that_says_why() {
    let payload = |text| async move {
        run(Script::new().event("done", Some(text)).build()).await.failed().0.to_owned()
    };
    let prefix = "the routine ended with an event that cannot be sent: its payload: ";
    assert_eq!(payload("[1]").await, format!("{prefix}a payload is a JSON object, not `[1]`"));
    assert!(payload("{\"a\"").await.starts_with(&format!("{prefix}the value is not JSON: EOF")));
    assert!(payload(r#"{"a": "\ud800"}"#).await.starts_with(&format!("{prefix}the value is not JSON: ")));
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(63), "]".repeat(63));
    assert!(
        payload(&deep).await.starts_with(&format!("{prefix}the value has 64 levels of nesting, at most 63"))
    );

    let story = run(Script::new().event("Not a name", None).build()).await;
    assert!(story.failed().0.contains("an event's name has 1 to 64 of"), "{}", story.failed().0);
    let story = run(Script::new().event("timeout", None).build()).await;
    assert!(story.failed().0.contains("the event `timeout` is the engine's own"), "{}", story.failed().0);
}

#[tokio::test]
async fn a_payload_of_a_mebibyte_is_too_much_and_less_is_not() {
    let story = run(Script::new().event_with_payload_of("done", 1_044_480).build()).await;
    assert!(
        matches!(&story.ended.outcome, Outcome::Event(e) if e.payload.as_ref().unwrap().len() == 1_044_480),
        "{:.200?}",
        story.ended
    );
    let story = run(Script::new().event_with_payload_of("done", 1_044_481).build()).await;
    assert!(
        story.failed().0.contains("come to 1044481 bytes, at most 1044480 go out"),
        "{}",
        story.failed().0
    );
}

#[tokio::test]
async fn a_guest_that_loops_for_ever_runs_out_of_fuel() {
    let story = run(Script::new().code("(loop $for-ever (br $for-ever))").build()).await;
    let message = "the routine used up its fuel of 500000000 instructions; does it loop for ever?";
    assert_eq!(story.stopped(), (StopCode::FuelExhausted, message));
    assert_eq!(story.ended.stats.fuel_used, 500_000_000);
}

#[tokio::test]
async fn a_guest_that_takes_too_long_is_stopped_and_its_fuel_is_known() {
    let limits = Limits { fuel: u64::MAX, wall: Duration::from_millis(100), ..limits() };
    let story = run_with(Script::new().code("(loop $for-ever (br $for-ever))").build(), task(), limits).await;
    assert_eq!(story.stopped(), (StopCode::TimedOut, "the routine did not end within 100ms"));
    assert!(story.ended.stats.fuel_used > 1_000_000, "{:?}", story.ended.stats);
    assert!(story.ended.stats.wall < Duration::from_secs(5), "{:?}", story.ended.stats);
}

#[tokio::test]
async fn time_in_host_calls_counts() {
    let component = Script::new().note("hello").build();
    let limits = Limits { wall: Duration::from_millis(50), ..limits() };
    let story = run_on(component, task(), limits, Recorder { hang: true, ..Recorder::default() }).await;
    assert_eq!(story.stopped().0, StopCode::TimedOut);
    assert_eq!(story.calls, "note hello");
}

#[tokio::test]
async fn host_calls_alone_cannot_outlast_the_wall_time() {
    let component =
        Script::new().code("(loop $for-ever (call $context-all (i32.const 0)) (br $for-ever))").build();
    let mut task = task();
    task.context = format!("{{\"a\": \"{}\"}}", "x".repeat(100));
    let limits = Limits { fuel: u64::MAX, wall: Duration::from_millis(100), ..limits() };
    let story = run_with(component, task, limits).await;
    assert!(matches!(story.stopped().0, StopCode::TimedOut | StopCode::MemoryExceeded), "{:?}", story.ended);
    assert!(story.ended.stats.wall < Duration::from_secs(5), "{:?}", story.ended.stats);
}

#[tokio::test]
async fn a_guest_that_takes_memory_without_end_is_named_for_it() {
    let code = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable";
    let story = run(Script::new().code(code).build()).await;
    let (code, message) = story.stopped();
    assert_eq!(code, StopCode::MemoryExceeded);
    assert!(
        message.starts_with("the routine wanted 64.2 MiB of memory; it may have 64 MiB\nbacktrace:\n"),
        "{message}"
    );
    assert!(story.ended.stats.memory_peak > 60 << 20 && story.ended.stats.memory_peak <= 64 << 20);
}

#[tokio::test]
async fn a_guest_may_survive_a_refused_growth() {
    let code = "(if (i32.ne (memory.grow (i32.const 30000)) (i32.const -1)) (then unreachable))";
    let story = run(Script::new().code(code).event("done", None).build()).await;
    assert!(matches!(story.ended.outcome, Outcome::Event(_)), "{:?}", story.ended);

    let later = format!("{code} (drop (memory.grow (i32.const 1))) unreachable");
    assert_eq!(
        run(Script::new().code(&later).build()).await.stopped().0,
        StopCode::Trapped,
        "it had survived"
    );
}

#[tokio::test]
async fn a_panic_is_told_in_the_guests_own_words() {
    let script = Script::new()
        .log(3, "panic: panicked at src/lib.rs:5:22:\nasked to crash\x1b[31m")
        .code("unreachable");
    let story = run(script.build()).await;
    let (code, message) = story.stopped();
    assert_eq!(code, StopCode::Trapped);
    let expected = "the routine panicked or aborted\npanicked at src/lib.rs:5:22:\nasked to crash\\u{1b}[31m\nbacktrace:\n";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(story.calls, "Error: panic: panicked at src/lib.rs:5:22:\nasked to crash\\u{1b}[31m");
}

#[tokio::test]
async fn last_words_without_end_are_cut() {
    let words = format!("panic: {}", "long ".repeat(10_000));
    let story = run(Script::new().log(3, &words).code("unreachable").build()).await;
    assert!(story.stopped().1.len() <= 8 << 10);
    assert!(story.stopped().1.contains("…\nbacktrace:\n"), "the backtrace keeps its room");
}

#[tokio::test]
async fn recursion_without_end_is_called_by_its_name() {
    let story = run(Script::new().code("(drop (call $deep (i32.const 0)))").build()).await;
    let (code, message) = story.stopped();
    assert_eq!(code, StopCode::Trapped);
    assert!(
        message.starts_with("the routine's stack is full: probably too deep recursion\nbacktrace:\n"),
        "{message}"
    );
    assert!(message.contains("  deep\n"), "{message}");
}

#[tokio::test]
async fn too_much_for_one_host_call_is_stopped_before_it_is_copied() {
    let grow = "(drop (memory.grow (i32.const 200)))";
    let code = format!("{grow} (call $info (i32.const 0) (i32.const 10000000))");
    let story = run(Script::new().code(&code).build()).await;
    let (code, message) = story.stopped();
    assert_eq!(code, StopCode::Trapped);
    assert!(
        message.starts_with("the routine handed over more than 4 MiB in one host call or in its outcome"),
        "{message}"
    );
    assert_eq!(story.calls, "");

    let story = run(Script::new().event_with_payload_of("done", 60 << 20).build()).await;
    assert!(story.stopped().1.starts_with("the routine handed over more than 4 MiB"), "{:?}", story.ended);
}

#[tokio::test]
async fn memory_that_was_written_stays_written_when_the_guest_crashes() {
    let script =
        Script::new().memory_set("position", "41").context_set("a", "1").schedule("tick", None, "1s");
    let story = run(script.code("unreachable").build()).await;
    assert_eq!(story.stopped().0, StopCode::Trapped);
    assert_eq!(story.calls, "set position = 41");
    assert!(story.ended.context_writes.is_empty() && story.ended.schedules.is_empty(), "{:?}", story.ended);
}

#[tokio::test]
async fn a_port_can_refuse_deny_and_break() {
    let component = Script::new().memory_set("k", "1").memory_get("k").event("done", None).build();
    let with = |answer| {
        run_on(component.clone(), task(), limits(), Recorder { answer: Some(answer), ..Recorder::default() })
    };

    let story = with(PortError::Refused(Refusal::new(RefusalCode::OutboxFull, "wait"))).await;
    assert!(matches!(story.ended.outcome, Outcome::Event(_)));
    assert_eq!(story.calls, "set k = 1\nError: outbox_full\nInfo: none");

    let story = with(PortError::Denied("memory is not granted to this routine".to_owned())).await;
    assert_eq!(story.stopped(), (StopCode::Denied, "memory is not granted to this routine"));
    let story = with(PortError::Broken("the disk is full".to_owned())).await;
    assert_eq!(story.stopped(), (StopCode::Host, "the disk is full"));
}

#[tokio::test]
async fn dropping_a_run_stops_the_guest() {
    let prepared = prepare(Script::new().code("(loop $for-ever (br $for-ever))").build()).await.unwrap();
    let ports = Recorder::default();
    let calls = ports.calls.clone();
    let endless = Limits { fuel: u64::MAX, ..limits() };
    let run = runtime().run(&prepared, task(), endless, ports);
    assert!(timeout(Duration::from_millis(50), run).await.is_err());
    assert_eq!(std::sync::Arc::strong_count(&calls), 1, "the ports went with the run");
}

#[tokio::test]
async fn a_context_that_is_no_object_is_the_hosts_fault() {
    let mut task = task();
    task.context = "[1]".to_owned();
    let story = run_with(Script::new().context_get("a").build(), task, limits()).await;
    assert_eq!(story.stopped().0, StopCode::Host);
    assert!(story.stopped().1.starts_with("the token's context is not a JSON object"), "{:?}", story.ended);
}
