//! From a checked [`Definition`] to the graph file, key for key as the original's compiler writes it.

use stateous_engine::graph::{END, FORMAT, Join, START, is_own_event};
use stateous_engine::json::{Json, Object, pretty};

use crate::definition::{self, At, Definition, Each, Edge, Flow, Parallel, State};

/// The graph file's text.
pub(crate) fn graph_text(definition: &Definition, schemas: Object) -> String {
    let mut graph = Object::new();
    graph.insert("stateous".to_owned(), FORMAT.into());
    graph.insert("workflow".to_owned(), definition.main.name.value.as_str().into());
    body(&definition.main, &mut graph);
    let children = definition.used_children();
    if !children.is_empty() {
        let bodies = children.into_iter().map(|flow| {
            let mut child = Object::new();
            body(flow, &mut child);
            (flow.name.value.clone(), Json::Object(child))
        });
        graph.insert("workflows".to_owned(), Json::Object(bodies.collect()));
    }
    graph.insert("schemas".to_owned(), Json::Object(schemas));
    pretty(&Json::Object(graph))
}

/// What every workflow has, main or child.
fn body(flow: &Flow, out: &mut Object) {
    if let Some(context) = &flow.context {
        out.insert("context".to_owned(), context.value.as_str().into());
    }
    let states = flow.states.iter().map(|s| (s.name.value.clone(), state(s)));
    out.insert("states".to_owned(), Json::Object(states.collect()));
    let events = flow.all_events().into_iter().map(|(name, payload)| (name.to_owned(), event(payload)));
    out.insert("events".to_owned(), Json::Object(events.collect()));
    let transitions = flow.edges().map(|(source, edge)| transition(source, edge));
    out.insert("transitions".to_owned(), transitions.collect());
}

fn state(state: &State) -> Json {
    let mut options = Object::new();
    if let Some(timeout) = &state.timeout {
        options.insert("timeout".to_owned(), timeout.as_str().into());
    }
    if state.retries > 0 {
        options.insert("retries".to_owned(), state.retries.into());
    }
    if let Some(Parallel { workflows, join, inputs, each }) = &state.parallel {
        // Its work is its children: it has no task whose routine could emit anything.
        let names = |list: &[At<String>]| list.iter().map(|name| Json::from(name.value.as_str())).collect();
        options.insert("parallel".to_owned(), names(workflows));
        if let Some(Each { listing, text, .. }) = each {
            options.insert(listing.word().to_owned(), text.value.as_str().into());
        }
        let join = match join {
            Join::All => "all".into(),
            Join::Any => "any".into(),
            Join::Quorum(quorum) => {
                Json::Object([("quorum".to_owned(), Json::from(*quorum))].into_iter().collect())
            }
        };
        options.insert("join".to_owned(), join);
        if !inputs.is_empty() {
            options.insert("inputs".to_owned(), names(inputs));
        }
        if let Some(Each { max_live, key, .. }) = each {
            let max_live = max_live.map(|most| ("max_live".to_owned(), Json::from(most)));
            let key = key.as_ref().map(|(text, _)| ("key".to_owned(), Json::from(text.as_str())));
            options.extend(max_live.into_iter().chain(key));
        }
        return Json::Object(options);
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
