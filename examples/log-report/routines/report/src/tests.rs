//! The routine on the log that is shipped, whole and with the machine dying at every chunk.

use stateous_routine::prelude::*;
use stateous_routine::testing::{Ended, Mock};

use super::report;

#[path = "../examples/generate.rs"]
#[allow(dead_code, reason = "a program whose main is not run here")]
mod generate;

const SHIPPED: &str = include_str!("../../../access.log");
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/report.json");

fn shipped(chunk_lines: usize) -> Mock {
    Mock::new(json!({"log": SHIPPED, "chunk_lines": chunk_lines}))
}

#[test]
fn the_shipped_log_is_what_the_generator_writes() {
    assert!(
        SHIPPED == generate::access_log(),
        "run: cargo run --release --example generate > ../../access.log"
    );
    assert!(SHIPPED.len() <= 400 << 10, "{} bytes", SHIPPED.len());
}

/// After a change that is meant: `STATEOUS_BLESS=1 cargo test`.
#[test]
fn the_report_is_the_golden_one() {
    let mock = shipped(200);
    let ended = mock.run(report);
    assert_eq!(ended.event(), "reported");
    let made = format!("{:#}\n", ended.payload());
    if std::env::var_os("STATEOUS_BLESS").is_some() {
        std::fs::write(GOLDEN, &made).unwrap();
    }
    assert_eq!(made, std::fs::read_to_string(GOLDEN).unwrap_or_default());
    assert_eq!(mock.notes().len(), 1, "{:?}", mock.notes());
}

#[test]
fn an_attempt_goes_on_where_the_last_one_died() {
    let whole = shipped(200).run(report);
    let chunks = SHIPPED.lines().count().div_ceil(200) as u32;
    for writes in 1..=chunks {
        let mock = shipped(200);
        assert_eq!(mock.kill_after_memory_writes(writes).run(report), Ended::Killed);
        let resumed = mock.run(report);
        assert_eq!(resumed, whole, "killed after {writes} of {chunks} chunks");
        let line = (200 * writes as usize).min(SHIPPED.lines().count()) + 1;
        assert_eq!(mock.notes()[0], format!("resumed at line {line}"));
    }
}

#[test]
fn several_deaths_are_survived() {
    let mock = shipped(100);
    for _ in 0..3 {
        assert_eq!(mock.kill_after_memory_writes(5).run(report), Ended::Killed);
    }
    assert_eq!(mock.run(report), shipped(100).run(report));
    assert_eq!(mock.notes()[..3], ["resumed at line 501", "resumed at line 1001", "resumed at line 1501"]);
}

#[test]
fn another_visit_starts_from_the_top() {
    let mock = shipped(1_000);
    let first = mock.run(report);
    assert_eq!(mock.run(report), first);
    assert!(!mock.notes().iter().any(|note| note.starts_with("resumed")));
}

#[test]
fn progress_of_another_form_is_read_over() {
    let mock = shipped(1_000).remembers("progress", &json!({"offset": 7}));
    assert_eq!(mock.run(report), shipped(1_000).run(report));
    assert!(mock.logs()[0].1.contains("does not fit"), "{:?}", mock.logs());
}

#[test]
fn an_empty_log_and_other_line_ends_are_read() {
    let empty = Mock::new(json!({"log": ""})).run(report);
    assert_eq!(empty.payload()["lines"], json!({"total": 0, "parsed": 0, "bad": 0}));
    assert!(empty.payload().get("period").is_none());

    let line = r#"192.0.2.7 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1"#;
    let ended = Mock::new(json!({"log": format!("{line}\r\n{line}\r\n")})).run(report);
    assert_eq!(ended.payload()["lines"], json!({"total": 2, "parsed": 2, "bad": 0}));
}

#[test]
fn a_chunk_of_no_lines_is_refused() {
    assert!(!shipped(0).run(report).failure().is_retryable());
    assert!(!Mock::new(json!({"text": "?"})).run(report).failure().is_retryable());
}

#[test]
fn what_is_remembered_stays_small() {
    let mock = shipped(200);
    mock.run(report);
    let bytes = mock.memory()["progress"].to_string().len();
    assert!(bytes < 32 << 10, "{bytes} bytes");

    // A log in which nobody comes twice.
    let line =
        |n: usize| format!("h{n}.example - - [10/Oct/2026:13:55:36 +0000] \"GET /{n} HTTP/1.1\" 200 1\n");
    let mock = Mock::new(json!({"log": (0..9_000).map(line).collect::<String>(), "chunk_lines": 9_000}));
    let ended = mock.run(report);
    let others = json!({"name": "(others)", "requests": 7_000, "bytes": 7_000});
    assert_eq!(ended.payload()["top_paths"][0], others);
    assert!(mock.memory()["progress"].to_string().len() < 256 << 10);
}
