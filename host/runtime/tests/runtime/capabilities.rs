//! What a guest may ask for: the calls that reach a port, the copies that answer reads, and every refusal.

use stateous_runtime::{Event, Outcome, Schedule};

use crate::harness::{limits, run, run_with, task};
use crate::scripted::Script;

/// Runs the script to the event `done` and shows the port calls and log lines.
async fn calls(script: Script) -> String {
    let story = run(script.event("done", None).build()).await;
    assert!(matches!(story.ended.outcome, Outcome::Event(_)), "{:?}", story.ended);
    story.calls
}

#[tokio::test]
async fn the_task_reaches_the_guest() {
    let code = "(call $info (local.get $token) (local.get $token-len)) (call $info (local.get $workflow) (local.get $workflow-len))
        (call $info (local.get $state) (local.get $state-len)) (call $info (local.get $name) (local.get $name-len))
        (if (local.get $has-payload) (then (call $info (local.get $payload) (local.get $payload-len))))
        (if (i64.ne (local.get $id) (i64.const 7)) (then unreachable))
        (if (i32.ne (local.get $visit) (i32.const 1)) (then unreachable))
        (if (i32.ne (local.get $attempt) (i32.const 2)) (then unreachable))
        (if (i64.ne (local.get $now) (i64.const 1700000000000)) (then unreachable))";
    let mut task = task();
    task.entered_by = Event { name: "reviewed".to_owned(), payload: Some(r#"{"ok": true}"#.to_owned()) };
    let story = run_with(Script::new().code(code).build(), task, limits()).await;
    assert_eq!(story.ended.outcome, Outcome::Waiting);
    assert_eq!(story.calls, "Info: order-1\nInfo: orders\nInfo: draft\nInfo: reviewed\nInfo: {\"ok\": true}");
}

#[tokio::test]
async fn context_reads_see_the_attempts_own_writes_and_every_digit() {
    let script = Script::new()
        .context_get("price")
        .context_get("missing")
        .context_all()
        .context_set("price", "2.00")
        .context_set("a \"quoted\" key", "[1, 2]")
        .context_get("price")
        .context_all();
    let story = run(script.event("done", None).build()).await;
    assert_eq!(
        story.calls,
        r#"Info: 1.50
Info: none
Info: {"title": "A title", "price": 1.50}
Info: 2.00
Info: {"title": "A title", "price": 2.00, "a \"quoted\" key": [1, 2]}"#
    );
    let writes = story.ended.context_writes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>();
    assert_eq!(writes, [("a \"quoted\" key", "[1, 2]"), ("price", "2.00")]);
}

#[tokio::test]
async fn context_writes_go_out_with_waiting_too_but_not_with_a_failure() {
    let script = || Script::new().context_set("a", "1").schedule("tick", None, "1s");
    let waiting = run(script().build()).await.ended;
    assert_eq!((waiting.context_writes.len(), waiting.schedules.len()), (1, 1));
    let failed = run(script().fail("no", true).build()).await.ended;
    assert_eq!((failed.context_writes.len(), failed.schedules.len()), (0, 0));
}

#[tokio::test]
async fn context_refuses_what_cannot_be_kept() {
    let deep = format!("{}1{}", "[".repeat(63), "]".repeat(63));
    let script = Script::new()
        .context_set("a", "{")
        .context_set("a", r#""\udfff""#)
        .context_set("a", &deep)
        .context_set("a\0", "1")
        .context_set("", "null");
    assert_eq!(
        calls(script).await,
        "Error: invalid_json\nError: invalid_json\nError: invalid_json\nError: invalid_key"
    );
}

#[tokio::test]
async fn context_writes_schedules_and_payload_share_one_mebibyte() {
    let half = format!("\"{}\"", "x".repeat(60_000));
    // 17 × 60 KB fit, the 18th does not; replacing one is free.
    let mut script = Script::new();
    script = script.context_set("k0", &half);
    let at = "(i32.const 1026) (i32.const 60002)";
    for i in 1..18 {
        script = script.code(&format!("(i32.store16 (i32.const 512) (i32.const {}))", 0x6161 + i));
        script = script.code(&format!(
            "(call $context-set (i32.const 512) (i32.const 2) {at} (i32.const 0)) (call $log-refusal)"
        ));
    }
    let script = script.context_set("k0", "1").code(&format!(
        "(call $context-set (i32.const 512) (i32.const 2) {at} (i32.const 0)) (call $log-refusal)"
    ));
    let story = run(script.event("done", None).build()).await;
    assert_eq!(story.calls, "Error: too_large");
    assert_eq!(story.ended.context_writes.len(), 18);
}

#[tokio::test]
async fn memory_is_told_to_the_port_and_read_from_the_copy() {
    let script = Script::new()
        .memory_get("old")
        .memory_set("new", "1")
        .memory_set("old", " {\"b\": 2.0}")
        .memory_get("old")
        .memory_first_key()
        .memory_delete("new")
        .memory_delete("never there")
        .memory_get("new");
    let mut task = task();
    task.memory.insert("old".to_owned(), "[1]".to_owned());
    let story = run_with(script.build(), task, limits()).await;
    assert_eq!(
        story.calls,
        "Info: [1]\nset new = 1\nset old =  {\"b\": 2.0}\nInfo:  {\"b\": 2.0}\nInfo: new\ndelete new\nInfo: none"
    );
}

#[tokio::test]
async fn memory_refuses_what_cannot_be_kept_and_the_port_hears_nothing() {
    let script = Script::new()
        .memory_set("", "1")
        .memory_set(&"k".repeat(129), "1")
        .memory_set("a\0", "1")
        .memory_set("a", "nope")
        .memory_set("a", " null ");
    assert_eq!(
        calls(script).await,
        "Error: invalid_key\nError: invalid_key\nError: invalid_key\nError: invalid_json\nError: invalid_json"
    );
}

#[tokio::test]
async fn a_value_of_a_mebibyte_is_refused() {
    let fill = "(drop (memory.grow (i32.const 32))) (memory.fill (i32.const 524288) (i32.const 49) (i32.const 1044481))";
    let set = |len: u32| {
        format!(
            "(call $memory-set (i32.const 1024) (i32.const 1) (i32.const 524288) (i32.const {len}) (i32.const 0)) (call $log-refusal)"
        )
    };
    let script = Script::new().log(0, "k").code(fill).code(&set(1_044_481)).code(&set(1_044_480));
    let calls = calls(script).await;
    assert!(calls.starts_with("Debug: k\nError: too_large\nset k = 1111"), "{calls:.100}");
    assert!(!calls.ends_with("too_large"));
}

#[tokio::test]
async fn memory_of_a_state_has_a_bound_over_all_its_keys() {
    let mut task = task();
    for i in 0..16 {
        task.memory.insert(format!("{i}"), "1".repeat((1 << 20) - 100));
    }
    let big = format!("\"{}\"", "x".repeat(2000));
    let script = Script::new()
        .memory_set("new", "1")
        .memory_set("more", &big)
        .memory_delete("0")
        .memory_set("more", "2");
    let story = run_with(script.build(), task, limits()).await;
    assert_eq!(story.calls, "set new = 1\nError: too_large\ndelete 0\nset more = 2");
}

#[tokio::test]
async fn notes_are_stripped_and_bounded() {
    let script =
        Script::new().note("  two\nlines \n").note(" \t ").note(&"ä".repeat(501)).note(&"ä".repeat(500));
    assert_eq!(calls(script).await, format!("note two\nlines\nError: too_large\nnote {}", "ä".repeat(500)));

    let flood = calls(Script::new().repeat(1200, |s| s.note("again"))).await;
    assert_eq!(flood.matches("note again").count(), 1000);
    assert_eq!(flood.matches("Error: too_many").count(), 200);
}

#[tokio::test]
async fn schedules_are_kept_in_order_and_bounded() {
    let script = Script::new().schedule("tick", Some("{\"n\": 1}"), "90s").schedule("tock", None, "3650d");
    let story = run(script.build()).await;
    let schedule = |name: &str, payload: Option<&str>, after: &str| Schedule {
        event: Event { name: name.to_owned(), payload: payload.map(str::to_owned) },
        after: after.to_owned(),
    };
    let expected = [schedule("tick", Some("{\"n\": 1}"), "90s"), schedule("tock", None, "3650d")];
    assert_eq!(story.ended.schedules, expected);

    let script = Script::new()
        .schedule("error", None, "1s")
        .schedule("Tick", None, "1s")
        .schedule("tick", Some("1"), "1s")
        .schedule("tick", Some("{"), "1s")
        .schedule("tick", None, "soon")
        .repeat(101, |s| s.schedule("tick", None, "1s"));
    assert_eq!(
        calls(script).await,
        "Error: invalid_event\nError: invalid_event\nError: invalid_event\nError: invalid_json\nError: invalid_duration\nError: too_many"
    );
}

#[tokio::test]
async fn log_lines_are_cut_and_counted() {
    let story = run(Script::new()
        .log(0, "a\0b")
        .log(2, &"x".repeat(5000))
        .repeat(1500, |s| s.log(1, "again"))
        .build())
    .await;
    let lines = story.calls.lines().collect::<Vec<_>>();
    assert_eq!(lines[0], "Debug: a\\u{0}b");
    assert_eq!(lines[1], format!("Warn: {}…", "x".repeat(4093)));
    assert_eq!(lines.len(), 1000);
    assert_eq!(story.ended.stats.log_lines_dropped, 502);
}
