//! `stateous init supervisor SOURCE FOLDER`: a supervisor's folder with a routine to write for each state.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use stateous_api::RoutineInForce;
use stateous_compiler::contract::Contract;
use stateous_engine::Graph;

use super::{SdkFrom, tell};
use crate::Failed;
use crate::commands::graphs;
use crate::commands::remote::{DEFAULT_URL, Remote};
use crate::scaffold::{Files, Language, ROUTINES, folder_of};
use crate::text::{Format, Out};

/// Write a supervisor's folder: its settings, and for every state without a routine one to go on with.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
                        stateous init supervisor http://control.example:8080 box\n  \
                        stateous init supervisor orders/build/orders.json orders-supervisor\n  \
                        stateous init supervisor orders/workflow.toml orders   # after you added a state")]
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
    let (graph, in_force) = if is_url {
        served(&args.source)?
    } else {
        (graphs::load(Path::new(&args.source), Format::Text)?, Vec::new())
    };
    let url = if is_url { args.source.trim_end_matches('/') } else { DEFAULT_URL };
    let mut files = Files::below(&args.folder);
    files.once("stateous.toml", &settings(url))?;
    let mut is_written = false;
    for contract in Contract::all(&graph) {
        let of_state = |routine: &&RoutineInForce| {
            (&routine.workflow, &routine.state) == (&contract.workflow, &contract.state)
        };
        let here = files.has(&format!("{ROUTINES}/{}", folder_of(&contract)));
        if let Some(routine) = in_force.iter().find(of_state).filter(|_| !here) {
            let told = format!("the routine of '{}': version {}", contract.told_state(), routine.version);
            files.kept(&format!("{told} is in force"));
            continue;
        }
        if !std::mem::replace(&mut is_written, true) {
            args.lang.shared(&mut files, &sdk)?;
        }
        args.lang.routine(&mut files, &contract, &sdk)?;
    }
    let shown = args.folder.display();
    let supervise = format!("stateous supervise {shown}");
    if is_written {
        let push = format!("stateous routine push {shown} --url {url}");
        tell(&files, "Write the routines, then run:", &[push, supervise], out)
    } else {
        tell(&files, "Next steps:", &[supervise], out)
    }
}

/// The graph that a control plane serves, and the routines that serve its states already.
fn served(url: &str) -> Result<(Graph, Vec<RoutineInForce>), Failed> {
    Remote::at(url).run(async |client| {
        let text = client.workflow().await?;
        let graph = Graph::parse(text.get()).context("the control plane's workflow is no graph file")?;
        Ok((graph, client.routines().await?))
    })
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
