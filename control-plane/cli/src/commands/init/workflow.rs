//! `stateous init workflow NAME`: a workflow whose routines work as they stand.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use stateous_engine::names::check_name;

use super::{SdkFrom, tell};
use crate::Failed;
use crate::failed::Coded;
use crate::scaffold::{Files, NEXT_TOKEN, starter};
use crate::text::Out;

/// Write a workflow with two states, and routines that work as they stand.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
                        stateous init workflow orders && stateous dev orders")]
pub(super) struct Args {
    /// The folder to write; the workflow gets its name.
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    #[command(flatten)]
    sdk: SdkFrom,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failed> {
    let shown = args.folder.display().to_string();
    let name =
        args.folder.file_name().and_then(|name| name.to_str()).context("NAME ends with a folder's name")?;
    check_name("workflow", name).map_err(|why| Coded::new("invalid_argument", why))?;
    let mut files = Files::below(&args.folder);
    if files.has("workflow.toml") {
        let error = anyhow!(Coded::new(
            "exists",
            format!("{} is there already", files.path("workflow.toml").display())
        ));
        let hint =
            format!("`stateous init supervisor {shown}/workflow.toml {shown}` writes what its states lack");
        return Err(Failed::from(error).advised(|_| Some(hint)));
    }
    starter(&mut files, name, &args.sdk.sdk()?)?;
    let (id, context) = NEXT_TOKEN;
    let next = [
        format!("stateous dev {shown}"),
        format!("stateous token start {id} '{context}'   # in another terminal"),
        format!("stateous token watch {id}"),
    ];
    tell(&files, "Next steps:", &next, out)
}
