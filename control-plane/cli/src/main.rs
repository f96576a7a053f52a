//! `stateous`: the one executable. One file per subcommand; each does its work through a library or the HTTP API, as
//! everybody else does, and everything that a person reads is written here.

mod commands;
mod text;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use commands::{compile, compile_worker, dev, graph, routine, serve, supervise, token};

/// A process as a graph of states. A control plane keeps every token durable.
#[derive(Parser)]
#[command(name = "stateous", version, disable_help_subcommand = true)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Check a workflow, and write its graph file.
    Compile(compile::Args),
    /// Draw a workflow as a Mermaid diagram.
    Graph(graph::Args),
    /// Run the control plane: the HTTP API and the clock, over one database.
    Serve(serve::Args),
    /// Run routines: claim tasks, and run each in a sandbox. Ctrl-C once: take no new tasks and wait for the running
    /// routines. Twice: stop them and exit.
    Supervise(supervise::Args),
    /// Control plane, supervisor and routines of a folder in one process, rebuilt when you save.
    Dev(dev::Args),
    /// Act on tokens: start, fire, show, pause, resume, cancel.
    #[command(subcommand_required = false)]
    Token(token::Args),
    /// Upload routines, and see which serve which state.
    Routine(routine::Args),
    /// Compiles one component in a process of its own; the supervisor starts it.
    #[command(hide = true)]
    CompileWorker(compile_worker::Args),
}

/// How a command fails.
pub(crate) enum Failed {
    /// One plain sentence on stderr, exit code 1.
    Said(anyhow::Error),
    /// It was told already, or nobody listens any more: exit code 1.
    Quiet,
    /// The words of the command are not enough: its help on stdout, exit code 2.
    Usage(Box<clap::Command>),
}

impl<E: Into<anyhow::Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Said(error.into())
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match args.command {
        Some(Command::Compile(args)) => compile::run(&args),
        Some(Command::Graph(args)) => graph::run(&args),
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Supervise(args)) => supervise::run(&args),
        Some(Command::Dev(args)) => dev::run(&args),
        Some(Command::Token(args)) => token::run(args),
        Some(Command::Routine(args)) => routine::run(args),
        Some(Command::CompileWorker(args)) => compile_worker::run(&args),
        None => Err(Failed::Usage(Box::new(Args::command()))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Said(error)) => {
            text::say(&format!("error: {}", sentence(&error)));
            ExitCode::FAILURE
        }
        Err(Failed::Quiet) => ExitCode::FAILURE,
        Err(Failed::Usage(mut command)) => {
            let mut out = text::Out::new();
            // When nobody reads the help, the exit code still says what was wrong.
            let _ = out.line(command.render_help().to_string().trim_end());
            ExitCode::from(2)
        }
    }
}

/// A failure and its causes as one sentence; a cause that repeats what is said already is left out.
fn sentence(error: &anyhow::Error) -> String {
    let mut said = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !said.contains(&cause) {
            said.push_str(": ");
            said.push_str(&cause);
        }
    }
    said
}
