//! workflow.toml to graph file.
