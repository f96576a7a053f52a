//! Graph files from disk: compiled ones as they are, a `workflow.toml` compiled on the way.

use std::path::Path;

use anyhow::Context as _;
use stateous_engine::Graph;

use crate::Failed;
use crate::text::say;

/// Reads a file and compiles it. Warnings and mistakes are told as the compiler renders them.
pub(crate) fn compile(file: &Path) -> Result<String, Failed> {
    let source = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let name = file.display().to_string();
    match stateous_compiler::compile(&source, &name) {
        Ok(compiled) => {
            for warning in &compiled.warnings {
                say(&warning.render(&source));
            }
            Ok(compiled.graph_text)
        }
        Err(mistakes) => {
            for mistake in &mistakes {
                say(&mistake.render(&source));
            }
            let errors = match mistakes.len() {
                1 => "1 mistake".to_owned(),
                n => format!("{n} mistakes"),
            };
            Err(anyhow::anyhow!("{name} does not compile: {errors}").into())
        }
    }
}

/// The graph in a file: `.toml` is compiled in memory, anything else is a graph file.
pub(crate) fn load(file: &Path) -> Result<Graph, Failed> {
    let text = if file.extension().is_some_and(|ext| ext == "toml") {
        compile(file)?
    } else {
        std::fs::read_to_string(file)
            .with_context(|| format!("cannot read the graph file {}", file.display()))?
    };
    Ok(Graph::parse(&text).with_context(|| format!("{} is not a graph file", file.display()))?)
}
