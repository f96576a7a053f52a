//! `stateous compile`: from `workflow.toml` to a graph file.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::graphs;
use crate::Failed;
use crate::text::Out;

/// Check a workflow, and write its graph file.
#[derive(clap::Args)]
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
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    let text = graphs::compile(&args.workflow)?;
    if args.check {
        return Out::new().line(&format!("{} is a workflow", args.workflow.display()));
    }
    let out = match &args.out {
        Some(out) => out.clone(),
        None => {
            let graph = stateous_engine::Graph::parse(&text).context("the compiler wrote no graph file")?;
            let folder = args.workflow.parent().unwrap_or(Path::new(""));
            folder.join("build").join(format!("{}.json", graph.name()))
        }
    };
    replace(&out, text.as_bytes())?;
    Out::new().line(&format!("wrote {}", out.display()))
}

/// Writes a file so that whoever reads it sees the old or the new text, never a part.
fn replace(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
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
