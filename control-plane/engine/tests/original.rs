//! What the original answers, as vectors made with its package (0.2.2): checksums, canonical JSON, guards, schemas.

#![expect(clippy::unwrap_used, reason = "a test ends where its own data is wrong")]

use std::path::Path;

use stateous_engine::graph::Workflow;
use stateous_engine::guard::{Facts, Guard};
use stateous_engine::json::{Json, Object, canonical, parse, parse_nested, pretty};
use stateous_engine::{Catalog, Graph};

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The vectors of a file, each an object.
fn vectors(name: &str) -> Vec<Object> {
    let Json::Array(list) = parse_nested(read(name), 100).unwrap() else { panic!("{name} is not a list") };
    list.into_iter().map(|json| json.as_object().unwrap().clone()).collect()
}

fn text<'a>(vector: &'a Object, key: &str) -> &'a str {
    vector[key].as_str().unwrap()
}

fn texts(json: &Json) -> Vec<&str> {
    json.as_array().unwrap().iter().map(|j| j.as_str().unwrap()).collect()
}

fn graph(name: &str) -> Graph {
    Graph::parse(&read(&format!("graphs/{name}"))).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn json_is_written_as_python_writes_it() {
    for vector in vectors("canonical.json") {
        let value = parse(text(&vector, "text")).unwrap();
        assert_eq!(canonical(&value), text(&vector, "canonical"), "{}", text(&vector, "text"));
        assert_eq!(pretty(&value), text(&vector, "pretty"), "{}", text(&vector, "text"));
    }
}

#[test]
fn graphs_have_the_originals_checksum_and_structure() {
    for vector in vectors("graphs.json") {
        let graph = graph(text(&vector, "file"));
        assert_eq!(graph.checksum(), text(&vector, "checksum"), "{}", text(&vector, "file"));
        assert_eq!(graph.structure(), text(&vector, "structure"), "{}", text(&vector, "file"));
        let names: Vec<_> = graph.workflows().iter().map(Workflow::name).collect();
        assert_eq!(names, texts(&vector["workflows"]));
        if text(&vector, "file") != "odd.json" {
            // A file that nobody edited is what our own writer makes of it.
            assert_eq!(pretty(graph.document()), graph.text());
        }
    }
}

#[test]
fn guards_answer_as_the_original_does() {
    for vector in vectors("guards.json") {
        let guard = Guard::parse(text(&vector, "guard"));
        let guard = guard.unwrap_or_else(|error| panic!("{}: {error}", text(&vector, "guard")));
        let reads = &vector["reads"];
        assert!(guard.reads.context_keys.keys().eq(texts(&reads["context"])));
        assert!(guard.reads.payload_fields.keys().eq(texts(&reads["payload"])));
        assert!(guard.reads.events.keys().eq(texts(&reads["events"])));
        assert_eq!(guard.reads.branches.is_some(), reads["branches"] == true);
        let counts = |event: &str| vector["counts"].get(event).and_then(Json::as_u64).unwrap_or(0);
        let facts = Facts {
            context: vector["context"].as_object().unwrap(),
            payload: vector["payload"].as_object().unwrap(),
            counts: &counts,
            branches: vector["branches"].as_array().unwrap(),
        };
        assert_eq!(guard.holds(&facts), vector["holds"] == true, "{}", Json::Object(vector.clone()));
    }
}

#[test]
fn guards_outside_the_language_are_refused_with_their_place() {
    let mut shown = String::new();
    for vector in vectors("guards-refused.json") {
        let guard = text(&vector, "guard");
        match Guard::parse(guard) {
            Ok(parsed) => panic!("{guard:?} was taken as {:?}", parsed.tree),
            Err(error) if guard.len() < 100 => {
                let place =
                    guard.get(error.at.clone()).unwrap_or_else(|| panic!("{guard:?}: {:?}", error.at));
                shown += &format!("{guard:<32} {place:?}: {error}\n");
            }
            Err(error) => assert!(error.at.end <= guard.len()),
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn contexts_and_payloads_are_checked_as_the_original_checks_them() {
    for vector in vectors("schemas.json") {
        let graph = graph(&format!("{}.json", text(&vector, "graph")));
        let workflow = graph.workflow(text(&vector, "workflow")).unwrap();
        let mut errors = if let Some(event) = vector.get("event") {
            workflow.payload_errors(event.as_str().unwrap(), vector["payload"].as_object())
        } else {
            let filled = workflow.with_defaults(vector["context"].as_object().unwrap().clone());
            let order = |object: &Object| object.keys().cloned().collect::<Vec<_>>();
            assert_eq!(&filled, vector["filled"].as_object().unwrap());
            assert_eq!(order(&filled), order(vector["filled"].as_object().unwrap()));
            workflow.context_errors(&filled)
        };
        let mut wanted = texts(&vector["errors"]);
        errors.sort();
        wanted.sort_unstable();
        let paths: Vec<_> = errors.iter().map(|e| e.split(": ").next().unwrap_or_default()).collect();
        assert_eq!(paths, wanted, "{}: {errors:?}", Json::Object(vector.clone()));
    }
}

#[test]
fn a_catalog_finds_workflows_by_name_and_structure() {
    let (orders, release) = (graph("orders.json"), graph("release.json"));
    let structure = release.structure().to_owned();
    let catalog = Catalog::new(vec![orders, release]).unwrap();
    assert_eq!(catalog.default_graph().name(), "orders");
    assert_eq!(catalog.workflow("lint", &structure).unwrap().name(), "lint");
    assert!(catalog.workflow("orders", &structure).is_none());
    assert!(catalog.workflow("nope", &structure).is_none());
    let error = Catalog::new(vec![graph("orders.json"), graph("orders.json")]).unwrap_err();
    assert!(error.to_string().contains("'orders'"), "{error}");
    assert!(Catalog::new(Vec::new()).is_err());
}
