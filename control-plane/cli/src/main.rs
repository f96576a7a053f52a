//! `stateous`: the one executable. One file per subcommand; each does its work through a library or the HTTP API, as
//! everybody else does, and everything that a person reads is written here.

mod commands;
mod failed;
mod scaffold;
mod text;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use commands::{
    compile, compile_worker, completions, dev, graph, init, routine, serve, supervise, supervisor, task,
    token,
};
pub(crate) use failed::Failed;
use text::{Format, Out};

/// A process as a graph of states. A control plane keeps every token durable.
#[derive(Parser)]
#[command(
    name = "stateous",
    version,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 done, 1 refused or failed (one sentence on stderr), 2 wrong words.\n\n\
                  Examples:\n  \
                  stateous init workflow orders\n  \
                  stateous dev orders                         # everything of a folder in one process\n  \
                  stateous token start ORDER-1 '{\"title\": \"a pen\"}'\n  \
                  stateous token show ORDER-1\n  \
                  stateous token show --json | jq -r '.[].token'"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON on stdout instead of words; a failure is JSON on stderr: {"error", "code"}.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Write the files to begin with: a workflow, a supervisor's folder, a routine.
    #[command(subcommand_required = false)]
    Init(init::Args),
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
    /// Act on tokens: start, fire, show, pause, resume, cancel, retry; follow them and wait for them.
    #[command(subcommand_required = false)]
    Token(token::Args),
    /// See tasks, which are the work of states, and report what was done outside.
    #[command(subcommand_required = false)]
    Task(task::Args),
    /// See the supervisors that work for a control plane.
    #[command(subcommand_required = false)]
    Supervisor(supervisor::Args),
    /// Upload routines, and see which serve which state.
    Routine(routine::Args),
    /// Print what makes a shell complete these commands.
    Completions(completions::Args),
    /// Compiles one component in a process of its own; the supervisor starts it.
    #[command(hide = true)]
    CompileWorker(compile_worker::Args),
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Nothing was parsed, so this is looked for by hand.
            let json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
            return failed::wrong_words(&error, if json { Format::Json } else { Format::Text });
        }
    };
    let format = if args.json { Format::Json } else { Format::Text };
    match run(args.command, &mut Out::new(format)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => failed.tell(format),
    }
}

fn run(command: Option<Command>, out: &mut Out) -> Result<(), Failed> {
    match command {
        Some(Command::Init(args)) => init::run(args, out),
        Some(Command::Compile(args)) => compile::run(&args, out),
        Some(Command::Graph(args)) => graph::run(&args, out),
        Some(Command::Serve(args)) => serve::run(&args, out),
        Some(Command::Supervise(args)) => supervise::run(&args),
        Some(Command::Dev(args)) => dev::run(&args, out),
        Some(Command::Token(args)) => token::run(args, out),
        Some(Command::Task(args)) => task::run(args, out),
        Some(Command::Supervisor(args)) => supervisor::run(args, out),
        Some(Command::Routine(args)) => routine::run(args, out),
        Some(Command::Completions(args)) => completions::run(&args, out),
        Some(Command::CompileWorker(args)) => compile_worker::run(&args),
        None => Err(Failed::Usage(Box::new(Args::command()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each command with its words, as `stateous token wait`, the hidden ones left out.
    fn commands(command: &clap::Command, before: &str, found: &mut Vec<String>) {
        for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let words = format!("{before} {}", one.get_name());
            commands(one, &words, found);
            if !one.has_subcommands() {
                found.push(words);
            }
        }
    }

    #[test]
    fn the_words_do_not_contradict_each_other() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_page_for_people_names_every_command() {
        let page = include_str!("../../../docs/command-line.md");
        let mut found = Vec::new();
        commands(&Args::command(), "stateous", &mut found);
        assert!(found.len() > 20, "{found:?}");
        for words in found {
            assert!(page.contains(&format!("`{words}")), "docs/command-line.md does not name `{words}`");
        }
    }
}
