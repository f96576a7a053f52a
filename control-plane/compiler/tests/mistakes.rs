//! Mistakes as their author sees them: all at once, each with its place, its code and a way out.

use proptest::prelude::*;
use stateous_compiler::{Diagnostic, compile};

/// A workflow without mistakes, to which a test adds one.
const GOOD: &str = r#"workflow = "w"
context = "C"
[states.a]
start = true
timeout = "1h"
on.go = [{ to = "b", when = "payload.n > 1" }, { to = "END", otherwise = true }]
[states.b]
on.done = "END"
[events.go]
payload = "P"
[schemas.C]
k = "string"
[schemas.P]
n = "integer"
"#;

fn render(source: &str) -> String {
    let all = match compile(source, "workflow.toml") {
        Ok(compiled) => compiled.warnings,
        Err(mistakes) => mistakes,
    };
    all.iter().map(|m: &Diagnostic| m.render(source) + "\n\n").collect()
}

/// The codes and places of what is told about `GOOD` with `from` replaced by `to`.
fn told(from: &str, to: &str) -> Vec<String> {
    assert!(GOOD.contains(from), "{from} is not in the good workflow");
    let source = GOOD.replacen(from, to, 1);
    let all = match compile(&source, "w") {
        Ok(compiled) => compiled.warnings,
        Err(mistakes) => mistakes,
    };
    all.iter().map(|m| format!("{} {}:{}", m.code, m.line, m.column)).collect()
}

#[test]
fn the_good_workflow_is_good() {
    assert_eq!(render(GOOD), "");
}

