//! One workflow, ready to route events: every look-up that a decision makes.

use std::collections::HashMap;

use super::schema::Schema;
use super::{Each, START, STARTED};
use crate::guard::Guard;
use crate::json::Object;

/// A state and its settings.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Its name.
    pub name: String,
    /// How long a token may stay, as written: `6h`.
    pub timeout: Option<String>,
    /// The same in milliseconds.
    pub timeout_ms: Option<i64>,
    /// How many failed attempts are tried again.
    pub retries: u64,
    /// The declared events that its routine can end with.
    pub emits: Vec<String>,
    /// Set when its work is child tokens instead of a task.
    pub parallel: Option<Parallel>,
}

/// What a parallel state runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parallel {
    /// The child workflows: one child token for each.
    pub workflows: Vec<String>,
    /// When the state is done.
    pub join: Join,
    /// The keys of the parent's context that each child starts with.
    pub inputs: Vec<String>,
    /// Set when it fans out: then it has one workflow, and a child of it for each item.
    pub each: Option<Each>,
}

/// When a parallel state is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// When every child ended.
    All,
    /// When the first child ended; the others are cancelled.
    Any,
    /// When so many children completed, or all ended; the others are cancelled. Fan-outs only.
    Quorum(u64),
}

/// An event that the workflow declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// The schema of its payload; without one it carries none.
    pub payload: Option<String>,
}

/// One way from a state to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// The state that is left, or START.
    pub source: String,
    /// The state that is entered, or END.
    pub target: String,
    /// The event that takes it; `__started__` for START's.
    pub event: String,
    /// Taken only when this holds.
    pub when: Option<Guard>,
    /// Marked as the one to take when no guard holds.
    pub otherwise: bool,
}

/// One workflow of a graph.
#[derive(Debug)]
pub struct Workflow {
    name: String,
    structure: String,
    states: Vec<State>,
    state_at: HashMap<String, usize>,
    events: Vec<Event>,
    payloads: HashMap<String, Option<Schema>>,
    context: Option<Schema>,
    transitions: Vec<Transition>,
    /// By state, then event; in the order of the document.
    routes: HashMap<String, HashMap<String, Vec<Transition>>>,
    /// A state of the graph that it belongs to fans out.
    pub(super) near_fan_out: bool,
}

/// The parts of a workflow, checked against each other.
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) structure: String,
    pub(super) context: Option<Schema>,
    pub(super) states: Vec<State>,
    pub(super) events: Vec<(String, Option<Schema>)>,
    pub(super) transitions: Vec<Transition>,
}

impl Workflow {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { name, structure, context, states, events, transitions } = parts;
        let state_at = states.iter().enumerate().map(|(i, s)| (s.name.clone(), i)).collect();
        let payload_name = |schema: &Option<Schema>| schema.as_ref().map(|s| s.name().to_owned());
        let named =
            events.iter().map(|(name, schema)| Event { name: name.clone(), payload: payload_name(schema) });
        let named = named.collect();
        let mut routes: HashMap<String, HashMap<String, Vec<Transition>>> = HashMap::new();
        for t in &transitions {
            let of_state = routes.entry(t.source.clone()).or_default();
            of_state.entry(t.event.clone()).or_default().push(t.clone());
        }
        let payloads = events.into_iter().collect();
        Self {
            name,
            structure,
            states,
            state_at,
            events: named,
            payloads,
            context,
            transitions,
            routes,
            near_fan_out: false,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The structure of the graph that it belongs to.
    #[must_use]
    pub fn structure(&self) -> &str {
        &self.structure
    }

    /// Its states, in the order of the document.
    pub fn states(&self) -> impl Iterator<Item = &State> {
        self.states.iter()
    }

    /// The events that it declares, in the order of the document.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.events.iter()
    }

    /// All transitions, in the order of the document.
    pub fn transitions(&self) -> impl Iterator<Item = &Transition> {
        self.transitions.iter()
    }

    /// The state of this name.
    #[must_use]
    pub fn state(&self, name: &str) -> Option<&State> {
        self.state_at.get(name).map(|&i| &self.states[i])
    }

    /// Whether a state of its graph, here or in another workflow, fans out: only then can a token be a child of a fan-out.
    #[must_use]
    pub const fn is_near_fan_out(&self) -> bool {
        self.near_fan_out
    }

    /// What the state of this name says of fanning out, if it does.
    #[must_use]
    pub fn fan_out(&self, state: &str) -> Option<(&Parallel, &Each)> {
        let parallel = self.state(state)?.parallel.as_ref()?;
        Some((parallel, parallel.each.as_ref()?))
    }

    /// Whether it declares `event`. The engine's own events are not declared.
    #[must_use]
    pub fn declares(&self, event: &str) -> bool {
        self.payloads.contains_key(event)
    }

    /// START's transitions, in the order of the document.
    #[must_use]
    pub fn starts(&self) -> &[Transition] {
        self.candidates(START, STARTED)
    }

    /// The transitions that `event` can take from `state`, in the order of the document.
    #[must_use]
    pub fn candidates(&self, state: &str, event: &str) -> &[Transition] {
        let found = self.routes.get(state).and_then(|events| events.get(event));
        found.map_or(&[], Vec::as_slice)
    }

    /// What is wrong with a payload of `event`, one sentence each; empty when nothing is. An absent payload is checked
    /// as an empty one; defaults are not filled in.
    #[must_use]
    pub fn payload_errors(&self, event: &str, payload: Option<&Object>) -> Vec<String> {
        match self.payloads.get(event) {
            Some(Some(schema)) => schema.errors(payload.unwrap_or(&Object::new())),
            _ if payload.is_none_or(Object::is_empty) => Vec::new(),
            _ => vec![format!("'{event}' carries no payload")],
        }
    }

    /// What is wrong with a context, one sentence each; empty when nothing is.
    #[must_use]
    pub fn context_errors(&self, context: &Object) -> Vec<String> {
        self.context.as_ref().map_or_else(Vec::new, |schema| schema.errors(context))
    }

    /// The context with each missing field that its schema gives a default, top level only; the defaults come first.
    #[must_use]
    pub fn with_defaults(&self, context: Object) -> Object {
        let Some(schema) = &self.context else { return context };
        let mut filled = schema.defaults().clone();
        filled.extend(context);
        filled
    }
}
