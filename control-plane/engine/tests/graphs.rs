//! Graph files that cannot be served: each is refused with its place and a way out.

#![expect(clippy::unwrap_used, reason = "a test ends where its own data is wrong")]

use stateous_engine::Graph;
use stateous_engine::json::{Json, parse};

/// A small graph with `edit` made to it.
fn edited(edit: impl FnOnce(&mut Json)) -> String {
    let mut graph = parse(
        r##"{"stateous":1,"workflow":"w","context":"C","states":{"a":{"retries":1,"timeout":"1h","emits":["go"]},
        "p":{"parallel":["kid"],"join":"all","inputs":["k"]}},"events":{"go":{"payload":"P"}},
        "transitions":[{"from":"__start__","to":"a"},{"from":"a","to":"p","on":"go","when":"payload.n > 1"},
        {"from":"a","to":"__end__","on":"go","otherwise":true},{"from":"p","to":"__end__","on":"joined"}],
        "workflows":{"kid":{"states":{"s":{"emits":[]}},"events":{},
        "transitions":[{"from":"__start__","to":"s"},{"from":"s","to":"__end__","on":"timeout"}]}},
        "schemas":{"C":{"type":"object"},"P":{"$ref":"#/schemas/C"}}}"##,
    )
    .unwrap();
    edit(&mut graph);
    graph.to_string()
}

/// The graph with the value at `pointer` replaced; with nothing, removed.
fn with(pointer: &str, value: &str) -> String {
    edited(|graph| {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match graph.pointer_mut(parent).unwrap() {
            Json::Object(object) if value.is_empty() => {
                object.shift_remove(key);
            }
            Json::Object(object) => {
                object.insert(key.to_owned(), parse(value).unwrap());
            }
            other => other[key.parse::<usize>().unwrap()] = parse(value).unwrap(),
        }
    })
}

#[test]
fn the_unedited_graph_is_taken() {
    let graph = Graph::parse(&edited(|_| {})).unwrap();
    assert_eq!(graph.main().starts().len(), 1);
    assert_eq!(graph.main().candidates("a", "go").len(), 2);
    assert!(graph.main().candidates("p", "go").is_empty());
    assert_eq!(graph.main().state("a").unwrap().timeout_ms, Some(3_600_000));
    assert!(graph.main().declares("go") && !graph.main().declares("joined"));
}

#[test]
fn what_could_not_be_served_is_refused() {
    let mut shown = String::new();
    let mut check = |text: &str, label: &str| match Graph::parse(text) {
        Ok(_) => panic!("{label} was taken"),
        Err(error) => shown += &format!("{label}\n    {error}\n"),
    };
    check("{", "not JSON");
    check("[]", "not an object");
    check(&format!("{{\"a\":{}", "[".repeat(100_000)), "100,000 levels");
    for (pointer, value) in [
        ("/stateous", ""),
        ("/stateous", "2"),
        ("/stateous", "1.0"),
        ("/stateous", "true"),
        ("/workflow", "\"W\""),
        ("/workflow", "7"),
        ("/context", "\"Nope\""),
        ("/schemas", "[]"),
        ("/schemas/C", "{\"type\":\"strng\"}"),
        ("/schemas/C", "{\"properties\":{\"a\":{\"pattern\":\"(\"}}}"),
        ("/schemas/C", "{\"$ref\":\"#/schemas/D\"}"),
        ("/schemas/C", "{\"$ref\":\"https://example.org/c.json\"}"),
        ("/states", "[]"),
        ("/states/a", "5"),
        ("/states/A", "{}"),
        ("/states/__end__", "{}"),
        ("/states/a/timeout", "\"1w\""),
        ("/states/a/timeout", "\"4000d\""),
        ("/states/a/timeout", "5"),
        ("/states/a/retries", "-1"),
        ("/states/a/retries", "1.0"),
        ("/states/a/retries", "true"),
        ("/states/a/retries", "null"),
        ("/states/a/emits", "[1]"),
        ("/states/p/inputs", "\"k\""),
        ("/states/p/parallel", "[]"),
        ("/states/p/parallel", "\"kid\""),
        ("/states/p/parallel", "[\"other\"]"),
        ("/states/p/parallel", "[\"kid\",\"kid\"]"),
        ("/states/p/join", "\"some\""),
        ("/events/timeout", "{}"),
        ("/events/go/payload", "\"Nope\""),
        ("/events/go", "null"),
        ("/transitions", "{}"),
        ("/transitions", "[]"),
        ("/transitions/0", "1"),
        ("/transitions/0/to", ""),
        ("/transitions/0/to", "\"nowhere\""),
        ("/transitions/0/to", "\"__end__\""),
        ("/transitions/0/on", "\"go\""),
        ("/transitions/1/from", "\"nowhere\""),
        ("/transitions/1/to", "\"__start__\""),
        ("/transitions/1/on", ""),
        ("/transitions/1/on", "\"__started__\""),
        ("/transitions/1/on", "\"gone\""),
        ("/transitions/1/when", "\"payload.é ++ 1\""),
        ("/transitions/1/when", ""),
        ("/transitions/1/otherwise", "true"),
        ("/transitions/2/otherwise", "1"),
        ("/workflows", "[]"),
        ("/workflows/w", "{}"),
        ("/workflows/kid", "{}"),
        ("/workflows/kid/states/s", "{\"retries\":-2}"),
        ("/workflows/kid/transitions/0/to", "\"t\""),
    ] {
        check(&with(pointer, value), &format!("{pointer} = {value}"));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn what_the_original_overlooks_is_overlooked() {
    for (pointer, value) in [
        ("/more", "[1]"),
        ("/context", "null"),
        ("/states/a/note", "\"x\""),
        ("/states/a/timeout", "null"),
        ("/states/a/retries", "99999999999999999999999"),
        ("/states/a/retries", "-0"),
        ("/transitions/0/on", "null"),
        ("/transitions/0/on", "\"__started__\""),
        ("/transitions/2/otherwise", "false"),
        ("/schemas/Unused", "{\"type\":\"strng\"}"),
    ] {
        Graph::parse(&with(pointer, value)).unwrap_or_else(|error| panic!("{pointer} = {value}: {error}"));
    }
}

#[test]
fn only_settings_leave_the_structure_alone() {
    let original = Graph::parse(&edited(|_| {})).unwrap();
    for (pointer, value, same) in [
        ("/states/a/retries", "7", true),
        ("/states/a/timeout", "", true),
        ("/workflows/kid/states/s/timeout", "\"5m\"", true),
        ("/states/a/emits", "[]", false),
        ("/schemas/C", "{}", false),
        ("/transitions/1/when", "\"payload.n > 2\"", false),
    ] {
        let graph = Graph::parse(&with(pointer, value)).unwrap();
        assert_ne!(graph.checksum(), original.checksum(), "{pointer}");
        assert_eq!(graph.structure() == original.structure(), same, "{pointer}");
    }
}
