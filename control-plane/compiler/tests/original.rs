//! The graph that we make of a `workflow.toml` is, byte for byte, the one that the original's compiler (0.2.2) made of the
//! same workflow in Python.

use std::path::Path;

use stateous_compiler::{Compiled, compile};
use stateous_engine::Graph;
use stateous_engine::json::{Json, parse, pretty};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn compiled(path: &str) -> Compiled {
    let source = read(path);
    compile(&source, path).unwrap_or_else(|mistakes| {
        let all: Vec<_> = mistakes.iter().map(|m| m.render(&source)).collect();
        panic!("{}", all.join("\n\n"))
    })
}

#[test]
fn plain_workflows_are_equal_to_the_byte() {
    for name in ["orders", "sdlc", "release"] {
        let ours = compiled(&format!("tests/fixtures/{name}.toml"));
        assert_eq!(ours.warnings, []);
        assert_eq!(ours.graph_text, read(&format!("tests/fixtures/{name}.json")));
    }
}

#[test]
fn every_form_is_equal_but_for_the_schema_that_python_cannot_say() {
    let ours = compiled("tests/fixtures/kitchen.toml");
    assert_eq!(ours.warnings, []);
    let without_free = |text: &str| {
        let mut graph = parse(text).unwrap();
        let free = graph["schemas"].as_object_mut().unwrap().shift_remove("Free").unwrap();
        (pretty(&graph), free)
    };
    let (ours, free) = without_free(&ours.graph_text);
    assert_eq!(ours, without_free(&read("tests/fixtures/kitchen.json")).0);
    insta::assert_snapshot!(pretty(&free));
}

#[test]
fn the_example_is_the_originals_starter() {
    let ours = Graph::parse(&compiled("../../examples/orders/workflow.toml").graph_text).unwrap();
    let starter = Graph::parse(&read("../engine/tests/fixtures/graphs/orders.json")).unwrap();
    let shape = |graph: &Graph| {
        let mut document = graph.document().clone();
        // Retries are the example's own; the schemas differ in a description and a default.
        document.as_object_mut().unwrap().shift_remove("schemas");
        for options in document["states"].as_object_mut().unwrap().values_mut() {
            options.as_object_mut().unwrap().shift_remove("retries");
        }
        document
    };
    assert_eq!(pretty(&shape(&ours)), pretty(&shape(&starter)));
    let fields = |graph: &Graph, schema: &str| {
        let properties = graph.document()["schemas"][schema]["properties"].as_object().cloned().unwrap();
        (
            properties.keys().cloned().collect::<Vec<_>>(),
            graph.document()["schemas"][schema]["required"].clone(),
        )
    };
    for schema in ["Item", "Verdict"] {
        assert_eq!(fields(&ours, schema), fields(&starter, schema));
    }
}

#[test]
fn what_we_compile_is_served_with_the_originals_checksum() {
    for name in ["orders", "sdlc", "release"] {
        let ours = Graph::parse(&compiled(&format!("tests/fixtures/{name}.toml")).graph_text).unwrap();
        let theirs = Graph::parse(&read(&format!("tests/fixtures/{name}.json"))).unwrap();
        assert_eq!((ours.checksum(), ours.structure()), (theirs.checksum(), theirs.structure()));
        assert_eq!(ours.document()["stateous"], Json::from(1));
    }
}

#[test]
fn the_documentation_shows_a_workflow_that_compiles() {
    let crate_root = read("src/lib.rs");
    let lines =
        crate_root.lines().skip_while(|l| *l != "//! ```toml").skip(1).take_while(|l| *l != "//! ```");
    let source: String = lines.map(|l| format!("{}\n", l.trim_start_matches("//!").trim_start())).collect();
    let shown = compile(&source, "lib.rs").unwrap();
    assert_eq!((Graph::parse(&shown.graph_text).unwrap().name(), shown.warnings), ("sdlc", Vec::new()));
}
