//! Graphs as pictures: Mermaid as the original (0.2.2) draws it, DOT as a snapshot.

use std::path::Path;

use stateous_compiler::{dot, mermaid};
use stateous_engine::Graph;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn graph(path: &str) -> Graph {
    Graph::parse(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn mermaid_is_drawn_as_the_original_draws_it() {
    let graphs = "../engine/tests/fixtures/graphs";
    let check = |path: &str, drawing: &str| {
        assert_eq!(mermaid(&graph(path)), read(&format!("tests/fixtures/mermaid/{drawing}.mmd")), "{path}");
    };
    for name in ["orders", "release", "sdlc", "wide"] {
        check(&format!("{graphs}/{name}.json"), name);
    }
    check("tests/fixtures/kitchen.json", "kitchen");
    check("tests/fixtures/release.json", "parallel");
}

#[test]
fn dot_has_a_cluster_for_each_child() {
    insta::assert_snapshot!(dot(&graph("tests/fixtures/kitchen.json")));
    insta::assert_snapshot!(dot(&graph("tests/fixtures/release.json")));
}

#[test]
fn what_nobody_compiled_is_drawn_too() {
    // A workflow that runs itself, and a guard of two lines with every kind of quote.
    let text = r#"{"stateous": 1, "workflow": "w", "schemas": {}, "events": {"go": {}},
        "states": {"a": {"parallel": ["x"]}},
        "transitions": [{"from": "__start__", "to": "a"}, {"from": "a", "to": "__end__", "on": "go", "when": "(ctx['k']\n== \"\\\\\")"}],
        "workflows": {"x": {"events": {}, "states": {"a": {"parallel": ["x"]}},
            "transitions": [{"from": "__start__", "to": "a"}]}}}"#;
    let graph = Graph::parse(text).unwrap();
    insta::assert_snapshot!(mermaid(&graph));
    insta::assert_snapshot!(dot(&graph));
}
