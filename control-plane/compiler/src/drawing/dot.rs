//! DOT, the language of Graphviz: a node for each state, a cluster for each workflow that a parallel state runs.

use stateous_engine::Graph;
use stateous_engine::graph::{END, Join, START, Workflow};

use super::{Page, label, runs};

/// The graph as a directed graph in DOT, with a newline at the end.
#[must_use]
pub fn dot(graph: &Graph) -> String {
    let mut page = Page::new(graph);
    page.line(0, &format!("digraph {} {{", quoted(graph.name())));
    page.line(1, "rankdir=LR");
    page.line(1, "node [shape=box, style=rounded]");
    draw(&mut page, graph.main(), "", 1);
    page.line(0, "}");
    page.text
}

/// Draws one workflow; `prefix` stands before the ids of its nodes.
fn draw<'g>(page: &mut Page<'g>, workflow: &'g Workflow, prefix: &str, depth: usize) {
    let node = |name: &str| quoted(&format!("{prefix}{name}"));
    page.line(depth, &format!("{} [shape=point, width=0.15]", node(START)));
    page.line(depth, &format!("{} [shape=doublecircle, width=0.15, label=\"\"]", node(END)));
    for state in workflow.states() {
        let Some(parallel) = &state.parallel else {
            page.line(depth, &format!("{} [label={}]", node(&state.name), quoted(&state.name)));
            continue;
        };
        let join = match parallel.join {
            Join::All => "all".to_owned(),
            Join::Any => "any".to_owned(),
            Join::Quorum(quorum) => quorum.to_string(),
        };
        page.line(depth, &format!("subgraph {} {{", quoted(&format!("cluster {prefix}{}", state.name))));
        page.line(depth + 1, "style=dashed");
        // Without one, the label of the cluster around it would be its own.
        page.line(depth + 1, "label=\"\"");
        let label = quoted(&format!("{} (joins {join})", state.name));
        page.line(depth + 1, &format!("{} [label={label}, shape=component]", node(&state.name)));
        for child in runs(state) {
            let inner = format!("{prefix}{}/{child}/", state.name);
            page.line(depth + 1, &format!("subgraph {} {{", quoted(&format!("cluster {inner}"))));
            page.line(depth + 2, "style=solid");
            page.line(depth + 2, &format!("label={}", quoted(child)));
            page.child(child, |page, workflow| draw(page, workflow, &inner, depth + 2));
            page.line(depth + 1, "}");
            let start = quoted(&format!("{inner}{START}"));
            page.line(depth + 1, &format!("{} -> {start} [style=dotted]", node(&state.name)));
        }
        page.line(depth, "}");
    }
    for transition in workflow.transitions() {
        let (source, target) = (node(&transition.source), node(&transition.target));
        let label = label(transition);
        let label = if label.is_empty() { label } else { format!(" [label={}]", quoted(&label)) };
        page.line(depth, &format!("{source} -> {target}{label}"));
    }
}

/// A text in quotes. Graphviz reads a backslash as the start of an escape in labels.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