#[test]
fn each_mistake_has_a_code_and_a_place() {
    let check = |from: &str, to: &str, wanted: &[&str]| assert_eq!(told(from, to), wanted, "{from} -> {to}");
    // The file's form.
    check("workflow = \"w\"\n", "", &["missing_key 1:1"]);
    check("workflow = \"w\"", "workflow = \"W\"", &["bad_name 1:12"]);
    check("workflow = \"w\"", "workflow = 5", &["wrong_type 1:12"]);
    check("workflow = \"w\"", "workflow = \"w", &["syntax 1:14"]);
    check("[states.b]", "[states.b]\n[states.b]", &["syntax 8:9"]);
    check("[states.b]", "[statez.b]", &["unknown_state 6:17", "unknown_key 7:2"]);
    check("[states.b]", "[states.b]\nretry = 1", &["unknown_key 8:1"]);
    check("start = true", "start = true\njoin = \"all\"", &["parallel_state 5:1"]);
    // Values.
    check("\"1h\"", "\"1w\"", &["bad_duration 5:11"]);
    check("\"1h\"", "5", &["wrong_type 5:11"]);
    check("start = true", "start = true\nretries = -1", &["bad_retries 5:11"]);
    check("start = true", "start = true\nretries = 1.0", &["wrong_type 5:11"]);
    check("[states.b]", "[states.b]\non.Done = \"END\"", &["bad_name 8:4"]);
    // Where tokens begin.
    check("start = true\n", "", &["no_start 3:9"]);
    check("[states.b]", "[states.b]\nstart = true", &["two_starts 8:1"]);
    check("context", "start = \"b\"\ncontext", &["two_starts 5:1"]);
    check("start = true\n", "on.x = \"END\"\n", &["no_start 3:9"]);
    // Where tokens go.
    check("to = \"b\"", "to = \"c\"", &["unknown_state 6:17", "unreachable 7:9"]);
    check("on.done = \"END\"\n", "", &["dead_end 7:9"]);
    check("on.done = \"END\"", "on.done = \"END\"\n[states.c]\non.x = \"b\"", &["unreachable 9:9"]);
    check("on.done = \"END\"", "on.done = \"b\"", &["cannot_end 7:9"]);
    check("{ to = \"END\", o", "{ to = \"b\", o", &[]);
    // Which transition is taken.
    check(", otherwise = true", "", &["needs_otherwise 6:55"]);
    check("when = \"payload.n > 1\"", "otherwise = true", &["two_fallbacks 6:49"]);
    check("otherwise = true", "otherwise = true, when = \"true\"", &["when_and_otherwise 6:48"]);
    // Guards.
    check("payload.n > 1", "payload.n + 1", &["guard 6:40"]);
    check("payload.n > 1", "payload.m > 1", &["unknown_field 6:30"]);
    check("payload.n > 1", "ctx['z'] == payload.n", &["unknown_field 6:30"]);
    check("payload.n > 1", "count('og') > 1", &["unknown_event 6:30"]);
    check("payload.n > 1", "branches.all(true)", &["branches_elsewhere 6:30"]);
    check("payload = \"P\"", "", &["no_payload 6:30"]);
    check(
        "start = true",
        "on.timeout = { to = \"END\", when = \"payload.x == 1\" }\nstart = true",
        &["no_payload 4:36"],
    );
    check(
        "to = \"END\", otherwise = true",
        "to = \"END\", when = \"payload.n < 3\"",
        &["guards_overlap 6:69"],
    );
    check("to = \"END\", otherwise = true", "to = \"END\", when = \"payload.n < 2\"", &[]);
    check(
        "to = \"END\", otherwise = true",
        "to = \"END\", when = \"ctx['k'] == payload.n\"",
        &["guards_undecided 6:69"],
    );
    check("payload.n > 1", "payload.n > 1 and payload.n < 2", &["never_holds 6:29"]);
    check("payload.n > 1", "count('go') < 1", &["never_holds 6:29"]);
    // Events.
    check("[events.go]", "[events.timeout]\n[events.go]", &["reserved_event 9:9"]);
    check("[events.go]", "[events.dome]\n[events.go]", &["unused_event 9:9"]);
    check("on.done", "on.joined", &["joined_elsewhere 8:4"]);
    check("timeout = \"1h\"", "on.timeout = \"END\"", &["timeout_never 5:4"]);
    // Schemas.
    check("context = \"C\"", "context = \"D\"", &["unknown_schema 2:11"]);
    check("payload = \"P\"", "payload = \"Q\"", &["unknown_schema 10:11"]);
    check("\"string\"", "\"str\"", &["unknown_type 12:5"]);
    check("\"string\"", "[\"string\", \"integer\"]", &["bad_field 12:5"]);
    check("\"string\"", "{ type = \"string\" }", &["bad_field 12:5"]);
    check("[schemas.P]", "[schemas.my-schema]\n[schemas.P]", &["bad_name 13:10"]);
    check("[schemas.P]", "[schemas.string]\n[schemas.P]", &["bad_name 13:10"]);
    check("n = \"integer\"", "json-schema = { type = \"strng\" }", &["bad_schema 13:10"]);
    check(
        "n = \"integer\"",
        "json-schema = { a = 1979-05-27, b = inf }",
        &["wrong_type 14:21", "wrong_type 14:37"],
    );
    check("[schemas.P]", "[schemas.Q]\nq = \"P\"\n[schemas.P]", &["unused_schema 13:10"]);
    check("n = \"integer\"", "json-schema = {}\nn = \"integer\"", &["bad_schema 15:1"]);
}

#[test]
fn guarded_starts_read_the_context_only() {
    let check = |starts: &str, wanted: &[&str]| {
        let start = format!("start = [{starts}]\ncontext");
        let good = GOOD.replacen("start = true\n", "", 1).replacen("context", &start, 1);
        let told = compile(&good, "w").map_or_else(|m| m, |c| c.warnings);
        let told: Vec<_> = told.iter().map(|m| format!("{} {}:{}", m.code, m.line, m.column)).collect();
        assert_eq!(told, wanted, "{starts}");
    };
    let otherwise = "{ to = \"b\", otherwise = true }";
    check(&format!("{{ to = \"a\", when = \"ctx['k'] == 'x'\" }}, {otherwise}"), &[]);
    check(&format!("{{ to = \"a\", when = \"payload.n == 1\" }}, {otherwise}"), &["start_guard 2:30"]);
    check(&format!("{{ to = \"a\", when = \"count('go') == 1\" }}, {otherwise}"), &["start_guard 2:30"]);
    check("{ to = \"a\" }, { to = \"b\" }", &["two_starts 2:31"]);
    check("{ to = \"a\", when = \"true\" }, { to = \"b\" }", &["needs_otherwise 2:46"]);
    check("{ to = \"a\" }, { to = \"END\" }", &["two_starts 2:31", "start_to_end 2:31"]);
    check("{ when = \"ctx['k'] == 'x'\" }", &["missing_key 2:10", "no_start 4:9"]);
    check("", &["wrong_type 2:9", "no_start 4:9"]);
}

