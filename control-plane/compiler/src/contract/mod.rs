//! Contracts: what a routine is given and what it can end with, in types.
//!
//! [`Contract::of`] reads one state's part of a graph into a small model that no language owns; each language is one file
//! that writes this model as its own types ([`rust`]). It writes types only: which files there are, and what stands
//! around them, is the command line's.

mod shapes;

pub mod rust;

use stateous_engine::Graph;
use stateous_engine::graph::{Workflow, is_own_event};
use stateous_engine::json::{Json, Object};

pub use shapes::{Definition, Field, Shape, Type};

/// What the routine of one state is given and what it can end with.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// The workflow that the state belongs to.
    pub workflow: String,
    /// The state.
    pub state: String,
    /// Whether the workflow is one that a parallel state runs.
    pub is_child: bool,
    /// The checksum of the graph file that this was made from.
    pub checksum: String,
    /// The type of the token's context; any object without one.
    pub context: Option<Type>,
    /// The events that the routine can end with.
    pub emits: Vec<Emitted>,
    /// The declared events that can have brought the token here.
    pub entered_by: Vec<Emitted>,
    /// Every type that the above name, and those that these name, in the order in which they are first named.
    pub types: Vec<Definition>,
}

/// An event and its payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Emitted {
    /// The event's name.
    pub event: String,
    /// The type of its payload; without one it carries none.
    pub payload: Option<Type>,
}

impl Contract {
    /// The contract of every state of a graph that has a routine, the main workflow's first.
    #[must_use]
    pub fn all(graph: &Graph) -> Vec<Self> {
        let states = graph.workflows().iter().flat_map(|workflow| {
            workflow
                .states()
                .filter(|state| state.parallel.is_none())
                .map(move |state| (workflow, &state.name))
        });
        states.map(|(workflow, state)| Self::made(graph, workflow, state)).collect()
    }

    /// The contract of one state; `None` when the graph has no such state, or it is a parallel one, which has no routine.
    #[must_use]
    pub fn of(graph: &Graph, workflow: &str, state: &str) -> Option<Self> {
        let workflow = graph.workflow(workflow)?;
        let state = workflow.state(state).filter(|state| state.parallel.is_none())?;
        Some(Self::made(graph, workflow, &state.name))
    }

    fn made(graph: &Graph, workflow: &Workflow, state: &str) -> Self {
        let document = graph.document();
        let is_child = workflow.name() != graph.name();
        let own = if is_child {
            document.get("workflows").and_then(|all| all.get(workflow.name())).unwrap_or(&Json::Null)
        } else {
            document
        };
        let none = Object::new();
        let schemas = document.get("schemas").and_then(Json::as_object).unwrap_or(&none);
        let mut shapes = shapes::Shapes::new(schemas);
        let context = own.get("context").and_then(Json::as_str).map(|name| shapes.named(name));
        let mut emitted = |event: &str| {
            let payload = workflow.events().find(|declared| declared.name == event)?.payload.clone();
            Some(Emitted { event: event.to_owned(), payload: payload.map(|name| shapes.named(&name)) })
        };
        let emits = workflow.state(state).map(|spec| spec.emits.clone()).unwrap_or_default();
        let emits = emits.iter().filter_map(|event| emitted(event)).collect();
        let mut leading: Vec<&str> = Vec::new();
        for way in workflow.transitions().filter(|way| way.target == state && !is_own_event(&way.event)) {
            if !leading.contains(&way.event.as_str()) {
                leading.push(&way.event);
            }
        }
        let entered_by = leading.into_iter().filter_map(emitted).collect();
        Self {
            workflow: workflow.name().to_owned(),
            state: state.to_owned(),
            is_child,
            checksum: graph.checksum().to_owned(),
            context,
            emits,
            entered_by,
            types: shapes.into_definitions(),
        }
    }

    /// The state as a claim names it: `<workflow>/<state>` for a child workflow's.
    #[must_use]
    pub fn told_state(&self) -> String {
        if self.is_child { format!("{}/{}", self.workflow, self.state) } else { self.state.clone() }
    }
}
