//! From a checked [`Definition`] to the graph file, key for key as the original's compiler writes it.

use stateous_engine::graph::{END, FORMAT, START, is_own_event};
use stateous_engine::json::{Json, Object, pretty};

use crate::definition::{self, Definition, Edge, State};

/// The graph file's text.
pub(crate) fn graph_text(definition: &Definition, schemas: Object) -> String {
    let mut graph = Object::new();
    graph.insert("stateous".to_owned(), FORMAT.into());
    graph.insert("workflow".to_owned(), definition.workflow.as_str().into());
    if let Some(context) = &definition.context {
        graph.insert("context".to_owned(), context.value.as_str().into());
    }
    let states = definition.states.iter().map(|s| (s.name.value.clone(), state(s)));
    graph.insert("states".to_owned(), Json::Object(states.collect()));
    let events = definition.all_events().into_iter().map(|(name, payload)| (name.to_owned(), event(payload)));
    graph.insert("events".to_owned(), Json::Object(events.collect()));
    let transitions = definition.edges().map(|(source, edge)| transition(source, edge));
    graph.insert("transitions".to_owned(), transitions.collect());
    graph.insert("schemas".to_owned(), Json::Object(schemas));
    pretty(&Json::Object(graph))
}

fn state(state: &State) -> Json {
    let mut options = Object::new();
    if let Some(timeout) = &state.timeout {
        options.insert("timeout".to_owned(), timeout.as_str().into());
    }
    if state.retries > 0 {
        options.insert("retries".to_owned(), state.retries.into());
    }
    let mut emits: Vec<&str> = Vec::new();
    for event in state.edges.iter().filter_map(|e| e.event.as_ref()) {
        if !is_own_event(&event.value) && !emits.contains(&event.value.as_str()) {
            emits.push(&event.value);
        }
    }
    options.insert("emits".to_owned(), emits.into());
    Json::Object(options)
}

fn event(payload: Option<&str>) -> Json {
    let schema = payload.map(|schema| ("payload".to_owned(), Json::from(schema)));
    Json::Object(schema.into_iter().collect())
}

fn transition(source: Option<&State>, edge: &Edge) -> Json {
    let target = if edge.target.value == definition::END { END } else { &edge.target.value };
    let mut out = Object::new();
    out.insert("from".to_owned(), source.map_or(START, |s| &s.name.value).into());
    out.insert("to".to_owned(), target.into());
    if let Some(event) = &edge.event {
        out.insert("on".to_owned(), event.value.as_str().into());
    }
    if let Some(when) = &edge.when {
        out.insert("when".to_owned(), when.guard.text.as_str().into());
    }
    if edge.otherwise {
        out.insert("otherwise".to_owned(), true.into());
    }
    Json::Object(out)
}
