//! The graph as a whole: targets exist, every state can be reached and left, and it is clear which transition is taken.

use std::collections::HashSet;

use stateous_engine::graph::{EMPTY, JOINED, TIMEOUT};

use crate::definition::{At, Definition, END, Edge, Flow, State};
use crate::diagnostic::{Problems, nearest, suggestion};

/// Notes every mistake that shows only when all parts are seen together.
pub(crate) fn check(definition: &Definition, problems: &mut Problems<'_>) {
    for flow in definition.flows() {
        starts(flow, problems);
        targets(flow, problems);
        events(flow, problems);
        for state in &flow.states {
            groups(&state.edges, problems);
            timeout(state, problems);
        }
        ways(flow, problems);
    }
}

fn starts(flow: &Flow, problems: &mut Problems<'_>) {
    let Some(first) = flow.states.first() else {
        let problem = problems.error("no_states", flow.name.at.clone(), "the workflow has no states");
        problem.help("add one: [states.draft]");
        return;
    };
    let [start, others @ ..] = &flow.starts[..] else {
        let problem = problems.error("no_start", first.name.at.clone(), "no state says where a token begins");
        problem.help("add `start = true` to the state where every token begins");
        return;
    };
    if flow.starts.iter().any(|edge| edge.guarded || edge.otherwise) {
        groups(&flow.starts, problems);
        return;
    }
    for other in others {
        let message = format!("a token begins in '{}' already", start.target.value);
        let problem = problems.error("two_starts", other.target.at.clone(), message);
        problem.help(
            "let one state say `start = true`; or choose by guards, at the top of the file: start = [{ to = \"a\", when = \
             \"…\" }, { to = \"b\", otherwise = true }]",
        );
    }
}

fn targets(flow: &Flow, problems: &mut Problems<'_>) {
    let names = || flow.states.iter().map(|s| s.name.value.as_str()).chain([END]);
    for (source, edge) in flow.edges() {
        let At { value: target, at } = &edge.target;
        if target == END && source.is_none() {
            let problem =
                problems.error("start_to_end", at.clone(), "a token cannot end before it entered a state");
            problem.help("name the state that it begins in");
        } else if target != END && flow.state(target).is_none() {
            let problem =
                problems.error("unknown_state", at.clone(), format!("there is no state '{target}'"));
            problem.help = suggestion(target, names());
        }
    }
}

fn events(flow: &Flow, problems: &mut Problems<'_>) {
    let used: Vec<&str> =
        flow.edges().filter_map(|(_, e)| e.event.as_ref()).map(|e| e.value.as_str()).collect();
    for event in &flow.events {
        let At { value: name, at } = &event.name;
        if flow.is_own_event(name) {
            let problem =
                problems.error("reserved_event", at.clone(), format!("'{name}' is Stateous's own event"));
            problem.help(format!("use it without declaring it: on.{name} = \"state\""));
        } else if !used.contains(&name.as_str()) {
            let message = format!("no state leaves on '{name}', so it can never be accepted");
            let problem = problems.warning("unused_event", at.clone(), message);
            problem.help(match nearest(name, used.iter().copied()) {
                Some(near) => format!("did you mean '{near}', which a state leaves on?"),
                None => format!("lead it somewhere: on.{name} = \"state\", or remove it"),
            });
        }
    }
    let plain = flow.states.iter().filter(|state| state.parallel.is_none());
    let leaves_on = plain.flat_map(|state| &state.edges).filter_map(|edge| edge.event.as_ref());
    for joined in leaves_on.filter(|event| event.value == JOINED) {
        let message = "'joined' is fired in parallel states only";
        let problem = problems.error("joined_elsewhere", joined.at.clone(), message);
        problem.help("name what runs here: parallel = [\"workflow\"]");
    }
    if flow.is_own_event(EMPTY) {
        let others = flow.states.iter().filter(|state| !state.fans_out()).flat_map(|state| &state.edges);
        for empty in others.filter_map(|edge| edge.event.as_ref()).filter(|event| event.value == EMPTY) {
            let message = "a state of this workflow fans out, and 'empty' is fired there only";
            let problem = problems.error("reserved_event", empty.at.clone(), message);
            problem.help("give this event another name");
        }
    }
}

