//! The control plane of `dev`, which can be given another graph while it runs.

use std::net::TcpListener;
use std::path::PathBuf;

use anyhow::Context as _;
use stateous_engine::{Catalog, Graph};
use stateous_server::{ControlPlane, Options, ServeError};

use crate::Failed;
use crate::commands::{database, graphs};
use crate::text::{Format, say};

/// A control plane and what it was started from.
pub(super) struct Plane {
    file: PathBuf,
    database: PathBuf,
    /// The graph file in force.
    graph: String,
    workflow: String,
    /// Kept open over a reload, so that nobody else takes the port meanwhile.
    listener: TcpListener,
    url: String,
    running: ControlPlane,
}

impl Plane {
    /// Compiles the workflow and serves it.
    pub(super) async fn start(
        file: PathBuf,
        database: PathBuf,
        listener: TcpListener,
    ) -> Result<Self, Failed> {
        let graph = graphs::compile(&file, Format::Text)?.graph_text;
        let url = format!("http://{}", listener.local_addr()?);
        let running = run(&graph, &database, &listener).await.map_err(|error| hint(error, &file))?;
        let workflow = Graph::parse(&graph)?.name().to_owned();
        Ok(Self { file, database, graph, workflow, listener, url, running })
    }

    pub(super) fn workflow(&self) -> &str {
        &self.workflow
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Returns when it ended by itself.
    pub(super) async fn ended(&mut self) -> anyhow::Result<()> {
        Ok(self.running.wait().await?)
    }

    /// Compiles the workflow again and serves it, if it is another one and can be: with mistakes in it, or with tokens on
    /// their way through the old structure, the old graph goes on. Answers whether there is a new one.
    pub(super) async fn reload(&mut self) -> Result<bool, Failed> {
        let graph = match graphs::compile(&self.file, Format::Text) {
            Ok(compiled) => compiled.graph_text,
            Err(Failed::Said(why)) => {
                say(&format!("{why:#}; the old graph goes on"));
                return Ok(false);
            }
            Err(other) => return Err(other),
        };
        if graph == self.graph {
            return Ok(false);
        }
        self.running.stop();
        self.running.wait().await?;
        match run(&graph, &self.database, &self.listener).await {
            Ok(running) => {
                self.running = running;
                self.workflow = Graph::parse(&graph)?.name().to_owned();
                self.graph = graph;
                say(&format!("{}: the new graph is in force", self.workflow));
                Ok(true)
            }
            Err(why) => {
                self.running = run(&self.graph, &self.database, &self.listener).await?;
                say(&format!("{:#}; the old graph goes on", hint(why, &self.file)));
                Ok(false)
            }
        }
    }

    /// Stops it.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        self.running.stop();
        Ok(self.running.wait().await?)
    }
}

async fn run(graph: &str, file: &std::path::Path, listener: &TcpListener) -> anyhow::Result<ControlPlane> {
    let store = database::open(&format!("sqlite:///{}", file.display()))?;
    let catalog = Catalog::new(vec![Graph::parse(graph)?])?;
    let listener = listener.try_clone().context("cannot go on listening")?;
    Ok(ControlPlane::start(listener, store, catalog, Options::default()).await?)
}

/// Adds the way out that only `dev` has.
fn hint(error: anyhow::Error, file: &std::path::Path) -> anyhow::Error {
    if error.downcast_ref::<ServeError>().is_some_and(|e| matches!(e, ServeError::LiveTokens { .. })) {
        let folder = file.parent().unwrap_or(file).display();
        return anyhow::anyhow!("{error}. To forget them: stateous dev {folder} --reset");
    }
    error
}
