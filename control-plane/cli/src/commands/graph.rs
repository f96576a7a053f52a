//! `stateous graph`: a workflow as a picture.

use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::value::RawValue;

use super::graphs;
use crate::Failed;
use crate::text::{Format, Out, json_line};

/// Draw a workflow as a Mermaid diagram. With --json, print its graph file.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
                        stateous graph orders/workflow.toml                       # paste it into any Markdown\n  \
                        stateous graph orders/workflow.toml --dot | dot -Tsvg > orders.svg")]
pub(crate) struct Args {
    /// The workflow: a workflow.toml, or a graph file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write DOT, for Graphviz, instead.
    #[arg(long)]
    dot: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failed> {
    let text = graphs::text(&args.file, out.format())?;
    let graph = graphs::parse(&args.file, &text)?;
    if out.format() == Format::Json {
        let document = RawValue::from_string(text).context("a graph file is JSON")?;
        return out.line(&json_line(&document));
    }
    let text = if args.dot { stateous_compiler::dot(&graph) } else { stateous_compiler::mermaid(&graph) };
    out.line(text.trim_end())
}
