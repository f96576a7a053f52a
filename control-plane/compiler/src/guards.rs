//! What guards read, held against what there is to read.

use stateous_engine::graph::{EMPTY, ERROR, JOINED, TIMEOUT, is_own_event};

use crate::definition::{Definition, Edge, Flow, State, When};
use crate::diagnostic::{Problems, suggestion};

/// The workflow's events, each with its payload's schema.
type Events<'d> = [(&'d str, Option<&'d str>)];

/// Notes every read that finds nothing.
pub(crate) fn check(definition: &Definition, problems: &mut Problems<'_>) {
    for flow in definition.flows() {
        of_flow(definition, flow, problems);
    }
}

fn of_flow(definition: &Definition, flow: &Flow, problems: &mut Problems<'_>) {
    let events = flow.all_events();
    for (source, edge) in flow.edges() {
        if let Some(when) = &edge.when {
            context(definition, flow, when, problems);
            payload(definition, &events, edge, when, problems);
            counts(flow, &events, edge, when, problems);
            let fanned = event(edge) == JOINED && source.is_some_and(State::fans_out);
            if let Some(part) = when.guard.reads.one_branch.as_ref().filter(|_| fanned) {
                let message = "the children of a fan-out are read by the number: status, final and workflow, not the payload \
                    or token of one";
                let problem = problems.error("one_branch", when.place(part), message);
                problem.help("let the child end in a state of its own for this case, and ask: branches.any(final == '…')");
            }
            if let Some(part) = when.guard.reads.branches.as_ref().filter(|_| event(edge) != JOINED) {
                let message =
                    "'branches' are the ended children of a parallel state, which only 'joined' brings";
                problems.error("branches_elsewhere", when.place(part), message);
            }
        }
    }
}

fn event(edge: &Edge) -> &str {
    edge.event.as_ref().map_or("START", |e| &e.value)
}

fn context(definition: &Definition, flow: &Flow, when: &When, problems: &mut Problems<'_>) {
    let Some(name) = &flow.context else { return };
    let Some(fields) = definition.schema(&name.value).and_then(|s| s.fields.as_ref()) else { return };
    for (key, part) in &when.guard.reads.context_keys {
        if !fields.contains(key) {
            let message = format!("the context has no key '{key}': {} does not say so", name.value);
            let problem = problems.error("unknown_field", when.place(part), message);
            problem.help = suggestion(key, fields.iter().map(String::as_str));
        }
    }
}

fn payload(
    definition: &Definition,
    events: &Events<'_>,
    edge: &Edge,
    when: &When,
    problems: &mut Problems<'_>,
) {
    let reads = &when.guard.reads.payload_fields;
    let Some(event) = &edge.event else {
        for part in reads.values() {
            let problem =
                problems.error("start_guard", when.place(part), "a token that starts has no payload yet");
            problem.help("read the context: ctx['key']");
        }
        return;
    };
    let schema = events.iter().find(|(name, _)| *name == event.value).and_then(|(_, payload)| *payload);
    let Some(schema) = schema else {
        for part in reads.values() {
            let message = format!("'{}' carries no payload", event.value);
            let problem = problems.error("no_payload", when.place(part), message);
            if event.value == JOINED {
                problem.help("ask for a child's payload: branches.any(payload.<field> == …)");
            } else if !is_own_event(&event.value) {
                problem.help(format!("give it one: [events.{}] payload = \"<schema>\"", event.value));
            }
        }
        return;
    };
    let Some(fields) = definition.schema(schema).and_then(|s| s.fields.as_ref()) else { return };
    for (field, part) in reads {
        if !fields.contains(field) {
            let message =
                format!("the payload of '{}' has no field '{field}': {schema} does not say so", event.value);
            let problem = problems.error("unknown_field", when.place(part), message);
            problem.help = suggestion(field, fields.iter().map(String::as_str));
        }
    }
}

fn counts(flow: &Flow, events: &Events<'_>, edge: &Edge, when: &When, problems: &mut Problems<'_>) {
    let empty = flow.is_own_event(EMPTY).then_some(EMPTY);
    let known = || events.iter().map(|(name, _)| *name).chain([TIMEOUT, ERROR, JOINED]).chain(empty);
    for (counted, part) in &when.guard.reads.events {
        if edge.event.is_none() {
            let problem =
                problems.error("start_guard", when.place(part), "a token that starts has no events to count");
            problem.help("read the context: ctx['key']");
        } else if !known().any(|name| name == counted) {
            let message = format!("'{counted}' is not an event of this workflow");
            problems.error("unknown_event", when.place(part), message).help = suggestion(counted, known());
        }
    }
}
