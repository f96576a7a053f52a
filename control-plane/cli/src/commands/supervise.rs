//! `stateous supervise`: runs routines.

use std::path::PathBuf;

use stateous_supervisor::{End, Given, Stopping};

use super::host::Host;
use super::logging;
use crate::Failed;

/// Run routines: claim tasks, and run each in a sandbox.
#[derive(clap::Args)]
#[command(
    after_help = "Ctrl-C once: take no new tasks and wait for the running routines. Twice: stop them and exit.\n\n\
                        Examples:\n  \
                        stateous supervise orders-supervisor\n  \
                        stateous supervise box --url http://control.example:8080 --name box-7 --slots 16"
)]
pub(crate) struct Args {
    /// The supervisor's folder; its stateous.toml says where the control plane is, and .stateous/ keeps its outbox.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The control plane's URL; goes before the folder's file.
    #[arg(long, env = "STATEOUS_URL")]
    url: Option<String>,
    /// The supervisor's name in histories; goes before the folder's file.
    #[arg(long)]
    name: Option<String>,
    /// How many routines run at once; goes before the folder's file.
    #[arg(long)]
    slots: Option<usize>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    logging::start();
    let given = Given { url: args.url.clone(), name: args.name.clone(), slots: args.slots };
    let host = Host::new(&args.folder, given)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let end = runtime.block_on(async { host.run(Stopping::on_signals()?).await })?;
    // Whatever still blocks a thread is not waited for: the second signal means now.
    runtime.shutdown_background();
    match end {
        End::Graceful => Ok(()),
        End::Forced => Err(Failed::Quiet),
    }
}
