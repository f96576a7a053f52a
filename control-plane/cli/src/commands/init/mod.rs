//! `stateous init`: the files to begin with.

mod routine;
mod supervisor;
mod workflow;

use std::path::PathBuf;

use clap::{CommandFactory as _, Parser, Subcommand};
use serde_json::json;

use crate::Failed;
use crate::scaffold::{Files, Sdk};
use crate::text::{Format, Out, json_line};

/// Write the files to begin with: a workflow, a supervisor's folder, a routine.
///
/// What you go on to write is never overwritten. What is generated, which says so in its first lines, is written anew.
#[derive(Parser)]
#[command(
    name = "stateous init",
    after_help = "Examples:\n  \
                  stateous init workflow orders                    # a workflow with routines that work\n  \
                  stateous init supervisor http://127.0.0.1:8080 orders-supervisor\n  \
                  stateous init supervisor orders/workflow.toml orders   # routines for states that you added\n  \
                  stateous init routine --lang rust --state review orders"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    Workflow(workflow::Args),
    Supervisor(supervisor::Args),
    Routine(routine::Args),
}

/// Runs the command.
pub(crate) fn run(args: Args, out: &mut Out) -> Result<(), Failed> {
    match args.what {
        None => Err(Failed::Usage(Box::new(Args::command()))),
        Some(What::Workflow(args)) => workflow::run(&args, out),
        Some(What::Supervisor(args)) => supervisor::run(&args, out),
        Some(What::Routine(args)) => routine::run(&args, out),
    }
}

/// Where routines take their SDK from.
#[derive(clap::Args)]
struct SdkFrom {
    /// A checkout of Stateous whose SDK the routines use, instead of the copy that is written beside them.
    #[arg(long, value_name = "PATH")]
    stateous_path: Option<PathBuf>,
}

impl SdkFrom {
    fn sdk(&self) -> anyhow::Result<Sdk> {
        self.stateous_path.as_deref().map_or(Ok(Sdk::Carried), Sdk::of_checkout)
    }
}

/// Tells what was written, and what to do next.
fn tell(files: &Files, heading: &str, next: &[String], out: &mut Out) -> Result<(), Failed> {
    if out.format() == Format::Json {
        let (wrote, kept) = files.told();
        return out.line(&json_line(&json!({"wrote": wrote, "kept": kept, "next": next})));
    }
    for line in files.lines() {
        out.line(&line)?;
    }
    out.line(&format!("\n{heading}"))?;
    for step in next {
        out.line(&format!("  {step}"))?;
    }
    Ok(())
}
