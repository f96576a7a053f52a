//! Graph files from disk: compiled ones as they are, a `workflow.toml` compiled on the way.

use std::path::Path;

use anyhow::Context as _;
use serde_json::json;
use stateous_compiler::{Compiled, Diagnostic};
use stateous_engine::Graph;

use crate::Failed;
use crate::failed::Coded;
use crate::text::{Format, say};

/// Reads a file and compiles it. Warnings and mistakes are told as the compiler renders them; with [`Format::Json`] the
/// mistakes are part of the failure, and the warnings are the caller's to tell.
pub(crate) fn compile(file: &Path, format: Format) -> Result<Compiled, Failed> {
    let source = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let name = file.display().to_string();
    match stateous_compiler::compile(&source, &name) {
        Ok(compiled) => {
            if format == Format::Text {
                for warning in &compiled.warnings {
                    say(&warning.render(&source));
                }
            }
            Ok(compiled)
        }
        Err(mistakes) => {
            let errors = match mistakes.len() {
                1 => "1 mistake".to_owned(),
                n => format!("{n} mistakes"),
            };
            let failed = Coded::new("does_not_compile", format!("{name} does not compile: {errors}"));
            if format == Format::Json {
                return Err(Failed::Mistakes(failed.into(), mistakes.iter().map(told).collect()));
            }
            for mistake in &mistakes {
                say(&mistake.render(&source));
            }
            Err(failed.into())
        }
    }
}

/// A mistake or warning for programs.
pub(crate) fn told(one: &Diagnostic) -> serde_json::Value {
    json!({
        "file": one.file, "line": one.line, "column": one.column,
        "code": one.code, "message": one.message, "help": one.help,
    })
}

/// The graph in a file: `.toml` is compiled in memory, anything else is a graph file.
pub(crate) fn load(file: &Path, format: Format) -> Result<Graph, Failed> {
    Ok(parse(file, &text(file, format)?)?)
}

/// The graph that `text`, which came from `file`, describes.
pub(crate) fn parse(file: &Path, text: &str) -> anyhow::Result<Graph> {
    Graph::parse(text).with_context(|| format!("{} is not a graph file", file.display()))
}

/// The text of the graph file that [`load`] reads.
pub(crate) fn text(file: &Path, format: Format) -> Result<String, Failed> {
    if file.extension().is_some_and(|ext| ext == "toml") {
        return Ok(compile(file, format)?.graph_text);
    }
    let text = std::fs::read_to_string(file);
    Ok(text.with_context(|| format!("cannot read the graph file {}", file.display()))?)
}
