//! The graphs that one control plane serves, found by workflow and structure.

use std::collections::HashMap;

use super::{Graph, GraphError, Workflow};

/// One or more graphs. A token finds its workflow here by name and the structure that it was started with.
#[derive(Debug)]
pub struct Catalog {
    graphs: Vec<Graph>,
    /// Which graphs have a workflow of this name: one for each structure.
    by_name: HashMap<String, Vec<usize>>,
}

impl Catalog {
    /// A catalog of `graphs`; the first is the default.
    ///
    /// # Errors
    /// No graph, or a workflow name that two of them have.
    pub fn new(graphs: Vec<Graph>) -> Result<Self, GraphError> {
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (i, graph) in graphs.iter().enumerate() {
            for workflow in graph.workflows() {
                let found = by_name.entry(workflow.name().to_owned()).or_default();
                if !found.is_empty() {
                    return Err(GraphError::DuplicateWorkflow { name: workflow.name().to_owned() });
                }
                found.push(i);
            }
        }
        if graphs.is_empty() { Err(GraphError::NoGraph) } else { Ok(Self { graphs, by_name }) }
    }

    /// The graph that the original's routes speak of.
    #[must_use]
    pub fn default_graph(&self) -> &Graph {
        // `new` refuses an empty list.
        &self.graphs[0]
    }

    /// Every graph, the default first.
    #[must_use]
    pub fn graphs(&self) -> &[Graph] {
        &self.graphs
    }

    /// The main or child workflow of this name and structure.
    #[must_use]
    pub fn workflow(&self, workflow: &str, structure: &str) -> Option<&Workflow> {
        let graphs = self.by_name.get(workflow)?.iter().map(|&i| &self.graphs[i]);
        graphs.filter(|g| g.structure() == structure).find_map(|g| g.workflow(workflow))
    }
}