#[test]
fn guards_that_can_both_hold_are_shown_with_data() {
    let source = r#"workflow = "w"
context = "C"
[states.a]
start = true
on.go = [
    { to = "a", when = "payload.n < 3 and ctx['tags'] == []" },
    { to = "END", when = "payload.n > 1 or 'urgent' in ctx['tags']" },
    { to = "END", when = "payload.n == ctx['k']" },
]
on.done = [{ to = "a", when = "ctx['k'] == 'x' and ctx['k'] == 'y'" }, { to = "END", otherwise = true }]
[events.go]
payload = "P"
[schemas.C]
k = "string"
tags = ["string"]
[schemas.P]
n = "integer"
"#;
    insta::assert_snapshot!(render(source));
    let without_errors = source
        .replace("payload.n > 1 or", "payload.n > 2 and")
        .replace("payload.n == ctx['k']", "payload.n > 2 and ctx['tags'] == []");
    insta::assert_snapshot!(render(&without_errors));
}

#[test]
fn all_mistakes_are_shown_at_once_with_a_way_out() {
    let source = r#"workflow = "Sdlc"
context = "Ticket"

[states.coding]
timeout = "6 hours"
retries = "two"
on.done = "tesitng"
on.failed = [
    { to = "coding", when = "payload.faild < 3 and ctx['repo'] = 'x'" },
    { to = "END" },
]

[states.testing]
on.passed = "end"
on.error = [{ to = "END", when = "ctx['rpeo'] == 'é' and payload.x == 1" }]

[states.lost]

[events.pased]
payload = "Tests"

[schemas.Ticket]
repo = "str"
"#;
    insta::assert_snapshot!(render(source));
}

#[test]
fn a_broken_file_is_told_as_such() {
    insta::assert_snapshot!(render(
        "workflow = orders\n[states.a\nstart = true\non = { done = }\n\u{feff}\n"
    ));
}

#[test]
fn an_empty_file_is_told_what_it_needs() {
    insta::assert_snapshot!(render(""));
}

#[test]
fn many_guards_on_one_event_are_held_against_each_other() {
    let source = |guard: &dyn Fn(usize) -> String, n: usize| {
        let ways: Vec<_> = (0..n).map(|i| format!("{{ to = \"b\", when = \"{}\" }}", guard(i))).collect();
        GOOD.replacen("{ to = \"b\", when = \"payload.n > 1\" }", &ways.join(", "), 1)
    };
    assert_eq!(compile(&source(&|i| format!("payload.n == {i}"), 60), "w").unwrap().warnings, []);
    // Each is told the first few that it clashes with, not all.
    let mistakes = compile(&source(&|i| format!("payload.n > {i}"), 60), "w").unwrap_err();
    assert_eq!(mistakes.len(), 1 + 2 + 3 * 57);
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        render(&text);
    }

    #[test]
    fn no_edit_of_a_good_file_panics(at in 0..GOOD.len(), with in r#"["'\[\]{}=.,a-z0-9\n?é]{0,6}"#, cut in 0usize..12) {
        let end = (at + cut).min(GOOD.len());
        let source = format!("{}{with}{}", &GOOD[..at], &GOOD[end..]);
        render(&source);
    }
}
