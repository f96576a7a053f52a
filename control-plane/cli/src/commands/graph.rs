//! `stateous graph`: a workflow as a picture.

use std::path::PathBuf;

use super::graphs;
use crate::Failed;
use crate::text::Out;

/// Draw a workflow as a Mermaid diagram.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The workflow: a workflow.toml, or a graph file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write DOT, for Graphviz, instead.
    #[arg(long)]
    dot: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    let graph = graphs::load(&args.file)?;
    let text = if args.dot { stateous_compiler::dot(&graph) } else { stateous_compiler::mermaid(&graph) };
    Out::new().line(text.trim_end())
}
