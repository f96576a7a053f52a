//! Fan-out in `workflow.toml`: what it compiles to, and its mistakes, each with its place and its code.

use stateous_compiler::compile;
use stateous_engine::Graph;

const SCAN: &str = r#"workflow = "scan"
context = "Scan"
[states.plan]
start = true
on.found = "hosts"
on.listed = "lines"
[states.hosts]
parallel = ["host"]
each = "payload.hosts"
inputs = ["depth"]
join = { quorum = 3 }
max_live = 50
key = "item.name"
on.empty = "END"
on.joined = [{ to = "lines", when = "branches.count(status == 'completed' and final == 'look') > 2" }, { to = "END", otherwise = true }]
[states.lines]
parallel = ["host"]
lines = "ctx['text']"
inputs = ["depth"]
on.joined = "END"
[events.found]
payload = "Found"
[workflows.host]
context = "Host"
[workflows.host.states.look]
start = true
on.done = "END"
[schemas.Scan]
depth = "integer"
text = "string"
[schemas.Found]
hosts = { json-schema = { type = "array" } }
[schemas.Host]
depth = "integer"
item = { json-schema = {} }
"#;

/// The workflow, with the schemas in the form that takes any item.
fn scan() -> String {
    SCAN.replace("[schemas.Found]\nhosts = { json-schema = { type = \"array\" } }\n", "[schemas.Found]\njson-schema = { type = \"object\", properties = { hosts = { type = \"array\" } } }\n")
        .replace("[schemas.Host]\ndepth = \"integer\"\nitem = { json-schema = {} }\n", "[schemas.Host]\njson-schema = { type = \"object\", properties = { depth = { type = \"integer\" }, item = {} }, required = [\"depth\", \"item\"] }\n")
}

#[test]
fn the_graph_file_says_what_the_workflow_says() {
    let compiled = compile(&scan(), "workflow.toml").unwrap_or_else(|m| panic!("{m:?}"));
    assert!(compiled.warnings.is_empty(), "{:?}", compiled.warnings);
    insta::assert_snapshot!(compiled.graph_text);
    // How many run at once is not part of the structure; over what it fans out is.
    let structure = |source: &str| {
        let text = compile(source, "w").unwrap_or_else(|m| panic!("{m:?}")).graph_text;
        Graph::parse(&text).map(|graph| graph.structure().to_owned()).unwrap_or_else(|e| panic!("{e}"))
    };
    assert_eq!(structure(&scan().replace("max_live = 50\n", "")), structure(&scan()));
    assert_ne!(structure(&scan().replace("quorum = 3", "quorum = 4")), structure(&scan()));
}

#[test]
fn each_mistake_has_a_code_and_a_place() {
    let check = |from: &str, to: &str, wanted: &[&str]| {
        let before = scan();
        assert!(before.contains(from), "{from} is not in the workflow");
        let source = before.replacen(from, to, 1);
        let all = compile(&source, "w").map_or_else(|m| m, |c| c.warnings);
        let told: Vec<_> = all.iter().map(|m| format!("{} {}:{}", m.code, m.line, m.column)).collect();
        assert_eq!(told, wanted, "{from} -> {to}");
    };
    check("scan", "scan", &[]);
    check("\"payload.hosts\"", "\"hosts\"", &["fan_out 9:8"]);
    check("\"payload.hosts\"", "\"payload.host\"", &["no_payload 9:8"]);
    check("lines = \"ctx['text']\"", "lines = \"payload.text\"", &["no_payload 18:9", "no_payload 18:9"]);
    check("\"ctx['text']\"", "\"ctx['texts']\"", &["unknown_field 18:9"]);
    check("lines = \"ctx['text']\"", "lines = \"ctx['text']\"\neach = \"ctx['text']\"", &["fan_out 19:1"]);
    check("lines = \"ctx['text']\"\n", "key = \"item\"\n", &["missing_input 17:13", "fan_out 18:1"]);
    check("lines = \"ctx['text']\"\n", "lines = 1\n", &["missing_input 17:13", "wrong_type 18:9"]);
    check(
        "parallel = [\"host\"]\nlines",
        "lines",
        &["fan_out 17:1", "parallel_state 18:1", "joined_elsewhere 19:4"],
    );
    check("[\"host\"]\neach", "[\"host\", \"host\"]\neach", &["runs_twice 8:21", "fan_out 8:21"]);
    check(
        "inputs = [\"depth\"]\njoin",
        "inputs = [\"depth\", \"item\"]\njoin",
        &["unknown_field 10:20", "fan_out 10:20"],
    );
    check("{ quorum = 3 }", "{ quorum = 0 }", &["fan_out 11:19"]);
    check("{ quorum = 3 }", "{ most = 3 }", &["bad_join 11:8", "unknown_key 11:10"]);
    check("max_live = 50", "max_live = 0", &["fan_out 12:12"]);
    check("max_live = 50", "max_live = \"50\"", &["wrong_type 12:12"]);
    check("\"item.name\"", "\"name\"", &["fan_out 13:7"]);
    check("final == 'look'", "payload.x == 1", &["one_branch 15:79"]);
    check("on.listed = \"lines\"", "on.listed = \"lines\"\non.empty = \"END\"", &["reserved_event 7:4"]);
    check("[events.found]", "[events.empty]\n[events.found]", &["reserved_event 21:9"]);
    check(", item = {}", "", &["no_item 8:13", "no_item 17:13"]);
    check("max_live", "max_lives", &["unknown_key 12:1"]);
}

/// Where nothing fans out, `empty` is an event like any other.
#[test]
fn empty_is_a_name_like_any_other_elsewhere() {
    let plain = "workflow = \"w\"\n[states.a]\nstart = true\non.empty = \"END\"\n";
    let graph = compile(plain, "w").unwrap_or_else(|m| panic!("{m:?}")).graph_text;
    assert!(graph.contains("\"empty\": {}"), "{graph}");
}
