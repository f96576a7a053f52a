//! Contracts: what of a workflow becomes types, and how they read in each language.

use stateous_compiler::contract::{Contract, Type, rust};
use stateous_engine::Graph;

/// A workflow in which names are keywords, differ only in their hyphens, or are names of the SDK; with every shape.
const ODD: &str = r##"{
  "stateous": 1, "workflow": "odd-one", "context": "Context",
  "states": {
    "loop": {"emits": ["needs-work", "needs_work", "done"]},
    "wait": {},
    "both": {"parallel": ["part"], "join": "all", "inputs": ["kind"]}
  },
  "events": {
    "needs-work": {"payload": "Event"}, "needs_work": {}, "done": {"payload": "Tree"}, "unused": {"payload": "Unused"}
  },
  "transitions": [
    {"from": "__start__", "to": "loop"},
    {"from": "loop", "to": "loop", "on": "needs-work"},
    {"from": "loop", "to": "wait", "on": "needs_work"},
    {"from": "loop", "to": "both", "on": "done"},
    {"from": "both", "to": "__end__", "on": "joined"},
    {"from": "wait", "to": "__end__", "on": "timeout"},
    {"from": "wait", "to": "loop", "on": "done"}
  ],
  "workflows": {
    "part": {
      "context": "Part",
      "states": {"look": {"emits": ["seen"]}}, "events": {"seen": {}},
      "transitions": [
        {"from": "__start__", "to": "look"}, {"from": "look", "to": "__end__", "on": "seen"}
      ]
    }
  },
  "schemas": {
    "Context": {
      "description": "Who asked,\n  and for what.",
      "type": "object",
      "properties": {
        "type": {"type": "string", "description": "The kind of thing."},
        "kind": {"enum": ["small", "very-large", "9"]},
        "owner-name": {"type": "string"}, "owner_name": {"type": "integer"},
        "owner": {"type": "object", "properties": {"mail": {"type": ["string", "null"]}}, "required": ["mail"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "object", "additionalProperties": {"type": "number"}},
        "maybe": {"anyOf": [{"$ref": "#/schemas/Event"}, {"type": "null"}], "default": null},
        "nest": {"$ref": "#/schemas/Nest"},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"ok": {"type": "boolean"}}}}
      },
      "required": ["type", "kind", "owner", "tags", "sizes", "either"]
    },
    "Event": {"type": "object"},
    "Tree": {
      "type": "object", "required": ["left"],
      "properties": {
        "left": {"anyOf": [{"$ref": "#/schemas/Tree"}, {"type": "null"}]},
        "others": {"type": "array", "items": {"$ref": "#/schemas/Tree"}}
      }
    },
    "Part": {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]},
    "Unused": {"type": "object"},
    "ContextOwner": {"type": "object", "properties": {"of": {"type": "string"}}},
    "Nest": {"type": "array", "items": {"$ref": "#/schemas/Nest"}}
  }
}"##;

#[test]
fn each_state_with_a_routine_has_one() {
    let graph = Graph::parse(ODD).unwrap();
    let all = Contract::all(&graph);
    let told: Vec<String> = all.iter().map(Contract::told_state).collect();
    assert_eq!(told, ["loop", "wait", "part/look"]);
    for one in &all {
        assert_eq!(Contract::of(&graph, &one.workflow, &one.state).as_ref(), Some(one));
    }
    assert_eq!(Contract::of(&graph, "odd-one", "both"), None, "a parallel state has no routine");
    assert_eq!(Contract::of(&graph, "odd-one", "nowhere"), None);
    assert_eq!(all[2].context, Some(Type::Named("Part".into())));
}

#[test]
fn a_contract_in_rust() {
    let graph = Graph::parse(ODD).unwrap();
    let contract = Contract::of(&graph, "odd-one", "loop").unwrap();
    let entered: Vec<&str> = contract.entered_by.iter().map(|one| one.event.as_str()).collect();
    assert_eq!(entered, ["needs-work", "done"]);
    assert_eq!(rust::context(&contract).as_deref(), Some("ContextData"));
    assert_eq!(
        rust::outcomes(&contract),
        ["Outcome::NeedsWork(EventData)", "Outcome::NeedsWork2", "Outcome::Done(Tree)"]
    );
    insta::assert_snapshot!(rust::module(&contract));
    let wait = Contract::of(&graph, "odd-one", "wait").unwrap();
    insta::assert_snapshot!(rust::module(&wait));
}

#[test]
fn names_become_identifiers() {
    let check = |name: &str, ident: &str| assert_eq!(rust::identifier(name), ident);
    check("draft", "draft");
    check("needs-work", "needs_work");
    check("loop", "loop_");
    check("9", "field_9");
    check("Größe", "gr__e");
    check("--", "field___");
}
