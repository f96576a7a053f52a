//! `stateous routine`: build components, run them here, upload them, and see which serve which state.

mod build;
mod run;
mod sandbox;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{CommandFactory as _, Parser, Subcommand};
use stateous_api::{Client, RoutineInForce, RoutineLimits, RoutinePush};

use super::remote::Remote;
use crate::Failed;
use crate::text::{Out, escape};

/// Build routines, run them here, upload them, and see which serve which state.
#[derive(Parser)]
#[command(name = "stateous routine")]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Subcommand)]
enum Act {
    /// Build the routine in a folder: Rust, JavaScript, TypeScript, Python, C, C++ or Go.
    Build(build::Args),
    /// Run a component here, in the real sandbox, without a control plane.
    Run(run::Args),
    /// Upload a component, and let it serve a state from the next attempt on.
    Push(Push),
    /// What serves each state.
    List,
}

#[derive(clap::Args)]
struct Push {
    /// The component: a .wasm file. A core module that was built for the Stateous world is made into one.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The state that it serves: WORKFLOW/STATE, or STATE of the default workflow.
    #[arg(long)]
    state: String,
    /// A name for people; the file's name unless given.
    #[arg(long)]
    name: Option<String>,
    /// The most fuel of one attempt: about one unit for each instruction.
    #[arg(long)]
    fuel: Option<u64>,
    /// The most linear memory of one attempt, in MiB.
    #[arg(long, value_name = "MIB")]
    memory: Option<u64>,
    /// The most wall time of one attempt: 30s, 10m, 6h.
    #[arg(long, value_name = "DURATION")]
    wall: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failed> {
    let Args { act, remote } = args;
    match act {
        None => Err(Failed::Usage(Box::new(Args::command()))),
        Some(Act::Build(args)) => build::run(&args),
        Some(Act::Run(args)) => run::run(&args),
        Some(Act::List) => remote.run(list),
        Some(Act::Push(push)) => {
            let component = read_component(&push.file)?;
            let request = push.request()?;
            remote.run(|client| send(client, request, component))
        }
    }
}

impl Push {
    fn request(&self) -> anyhow::Result<RoutinePush> {
        let (workflow, state) = match self.state.split_once('/') {
            Some((workflow, state)) => (Some(workflow.to_owned()), state.to_owned()),
            None => (None, self.state.clone()),
        };
        let wall_ms = self
            .wall
            .as_deref()
            .map(|text| {
                stateous_engine::time::parse_duration(text).and_then(|ms| u64::try_from(ms).ok()).ok_or_else(
                    || anyhow!("--wall takes a whole number and s, m, h or d, such as 30s, not '{text}'"),
                )
            })
            .transpose()?;
        let memory_bytes = self
            .memory
            .map(|mib| mib.checked_mul(1 << 20).ok_or_else(|| anyhow!("--memory is too large: {mib} MiB")))
            .transpose()?;
        let limits = RoutineLimits { fuel: self.fuel, memory_bytes, wall_ms };
        let name = self.name.clone().or_else(|| Some(self.file.file_name()?.to_string_lossy().into_owned()));
        Ok(RoutinePush { workflow, state, name, limits })
    }
}

/// A component from a file; a core module of our world is componentised on the way.
pub(crate) fn read_component(file: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    stateous_inspect::componentize(&bytes)
        .map_err(|problem| anyhow!("{} is not a routine: {problem}", file.display()))
}

async fn send(client: Client, push: RoutinePush, component: Vec<u8>) -> Result<(), Failed> {
    let pushed = client.push_routine(&push, component.into()).await?;
    let was = if pushed.created { "" } else { " (nothing changed: it did so before)" };
    Out::new().line(&format!("{}{was}", line(&pushed.routine)))
}

async fn list(client: Client) -> Result<(), Failed> {
    let mut out = Out::new();
    let routines = client.routines().await?;
    for routine in &routines {
        out.line(&line(routine))?;
    }
    if routines.is_empty() {
        out.line("no routines")?;
    }
    Ok(())
}

/// `orders/draft: version 1, draft.wasm, sha256:1f0c…, 63 KiB, rust 0.1.0`.
fn line(routine: &RoutineInForce) -> String {
    let sdk = routine.sdk.as_ref().map(|sdk| format!(", {}", escape(sdk))).unwrap_or_default();
    format!(
        "{}/{}: version {}, {}, {}, {} KiB{sdk}",
        escape(&routine.workflow),
        escape(&routine.state),
        routine.version,
        escape(&routine.name),
        escape(&routine.digest),
        routine.size.div_ceil(1024),
    )
}
