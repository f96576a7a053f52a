//! `stateous compile-worker`: compiles one component in a process of its own, so that a component which would take
//! minutes or gigabytes, or which trips the compiler, takes nothing down with it. The supervisor starts it.

use std::path::PathBuf;

use crate::Failed;
use crate::text::say;

/// Compiles one component in a process of its own.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The component.
    input: PathBuf,
    /// Where the compiled form goes.
    output: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    stateous_runtime::compile_worker(&args.input, &args.output).map_err(|why| {
        // The supervisor reads this as it is, without our `error: ` before it.
        say(&why);
        Failed::Quiet
    })
}
