//! `stateous completions`: what makes a shell complete our commands.

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::Failed;
use crate::text::Out;

/// Print what makes a shell complete these commands.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
                        stateous completions bash > ~/.local/share/bash-completion/completions/stateous\n  \
                        stateous completions zsh > ~/.zfunc/_stateous   # with fpath+=~/.zfunc before compinit\n  \
                        stateous completions fish > ~/.config/fish/completions/stateous.fish")]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failed> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Args::command(), "stateous", &mut script);
    let script = String::from_utf8(script).context("the completions are not text")?;
    out.line(script.trim_end())
}
