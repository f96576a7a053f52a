//! `stateous init supervisor SOURCE FOLDER`: a supervisor's folder with a routine to write for each state.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use stateous_compiler::contract::Contract;
use stateous_engine::Graph;

use super::{SdkFrom, tell};
use crate::Failed;
use crate::commands::graphs;
use crate::commands::remote::{DEFAULT_URL, Remote};
use crate::scaffold::{Files, Language};
use crate::text::{Format, Out};

/// Write a supervisor's folder: its settings, and for every state without one a routine to write.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The workflow: the URL of a control plane that serves it, a graph file, or a workflow.toml.
    #[arg(value_name = "SOURCE")]
    source: String,
    /// The supervisor's folder.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The language of the routines to write.
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    lang: Language,
    #[command(flatten)]
    sdk: SdkFrom,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failed> {
    let sdk = args.sdk.sdk()?;
    let is_url = args.source.starts_with("http://") || args.source.starts_with("https://");
    let graph =
        if is_url { served(&args.source)? } else { graphs::load(Path::new(&args.source), Format::Text)? };
    let url = if is_url { args.source.trim_end_matches('/') } else { DEFAULT_URL };
    let mut files = Files::below(&args.folder);
    files.once("stateous.toml", &settings(url))?;
    args.lang.shared(&mut files, &sdk)?;
    for contract in Contract::all(&graph) {
        args.lang.routine(&mut files, &contract, &sdk)?;
    }
    let shown = args.folder.display();
    let next = [format!("stateous routine push {shown} --url {url}"), format!("stateous supervise {shown}")];
    tell(&files, "Write the routines, then run:", &next, out)
}

/// The graph that a control plane serves.
fn served(url: &str) -> Result<Graph, Failed> {
    let text = Remote::at(url).run(async |client| Ok(client.workflow().await?))?;
    Ok(Graph::parse(text.get()).context("the control plane's workflow is no graph file")?)
}

fn settings(url: &str) -> String {
    format!(
        "# Where the control plane is.\n\
         url = {}\n\
         # How many routines run at once.\n\
         slots = 4\n\
         # This supervisor's name in histories; the computer's name unless given.\n\
         # name = \"build-box-1\"\n",
        toml::Value::from(url),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_ones_that_a_supervisor_reads() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("stateous.toml"), settings("http://control.example:8080")).unwrap();
        let read = stateous_supervisor::Settings::load(folder.path(), stateous_supervisor::Given::default())
            .unwrap();
        assert_eq!((read.url.as_str(), read.slots), ("http://control.example:8080", 4));
    }
}
