//! `stateous compile`: from `workflow.toml` to a graph file.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;
use stateous_engine::Graph;

use super::graphs;
use crate::Failed;
use crate::text::Out;

/// Check a workflow, and write its graph file.
#[derive(clap::Args)]
#[command(after_help = "Every mistake is told at once, with its line and a way out.\n\nExamples:\n  \
                        stateous compile orders/workflow.toml            # writes orders/build/orders.json\n  \
                        stateous compile orders/workflow.toml --check    # for CI: exit code 1 when there are mistakes\n  \
                        stateous compile orders/workflow.toml --check --json 2>&1 | jq '.mistakes'")]
pub(crate) struct Args {
    /// The workflow: a workflow.toml.
    #[arg(value_name = "WORKFLOW")]
    workflow: PathBuf,
    /// Where the graph file goes; build/<workflow>.json beside WORKFLOW unless given.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only check; write nothing.
    #[arg(long, conflicts_with = "out")]
    check: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failed> {
    let compiled = graphs::compile(&args.workflow, out.format())?;
    let graph = Graph::parse(&compiled.graph_text).context("the compiler wrote no graph file")?;
    let mut told = Told {
        workflow: graph.name(),
        checksum: graph.checksum(),
        wrote: None,
        warnings: compiled.warnings.iter().map(graphs::told).collect(),
    };
    if args.check {
        return out.tell(&told, |_| format!("{} is a workflow", args.workflow.display()));
    }
    let file = match &args.out {
        Some(file) => file.clone(),
        None => default_file(&args.workflow, graph.name()),
    };
    replace(&file, compiled.graph_text.as_bytes())?;
    told.wrote = Some(file.display().to_string());
    out.tell(&told, |_| format!("wrote {}", file.display()))
}

/// What `--json` prints.
#[derive(Serialize)]
struct Told<'t> {
    workflow: &'t str,
    checksum: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrote: Option<String>,
    warnings: Vec<serde_json::Value>,
}

/// Where the graph file of a workflow goes unless told otherwise.
pub(crate) fn default_file(workflow: &Path, name: &str) -> PathBuf {
    workflow.parent().unwrap_or(Path::new("")).join("build").join(format!("{name}.json"))
}

/// Writes a file so that whoever reads it sees the old or the new text, never a part.
pub(crate) fn replace(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let cannot = || format!("cannot write {}", file.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    let beside =
        folder.join(format!(".{}.{}", file.file_name().unwrap_or_default().display(), std::process::id()));
    let written = std::fs::File::create(&beside)
        .and_then(|mut f| f.write_all(bytes).and_then(|()| f.sync_all()))
        .and_then(|()| std::fs::rename(&beside, file));
    if written.is_err() {
        // The half-written file is of no use to anybody.
        let _ = std::fs::remove_file(&beside);
    }
    written.with_context(cannot)
}
