//! Mistakes of parallel states and the workflows that they run, each with its place and its code.

use proptest::prelude::*;
use stateous_compiler::compile;

/// A workflow with parallel states and without mistakes.
const PARALLEL: &str = r#"workflow = "p"
context = "C"
[states.a]
start = true
parallel = ["x", "y"]
inputs = ["k"]
on.joined = "END"
[workflows.x]
context = "X"
start = [{ to = "s", when = "ctx['k'] == 'v'" }, { to = "t", otherwise = true }]
states.s.on.done = "END"
states.t.on.done = "END"
[workflows.y.states.s]
start = true
parallel = ["z"]
join = "any"
on.joined = "END"
[workflows.z.states.s]
start = true
on.done = "END"
[schemas.C]
k = "string"
[schemas.X]
k = "string"
"#;

#[test]
fn each_mistake_of_parallel_states_has_a_code_and_a_place() {
    let check = |from: &str, to: &str, wanted: &[&str]| {
        assert!(PARALLEL.contains(from), "{from} is not in the workflow");
        let source = PARALLEL.replacen(from, to, 1);
        let all = compile(&source, "w").map_or_else(|m| m, |c| c.warnings);
        let told: Vec<_> = all.iter().map(|m| format!("{} {}:{}", m.code, m.line, m.column)).collect();
        assert_eq!(told, wanted, "{from} -> {to}");
    };
    check("start", "start", &[]);
    // What a state says.
    check("\"any\"", "\"some\"", &["bad_join 16:8"]);
    check("[\"x\", \"y\"]", "\"x\"", &["wrong_type 5:12"]);
    check("[\"x\", \"y\"]", "[]", &["wrong_type 5:12"]);
    check("[\"x\", \"y\"]", "[\"x\", 1]", &["wrong_type 5:18"]);
    check("inputs = [\"k\"]", "inputs = \"k\"", &["missing_input 5:13", "wrong_type 6:10"]);
    check("join = \"any\"", "retries = 2", &["parallel_state 16:1"]);
    check("parallel = [\"z\"]\n", "", &["parallel_state 15:1", "joined_elsewhere 16:4"]);
    check("join = \"any\"", "jion = \"any\"", &["unknown_key 16:1"]);
    check(
        "[workflows.z.states.s]",
        "[workflows.z]\nretries = 1\n[workflows.z.states.s]",
        &["unknown_key 19:1"],
    );
    // Which workflows run.
    check("\"y\"]", "\"yy\"]", &["unknown_workflow 5:18"]);
    check("\"y\"]", "\"y\", \"x\"]", &["runs_twice 5:23"]);
    check("\"y\"]", "\"p\"]", &["runs_itself 5:18"]);
    check("[\"z\"]", "[\"y\"]", &["runs_itself 15:13"]);
    check(
        "states.t.on.done = \"END\"",
        "states.t.parallel = [\"x\"]\nstates.t.on.joined = \"END\"",
        &["missing_input 12:22", "runs_itself 12:22"],
    );
    check("start = true\non.done", "start = true\nparallel = [\"y\"]\non.joined", &["runs_itself 20:13"]);
    check("[\"x\", \"y\"]", "[\"y\"]", &["unused_workflow 8:12", "unused_schema 23:10"]);
    check("workflow = \"p\"", "workflow = \"x\"", &["two_workflows 8:12"]);
    // What is handed on, and how it ends.
    check("inputs = [\"k\"]", "inputs = [\"k\", \"l\"]", &["unknown_field 6:16"]);
    check("inputs = [\"k\"]\n", "", &["missing_input 5:13"]);
    check("on.joined = \"END\"", "on.given-up = \"END\"", &["no_join 3:9"]);
    check("on.joined = \"END\"", "on.joined = \"END\"\non.error = \"END\"", &["error_never 8:4"]);
    check("on.joined = \"END\"", "on.joined = { to = \"END\", when = \"payload.x\" }", &["no_payload 7:35"]);
    // The children.
    check("states.t.on.done = \"END\"", "states.t.on.done = \"t\"", &["cannot_end 12:8"]);
    check("states.t.on.done = \"END\"", "states.t = {}", &["dead_end 12:8"]);
    check(
        "states.t.on.done = \"END\"",
        "states.t.on.done = \"END\"\nevents.dome = {}",
        &["unused_event 13:8"],
    );
    check(
        "{ to = \"t\", otherwise = true }",
        "{ to = \"t\", when = \"ctx['k'] == 'w'\" }",
        &["child_start 10:17"],
    );
    check("start = true\non.done", "on.done", &["no_start 18:21"]);
    check("states.t.on.done = \"END\"", "states.t.on.done = \"u\"", &["unknown_state 12:20"]);
    let long = "z".repeat(30);
    check("[workflows.z.", &format!("[workflows.{long}."), &["unknown_workflow 15:13"]);
    let source =
        PARALLEL.replace("[\"z\"]", &format!("[\"{long}\"]")).replace("flows.z", &format!("flows.{long}"));
    assert!(compile(&source, "w").is_ok());
    let source = source.replace(&long, &long.repeat(2));
    assert_eq!(compile(&source, "w").unwrap_err()[0].code, "long_ids");
    // However deep they nest.
    let levels = 2_000;
    let state = |runs: &str| format!("start = true\nparallel = [\"{runs}\"]\non.joined = \"END\"\n");
    let mut source = format!("workflow = \"deep\"\n[states.s]\n{}", state("w0"));
    for n in 0..levels {
        source += &format!("[workflows.w{n}.states.s]\n{}", state(&format!("w{}", n + 1)));
    }
    source += &format!("[workflows.w{levels}.states.s]\nstart = true\non.done = \"END\"\n");
    assert_eq!(compile(&source, "w").unwrap_err()[0].code, "long_ids");
}

proptest! {
    #[test]
    fn no_edit_of_parallel_states_panics(at in 0..PARALLEL.len(), with in r#"["'\[\]{}=.,a-z0-9\n?]{0,6}"#, cut in 0usize..12) {
        let end = (at + cut).min(PARALLEL.len());
        let source = format!("{}{with}{}", &PARALLEL[..at], &PARALLEL[end..]);
        let _ = compile(&source, "w");
    }
}
