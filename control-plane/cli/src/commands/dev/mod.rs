//! `stateous dev FOLDER`: control plane, supervisor and routines of a folder in one process, rebuilt when a file is
//! saved.
//!
//! The folder holds `workflow.toml` and `routines/<state>/`, each a crate of its own. A mistake never takes down what
//! runs: until the next good build, the old routine and the old graph go on.

pub(super) mod build;
mod plane;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::json;
use stateous_api::{Client, RoutineLimits, RoutinePush};
use stateous_supervisor::{Given, Stopping};

use super::host::Host;
use super::remote::DEFAULT_URL;
use super::{logging, serve, signals};
use crate::Failed;
use crate::text::{Format, Out, json_line, say};

use plane::Plane;

/// Control plane, supervisor and routines of a folder in one process, rebuilt when you save. With --json, one line on
/// stdout tells the URL once the routines serve.
#[derive(clap::Args)]
#[command(
    after_help = "A mistake changes nothing: what served before goes on until the next good build.\n\nExamples:\n  \
                        stateous init workflow orders && stateous dev orders\n  \
                        stateous dev orders --listen 127.0.0.1:0 --reset"
)]
pub(crate) struct Args {
    /// A folder with workflow.toml and routines/<state>/.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Where to listen. Port 0 takes a free port.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    listen: String,
    /// Forget the tokens of earlier runs.
    #[arg(long)]
    reset: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failed> {
    logging::start();
    let workflow = args.folder.join("workflow.toml");
    if !workflow.is_file() {
        let what =
            format!("{} has no workflow.toml; try `stateous dev examples/orders`", args.folder.display());
        return Err(anyhow::anyhow!(what).into());
    }
    let address = serve::listen_address(&args.listen)?;
    let listener = serve::bind(address, &args.listen)?;
    let private = args.folder.join(".stateous");
    std::fs::create_dir_all(&private).with_context(|| format!("cannot make {}", private.display()))?;
    let database = private.join("dev.db");
    if args.reset {
        forget(&database)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        let plane = Plane::start(workflow, database, listener).await?;
        Dev { folder: args.folder.clone(), pushed: BTreeMap::new() }.run(plane, out).await
    });
    runtime.shutdown_background();
    done
}

/// Deletes a database with its side files.
fn forget(database: &Path) -> anyhow::Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot delete {}", Path::new(&name).display()));
            }
            _ => {}
        }
    }
    Ok(())
}

struct Dev {
    folder: PathBuf,
    /// The digest that each state was given last.
    pushed: BTreeMap<String, String>,
}

impl Dev {
    async fn run(mut self, mut plane: Plane, out: &mut Out) -> Result<(), Failed> {
        let stops = signals::stops()?;
        let (stopper, stopping) = Stopping::new();
        let supervisor = self.supervisor(plane.url(), stopping)?;
        let client = Client::new(plane.url())?;
        say(&format!("serving {} on {} (Ctrl-C stops)", plane.workflow(), plane.url()));
        self.routines(&plane, &client).await;
        let named = match plane.url() {
            DEFAULT_URL => String::new(),
            url => format!(" --url {url}"),
        };
        say(&format!("try: stateous token start T-1 '{{…}}'{named}, then: stateous token watch T-1{named}"));
        if out.format() == Format::Json {
            out.line(&json_line(&json!({"url": plane.url(), "workflow": plane.workflow()})))?;
        }
        let mut changes = watch::Changes::of(&self.folder)?;
        loop {
            tokio::select! {
                () = signals::at_least(stops.clone(), 1) => break,
                ended = plane.ended() => return Ok(ended?),
                changed = changes.next() => {
                    let changed = changed?;
                    // A new graph may have states that a routine waits for.
                    let reloaded = changed.workflow && plane.reload().await?;
                    if reloaded || changed.routines {
                        self.routines(&plane, &client).await;
                    }
                }
            }
        }
        stopper.signal();
        let ended = tokio::select! {
            ended = supervisor => ended.context("the supervisor broke")?,
            () = signals::at_least(stops, 2) => {
                stopper.now();
                return Err(Failed::Quiet);
            }
        };
        plane.stop().await?;
        say("stopped");
        ended?;
        Ok(())
    }

    fn supervisor(
        &self,
        url: &str,
        stopping: Stopping,
    ) -> anyhow::Result<tokio::task::JoinHandle<anyhow::Result<stateous_supervisor::End>>> {
        let folder = self.folder.join(".stateous/supervisor");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let given = Given { url: Some(url.to_owned()), name: Some("dev".to_owned()), slots: None };
        Ok(tokio::spawn(Host::new(&folder, given)?.run(stopping)))
    }

    /// Builds the routines and pushes those that changed. What does not build or is refused is told; the old one goes
    /// on.
    async fn routines(&mut self, plane: &Plane, client: &Client) {
        let folder = self.folder.clone();
        let built = tokio::task::spawn_blocking(move || build::all(&folder)).await;
        let components = match built {
            Ok(Ok(components)) => components,
            Ok(Err(why)) => return say(&format!("{why:#}; what served before goes on")),
            Err(broken) => return say(&format!("the build broke: {broken}")),
        };
        for (state, component) in components {
            match self.push(plane, client, &state, component).await {
                Ok(Some(version)) => {
                    say(&format!("{}/{state}: version {version} is in force", plane.workflow()));
                }
                Ok(None) => {}
                Err(why) => {
                    say(&format!("{}/{state}: {why:#}; what served before goes on", plane.workflow()));
                }
            }
        }
    }

    async fn push(
        &mut self,
        plane: &Plane,
        client: &Client,
        state: &str,
        component: Vec<u8>,
    ) -> anyhow::Result<Option<u64>> {
        let digest = stateous_inspect::digest(&component);
        if self.pushed.get(state) == Some(&digest) {
            return Ok(None);
        }
        let (workflow, own) = state.split_once('/').unwrap_or((plane.workflow(), state));
        let push = RoutinePush {
            workflow: Some(workflow.to_owned()),
            state: own.to_owned(),
            name: Some(format!("{state}.wasm")),
            limits: RoutineLimits::default(),
        };
        let pushed = client.push_routine(&push, component.into()).await?;
        ensure!(pushed.routine.digest == digest, "the control plane keeps another digest than was sent");
        self.pushed.insert(state.to_owned(), digest);
        Ok(pushed.created.then_some(pushed.routine.version))
    }
}
