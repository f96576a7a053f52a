//! `stateous routine`: upload components, and see which serve which state.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{CommandFactory as _, Parser, Subcommand};
use serde::Serialize;
use stateous_api::{Client, HttpRule, RoutineInForce, RoutineLimits, RoutinePush};

use super::remote::Remote;
use crate::Failed;
use crate::failed::Coded;
use crate::text::{Out, escape};

/// Upload routines, and see which serve which state.
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
    /// Upload a component, and let it serve a state from the next attempt on.
    Push(Push),
    /// What serves each state.
    List,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
                        stateous routine push orders                             # builds orders/routines/, pushes each\n  \
                        stateous routine push build/draft.wasm --state orders/draft\n  \
                        stateous routine push build/draft.wasm --state draft --wall 10m --memory 64")]
struct Push {
    /// The component: a .wasm file. A core module that was built for the Stateous world is made into one. Or a folder,
    /// whose routines are built, and serve the states that they are named after.
    #[arg(value_name = "FILE|FOLDER")]
    file: PathBuf,
    /// The state that it serves: WORKFLOW/STATE, or STATE of the default workflow.
    #[arg(long)]
    state: Option<String>,
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
    /// A request that it may send, where its supervisor grants it too: 'GET https://api.example.com/v1/'. May be said
    /// several times.
    #[arg(long, value_name = "RULE")]
    http: Vec<HttpRule>,
}

/// Runs the command.
pub(crate) fn run(args: Args, out: &mut Out) -> Result<(), Failed> {
    let Args { act, remote } = args;
    match act {
        None => Err(Failed::Usage(Box::new(Args::command()))),
        Some(Act::List) => remote.run(async |client| list(client, out).await),
        Some(Act::Push(push)) if push.file.is_dir() => {
            let pushes = push.of_folder()?;
            remote.run(async |client| send_all(client, pushes, out).await)
        }
        Some(Act::Push(push)) => {
            let Some(state) = &push.state else {
                let message = "--state says which state the component serves, such as --state orders/draft";
                return Err(Coded::new("invalid_argument", message).into());
            };
            let component = read_component(&push.file)?;
            let name = push.file.file_name().map(|name| name.to_string_lossy().into_owned());
            let request = push.request(state, name)?;
            remote.run(async |client| send(client, request, component, out).await)
        }
    }
}

impl Push {
    /// Builds the routines of a folder. Each serves the state that it is named after, or all of them are refused.
    fn of_folder(&self) -> Result<Vec<(RoutinePush, Vec<u8>)>, Failed> {
        let folder = self.file.display();
        if self.state.is_some() || self.name.is_some() {
            let message = format!(
                "{folder} is a folder: its routines name their states, so there is no --state and no --name"
            );
            return Err(Coded::new("invalid_argument", message).into());
        }
        let components = super::dev::build::all(&self.file)?;
        if components.is_empty() {
            let error = anyhow!(
                "{folder} has no routines: neither routines/<state>/ to build nor build/<state>.wasm"
            );
            let hint =
                format!("`stateous init supervisor SOURCE {folder}` writes the routines to go on with");
            return Err(Failed::from(error).advised(|_| Some(hint)));
        }
        let pushes = components.into_iter().map(|(state, component)| {
            Ok((self.request(&state, Some(format!("{}.wasm", state.replace('/', "."))))?, component))
        });
        Ok(pushes.collect::<anyhow::Result<_>>()?)
    }

    fn request(&self, state: &str, name: Option<String>) -> anyhow::Result<RoutinePush> {
        let (workflow, state) = match state.split_once('/') {
            Some((workflow, state)) => (Some(workflow.to_owned()), state.to_owned()),
            None => (None, state.to_owned()),
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
        let limits = RoutineLimits {
            fuel: self.fuel,
            memory_bytes,
            wall_ms,
            http: self.http.iter().map(ToString::to_string).collect(),
        };
        let name = self.name.clone().or(name);
        Ok(RoutinePush { workflow, state, name, limits })
    }
}

/// A component from a file; a core module of our world is componentised on the way.
pub(crate) fn read_component(file: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    stateous_inspect::componentize(&bytes)
        .map_err(|problem| anyhow!("{} is not a routine: {problem}", file.display()))
}

async fn send_all(client: Client, pushes: Vec<(RoutinePush, Vec<u8>)>, out: &mut Out) -> Result<(), Failed> {
    let mut list = out.list();
    for (push, component) in pushes {
        let pushed = client.push_routine(&push, component.into()).await?;
        list.item(&Told { created: pushed.created, routine: &pushed.routine }, told_line)?;
    }
    list.end("no routines")
}

async fn send(client: Client, push: RoutinePush, component: Vec<u8>, out: &mut Out) -> Result<(), Failed> {
    let pushed = client.push_routine(&push, component.into()).await?;
    let told = Told { created: pushed.created, routine: &pushed.routine };
    out.tell(&told, told_line)
}

/// What `push --json` prints.
#[derive(Serialize)]
struct Told<'t> {
    created: bool,
    #[serde(flatten)]
    routine: &'t RoutineInForce,
}

fn told_line(told: &Told<'_>) -> String {
    let was = if told.created { "" } else { " (nothing changed: it did so before)" };
    format!("{}{was}", line(told.routine))
}

async fn list(client: Client, out: &mut Out) -> Result<(), Failed> {
    let mut list = out.list();
    for routine in &client.routines().await? {
        list.item(routine, line)?;
    }
    list.end("no routines")
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
