//! Mermaid: a state diagram, line for line as the original draws it.

use stateous_engine::Graph;
use stateous_engine::graph::{END, START, Workflow};

use super::{Page, label, runs};

/// The graph as a Mermaid state diagram, with a newline at the end.
#[must_use]
pub fn mermaid(graph: &Graph) -> String {
    let mut page = Page::new(graph);
    page.line(0, "stateDiagram-v2");
    page.line(1, "direction LR");
    draw(&mut page, graph.main(), "", 1);
    page.text
}

/// Draws one workflow; `prefix` stands before the ids of its states.
fn draw<'g>(page: &mut Page<'g>, workflow: &'g Workflow, prefix: &str, depth: usize) {
    for state in workflow.states() {
        let id = format!("{prefix}{}", id(&state.name));
        if state.parallel.is_some() {
            page.line(depth, &format!("state {} {{", declared(&id, &state.name)));
            for (i, child) in runs(state).iter().enumerate() {
                if i > 0 {
                    page.line(depth + 1, "--");
                }
                let region = format!("{id}__{}", self::id(child));
                page.line(depth + 1, &format!("state {} {{", declared(&region, child)));
                page.child(child, |page, workflow| draw(page, workflow, &format!("{region}__"), depth + 2));
                page.line(depth + 1, "}");
            }
            page.line(depth, "}");
        } else if id != state.name {
            page.line(depth, &format!("state {}", declared(&id, &state.name)));
        }
    }
    let point = |name: &str| {
        if name == START || name == END { "[*]".to_owned() } else { format!("{prefix}{}", id(name)) }
    };
    for transition in workflow.transitions() {
        let (source, target) = (point(&transition.source), point(&transition.target));
        let label = label(transition);
        let label = if label.is_empty() { label } else { format!(": {label}") };
        page.line(depth, &format!("{source} --> {target}{label}"));
    }
}

/// A name as an id, which has no hyphens.
fn id(name: &str) -> String {
    name.replace('-', "_")
}

/// An id, with the name that it is shown as where the two differ.
fn declared(id: &str, name: &str) -> String {
    if id == name { id.to_owned() } else { format!("\"{name}\" as {id}") }
}
