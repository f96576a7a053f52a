//! A graph as a picture, for [Mermaid](https://mermaid.js.org) and for Graphviz: a pure function of the graph file.
//!
//! A parallel state holds a region for each workflow that it runs, drawn with the state's own name before its names, since
//! one workflow may run in several states.

mod dot;
mod mermaid;

use std::fmt::Write as _;

use stateous_engine::Graph;
use stateous_engine::graph::{ERROR, JOINED, STARTED, State, TIMEOUT, Transition, Workflow};
use stateous_engine::limits;

pub use dot::dot;
pub use mermaid::mermaid;

/// How deep workflows are drawn inside each other. Each level adds at least `.a.1.b` to a child's id, so no token is deeper.
const LEVELS: usize = limits::TOKEN_ID / 6;

/// Lines of text, each indented as deep as the workflow that it draws.
struct Page<'g> {
    graph: &'g Graph,
    text: String,
    /// The workflows that are being drawn, one inside the other.
    inside: Vec<&'g str>,
}

impl<'g> Page<'g> {
    fn new(graph: &'g Graph) -> Self {
        Self { graph, text: String::new(), inside: vec![graph.name()] }
    }

    fn line(&mut self, depth: usize, line: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{:width$}{line}", "", width = 4 * depth);
    }

    /// Runs `draw` for the child workflow `name`. A workflow inside itself, which only a graph file that nobody compiled
    /// has, is not drawn again.
    fn child(&mut self, name: &'g str, draw: impl FnOnce(&mut Self, &'g Workflow)) {
        let drawn = self.inside.len() > LEVELS || self.inside.contains(&name);
        if let Some(workflow) = self.graph.workflow(name).filter(|_| !drawn) {
            self.inside.push(name);
            draw(self, workflow);
            self.inside.pop();
        }
    }
}

/// The workflows that `state` runs; none in an ordinary state.
fn runs(state: &State) -> &[String] {
    state.parallel.as_ref().map_or(&[], |parallel| &parallel.workflows)
}

/// What stands beside an arrow: the event, and what else it takes.
fn label(transition: &Transition) -> String {
    let event = match transition.event.as_str() {
        STARTED => "",
        TIMEOUT => "(timeout)",
        ERROR => "(error)",
        JOINED => "(joined)",
        event => event,
    };
    let condition = match &transition.when {
        // A guard in parentheses may be several lines; a label is one.
        Some(guard) => format!("[{}]", guard.text.replace(['\r', '\n'], " ")),
        None if transition.otherwise => "[otherwise]".to_owned(),
        None => String::new(),
    };
    format!("{event} {condition}").trim().to_owned()
}
