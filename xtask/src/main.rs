//! `cargo xtask demo|test|bench|guests`: everything that a person or CI does with this repository.
//!
//! Each command sets up what it needs by itself, so that a fresh machine with a C compiler and rustup is enough.

mod apt;
mod bench;
mod demo;
mod guests;
mod postgres;
mod process;
mod shell;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks of the repository.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds everything, runs the main job end to end with a supervisor that is killed on the way, and says what to
    /// look at.
    Demo(demo::Args),
    /// Everything CI runs: format, lints, all tests, the guests and the stories with real processes.
    Test(test::Args),
    /// Measures cycles per second and start latency, and prints a table and JSON.
    Bench(bench::Args),
    /// Finds or installs the guest toolchain and builds every guest.
    Guests(guests::Args),
}

fn main() -> ExitCode {
    let root = root();
    let done = match Args::parse().command {
        Command::Demo(args) => demo::run_demo(&root, &args),
        Command::Test(args) => test::run_all(&root, &args),
        Command::Bench(args) => bench::run(&root, &args),
        Command::Guests(args) => guests::run(&root, &args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            shell::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The repository's root: the parent of this crate's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
