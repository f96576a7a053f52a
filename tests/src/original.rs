//! The original Stateous, a Python package, as a story needs it: its command line, its client, its supervisor with
//! routines of `tests/python`, and its control plane for comparison.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use stateous_api::Client;
use tokio::process::Command;

use crate::process::Process;
use crate::product::Product;
use crate::python::python;

/// The original's programs, for one story.
pub struct Original {
    python: PathBuf,
}

impl Original {
    /// The package, installed below `target/tools`. `None` when this machine cannot have it, which is said.
    ///
    /// # Errors
    /// When the environment that the story was given is wrong.
    pub fn find() -> Result<Option<Self>> {
        Ok(python()?.map(|python| Self { python }))
    }

    /// The folder of the Python files that stories use.
    #[must_use]
    pub fn files() -> PathBuf {
        Product::root().join("tests/python")
    }

    fn python(&self, product: &Product) -> Command {
        let mut command = Command::new(&self.python);
        command.current_dir(product.folder()).env("TZ", "UTC").env("PYTHONUTF8", "1");
        for variable in ["STATEOUS_URL", "PYTHONPATH", "PYTHONHOME"] {
            command.env_remove(variable);
        }
        command
    }

    /// A command of its executable.
    #[must_use]
    pub fn command(&self, product: &Product) -> Command {
        // By module rather than by script: the environment was moved after its scripts were written.
        let mut command = self.python(product);
        command.args(["-m", "stateous"]);
        command
    }

    /// Runs a command that must succeed: its stdout.
    ///
    /// # Errors
    /// When it fails.
    pub async fn done(&self, product: &Product, words: &[&str]) -> Result<String> {
        output(self.command(product).args(words)).await
    }

    /// Runs a script of `tests/python` that must succeed: its stdout.
    ///
    /// # Errors
    /// When it fails.
    pub async fn script(&self, product: &Product, name: &str, words: &[&str]) -> Result<String> {
        output(self.python(product).arg(Self::files().join(name)).args(words)).await
    }

    /// Compiles a workflow of `tests/python`: the graph file.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn compile(&self, product: &Product, workflow: &str) -> Result<PathBuf> {
        let flow = Self::files().join(workflow).join("flow.py").display().to_string();
        let graph = product.folder().join(format!("{workflow}.json"));
        self.done(product, &["compile", &flow, "--out", &graph.display().to_string()]).await?;
        Ok(graph)
    }

    /// Starts its control plane on a port of its own choice.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn serve(&self, product: &Product, graph: &Path) -> Result<OriginalControlPlane> {
        let mut command = self.command(product);
        command.arg("serve").arg(graph);
        command.args(["--db", "sqlite:///original.db", "--listen", "127.0.0.1:0"]);
        let mut process = Process::start("original-control-plane", product.folder(), &mut command)?;
        let line = process.line("serving on http://").await?;
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).context("no address")?;
        Ok(OriginalControlPlane { client: Client::new(url)?, _process: process })
    }

    /// Makes a supervisor in the folder `name` of the story, for the control plane at `url`, with the routines of
    /// `tests/python/<routines>`, and starts it. It calls itself `box`, whatever its folder. It has no routine for the states of
    /// the files `without`, and so leaves them to others.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn supervise(
        &self,
        product: &Product,
        name: &str,
        url: &str,
        routines: &str,
        without: &[&str],
    ) -> Result<Process> {
        let folder = product.folder().join(name);
        let path = folder.display().to_string();
        self.done(product, &["init", "supervisor", url, &path]).await?;
        for entry in std::fs::read_dir(Self::files().join(routines))? {
            let entry = entry?;
            let stub = folder.join(entry.file_name());
            ensure!(stub.exists(), "the original made no {}", stub.display());
            if without.iter().any(|file| entry.file_name() == *file) {
                std::fs::remove_file(stub)?;
            } else {
                std::fs::copy(entry.path(), stub)?;
            }
        }
        let settings = folder.join("stateous.yaml");
        let text = std::fs::read_to_string(&settings)?;
        std::fs::write(settings, format!("{text}name: box\n"))?;
        let mut process =
            Process::start(name, product.folder(), self.command(product).args(["supervise", &path]))?;
        process.line(" serves ").await?;
        Ok(process)
    }
}

/// A running control plane of the original.
pub struct OriginalControlPlane {
    client: Client,
    _process: Process,
}

impl OriginalControlPlane {
    /// A client of it.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }
}

/// Runs a command that must succeed: its stdout.
async fn output(command: &mut Command) -> Result<String> {
    let output = command.kill_on_drop(true).output().await?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{:?} ended with {}: {stderr}", command.as_std(), output.status);
    Ok(String::from_utf8(output.stdout)?)
}