/// Of the transitions of one state on one event, at most one may be taken without a guard.
fn groups(edges: &[Edge], problems: &mut Problems<'_>) {
    let event = |edge: &Edge| edge.event.as_ref().map(|e| e.value.clone());
    for (i, edge) in edges.iter().enumerate().filter(|(_, e)| !e.guarded) {
        let group = || edges.iter().enumerate().filter(|(_, e)| event(e) == event(edge));
        if let Some((_, first)) = group().find(|(j, e)| *j < i && !e.guarded) {
            let message = format!("'{}' is already where it leads when no guard holds", first.target.value);
            let problem = problems.error("two_fallbacks", edge.target.at.clone(), message);
            problem.help("add a guard to one of the two: when = \"…\"");
        } else if !edge.otherwise && group().any(|(_, e)| e.guarded) {
            let message = "beside transitions with guards, this one must say when it is taken";
            let problem = problems.error("needs_otherwise", edge.target.at.clone(), message);
            problem.help("add `otherwise = true` to take it when no guard holds, or a guard of its own");
        }
    }
}

fn timeout(state: &State, problems: &mut Problems<'_>) {
    let on_timeout = state.edges.iter().filter_map(|e| e.event.as_ref()).find(|e| e.value == TIMEOUT);
    if let Some(event) = on_timeout.filter(|_| state.timeout.is_none()) {
        let message = format!("'{}' has no timeout, so this is never taken", state.name.value);
        problems.warning("timeout_never", event.at.clone(), message).help("add one: timeout = \"1h\"");
    }
}

/// Whether every state can be reached from START and left, and whether END can be reached.
fn ways(flow: &Flow, problems: &mut Problems<'_>) {
    for state in flow.states.iter().filter(|s| s.edges.is_empty() && s.parallel.is_none()) {
        let name = &state.name.value;
        let message = format!("a token that enters '{name}' can never leave it: no event leads out");
        let problem = problems.error("dead_end", state.name.at.clone(), message);
        problem.help("name an event and where it leads: on.done = \"END\"");
    }
    if !flow.starts.is_empty() {
        let names = flow.starts.iter().map(|e| e.target.value.as_str());
        let reached = closure(names.collect(), |state| {
            let edges = flow.state(state).into_iter().flat_map(|s| &s.edges);
            edges.map(|e| e.target.value.as_str()).collect()
        });
        for state in flow.states.iter().filter(|s| !reached.contains(s.name.value.as_str())) {
            let message = format!("no token ever enters '{}'", state.name.value);
            let problem = problems.error("unreachable", state.name.at.clone(), message);
            problem.help("lead a transition to it, or remove it");
        }
    }
    let can_end = closure(vec![END], |target| {
        let leads = |s: &&State| s.edges.iter().any(|e| e.target.value == target);
        flow.states.iter().filter(leads).map(|s| s.name.value.as_str()).collect()
    });
    if can_end.len() > 1 {
        let stuck = |s: &&State| !s.edges.is_empty() && !can_end.contains(s.name.value.as_str());
        for state in flow.states.iter().filter(stuck) {
            let message =
                format!("a token that enters '{}' can never complete: no way leads to END", state.name.value);
            let problem = problems.warning("cannot_end", state.name.at.clone(), message);
            problem
                .help("lead one of its ways to END, unless tokens are meant to run until they are cancelled");
        }
    } else if let Some(state) = flow.states.iter().find(|s| !s.edges.is_empty()) {
        let message = "no transition leads to END, so no token can complete";
        let problem = problems.error("no_end", state.name.at.clone(), message);
        problem.help("lead one to it: on.done = \"END\"");
    }
}

/// Everything that `next` leads to from `open`, `open` included.
fn closure<'d>(mut open: Vec<&'d str>, next: impl Fn(&'d str) -> Vec<&'d str>) -> HashSet<&'d str> {
    let mut found = HashSet::new();
    while let Some(name) = open.pop() {
        if found.insert(name) {
            open.extend(next(name));
        }
    }
    found
}
