//! `stateous init routine`: one routine to write.

use std::path::PathBuf;

use stateous_compiler::contract::Contract;

use super::{SdkFrom, tell};
use crate::Failed;
use crate::commands::graphs;
use crate::failed::Coded;
use crate::scaffold::{Files, Language};
use crate::text::{Format, Out};

/// Write the routine of one state of a folder's workflow.toml, to go on with.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
                        stateous init routine --lang rust --state review orders")]
pub(super) struct Args {
    /// The language.
    #[arg(long, value_enum)]
    lang: Language,
    /// The state: STATE, or WORKFLOW/STATE of a workflow that a parallel state runs.
    #[arg(long)]
    state: String,
    /// The folder with workflow.toml and routines/.
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    #[command(flatten)]
    sdk: SdkFrom,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failed> {
    let graph = graphs::load(&args.folder.join("workflow.toml"), Format::Text)?;
    let (workflow, state) = args.state.split_once('/').unwrap_or((graph.name(), &args.state));
    let contract = Contract::of(&graph, workflow, state).ok_or_else(|| {
        let known: Vec<String> = Contract::all(&graph).iter().map(Contract::told_state).collect();
        let message =
            format!("the workflow has no state '{}' with a routine; it has {}", args.state, known.join(", "));
        Coded::new("invalid_argument", message)
    })?;
    let sdk = args.sdk.sdk()?;
    let mut files = Files::below(&args.folder);
    args.lang.shared(&mut files, &sdk)?;
    args.lang.routine(&mut files, &contract, &sdk)?;
    let next = [format!("stateous dev {}", args.folder.display())];
    tell(&files, "Write the routine, then run:", &next, out)
}
