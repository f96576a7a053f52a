//! Control planes and supervisors as a story needs them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use stateous_api::{Client, RoutineLimits, RoutinePush, StartRequest};
use stateous_private_postgres::Cluster;
use tempfile::TempDir;
use tokio::process::Command;

use crate::history::History;
use crate::process::{Process, eventually};

/// The executable under test and a folder of its own for one story.
pub struct Product {
    executable: PathBuf,
    folder: TempDir,
    database: String,
}

impl Product {
    /// Builds the executable if it is not up to date, and makes a folder.
    ///
    /// # Errors
    /// When the product does not build.
    pub fn new() -> Result<Self> {
        static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        let executable = BUILT
            .get_or_init(|| build().map_err(|e| format!("{e:#}")))
            .clone()
            .map_err(anyhow::Error::msg)?;
        Ok(Self { executable, folder: tempfile::tempdir()?, database: database() })
    }

    /// The same with a database of the story's own choice, as `--db` takes it.
    ///
    /// # Errors
    /// When the product does not build.
    pub fn on(database: &str) -> Result<Self> {
        Ok(Self { database: database.to_owned(), ..Self::new()? })
    }

    /// The story's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The root of the repository.
    #[must_use]
    pub fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
    }

    /// A built component of an example, such as `("orders", "draft")`. `None` when the guests are not built: the story
    /// then says so and ends, unless nothing may be skipped.
    #[must_use]
    pub fn routine(example: &str, state: &str) -> Option<PathBuf> {
        Self::built(Self::root().join("examples").join(example).join("build").join(format!("{state}.wasm")))
    }

    /// A built guest program of `tests/guests`.
    #[must_use]
    pub fn guest(name: &str) -> Option<PathBuf> {
        Self::built(Self::root().join("target/guests").join(format!("{name}.wasm")))
    }

    fn built(file: PathBuf) -> Option<PathBuf> {
        if file.exists() {
            return Some(file);
        }
        let missing = format!("{} is not built; `cargo xtask guests` builds it", file.display());
        assert!(!crate::everything_required(), "{missing}");
        skipped(&missing);
        None
    }

    /// A command of the executable.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(self.folder.path()).env_remove("STATEOUS_URL").env("TZ", "UTC");
        command
    }

    /// Runs a command to its end: exit code, stdout, stderr.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn run(&self, words: &[&str]) -> Result<(i32, String, String)> {
        let output = self.command().args(words).output().await?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok((output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr)))
    }

    /// Starts a control plane for the examples named, with leases of `lease`, on a port of its own choice.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn serve(&self, examples: &[&str], lease: &str) -> Result<ControlPlane> {
        let graphs =
            examples.iter().map(|e| Self::root().join("examples").join(e).join("workflow.toml")).collect();
        self.serve_files(graphs, lease).await
    }

    /// Starts a control plane for graph files or workflows of the story's own.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn serve_files(&self, graphs: Vec<PathBuf>, lease: &str) -> Result<ControlPlane> {
        let mut control_plane = ControlPlane::new("control-plane", graphs, lease)?;
        control_plane.start(self).await?;
        Ok(control_plane)
    }

    /// Starts a control plane that waits while another one serves the database of this story.
    ///
    /// # Errors
    /// When it does not come to waiting.
    pub async fn stand_by(&self, graphs: Vec<PathBuf>, lease: &str) -> Result<ControlPlane> {
        let mut control_plane = ControlPlane::new("standby", graphs, lease)?;
        control_plane.run(self, &["--standby"])?;
        control_plane.process().line("standing by: ").await?;
        Ok(control_plane)
    }

    /// Starts a supervisor in the folder `name` of the story, for the control plane at `url`.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn supervise(&self, name: &str, url: &str) -> Result<Supervisor> {
        self.supervise_with(name, url, "", &[]).await
    }

    /// The same, with more in its `stateous.toml` and variables in its environment.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn supervise_with(
        &self,
        name: &str,
        url: &str,
        more: &str,
        variables: &[(&str, &str)],
    ) -> Result<Supervisor> {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(
            folder.join("stateous.toml"),
            format!("url = \"{url}\"\nname = \"{name}\"\nslots = 4\n{more}"),
        )?;
        let mut command = self.command();
        command.arg("supervise").arg(&folder).envs(variables.iter().copied());
        let mut process = Process::start(name, self.folder.path(), &mut command)?;
        process.line(" serves ").await?;
        Ok(Supervisor { process })
    }
}

/// SQLite in the story's folder, or a database of a private Postgres when `STATEOUS_TEST_DATABASE=postgres` says so.
fn database() -> String {
    if std::env::var_os("STATEOUS_TEST_DATABASE").is_none_or(|database| database != "postgres") {
        return "sqlite:///control.db".to_owned();
    }
    Cluster::shared().expect("there is a Postgres, since it was asked for").database()
}

/// Says that a story was skipped, and why. Straight to stderr: the print macros are kept from whoever runs tests that pass.
pub(crate) fn skipped(why: &str) {
    // When nobody reads it, nobody misses it.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// The executable that `STATEOUS_TEST_EXECUTABLE` names, such as one that is to be released; else `cargo build` of it, into
/// the target folder that this test was built into.
fn build() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("STATEOUS_TEST_EXECUTABLE") {
        let given = std::path::absolute(given)?;
        ensure!(given.is_file(), "STATEOUS_TEST_EXECUTABLE: {} is not there", given.display());
        return Ok(given);
    }
    let test = std::env::current_exe()?;
    // target/<profile>/deps/<test>
    let profile = test.parent().and_then(Path::parent).context("the test is not in a target folder")?;
    let target = profile.parent().context("the test is not in a target folder")?;
    let status = std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        // With the features of the whole workspace, as the tests themselves: nothing is built twice.
        .args(["build", "--quiet", "--workspace", "--bin", "stateous", "--target-dir"])
        .arg(target)
        .current_dir(Product::root())
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "the product does not build");
    Ok(target.join("debug/stateous"))
}

/// A control plane that can be killed and started again on the same database and port.
pub struct ControlPlane {
    name: &'static str,
    graphs: Vec<PathBuf>,
    lease: String,
    listen: String,
    client: Client,
    process: Option<Process>,
}

impl ControlPlane {
    fn new(name: &'static str, graphs: Vec<PathBuf>, lease: &str) -> Result<Self> {
        let listen = "127.0.0.1:0".to_owned();
        let client = Client::new("http://127.0.0.1:1")?;
        Ok(Self { name, graphs, lease: lease.to_owned(), listen, client, process: None })
    }

    /// Starts it, on the port that it had before.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn start(&mut self, product: &Product) -> Result<()> {
        self.run(product, &[])?;
        self.serves().await
    }

    fn run(&mut self, product: &Product, options: &[&str]) -> Result<()> {
        let mut command = product.command();
        command.arg("serve").args(&self.graphs).args(options);
        command.args(["--db", &product.database, "--lease", &self.lease, "--listen", &self.listen]);
        self.process = Some(Process::start(self.name, product.folder(), &mut command)?);
        Ok(())
    }

    /// Waits until it serves; a standby until it took over.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn serves(&mut self) -> Result<()> {
        let line = self.process().line("serving on http://").await?;
        let url = line.split_whitespace().find(|w| w.starts_with("http://")).context("no address")?;
        url.trim_start_matches("http://").clone_into(&mut self.listen);
        self.client = Client::new(url)?;
        Ok(())
    }

    /// Kills it (SIGKILL).
    ///
    /// # Errors
    /// When it is not running.
    pub async fn kill(&mut self) -> Result<()> {
        self.process.take().context("it is not running")?.kill().await
    }

    /// The running process.
    ///
    /// # Panics
    /// When it was killed.
    pub fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("the control plane is running")
    }

    /// A client of it.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.listen)
    }

    /// Its host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.listen
    }

    /// Uploads a component for `workflow/state`.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn push(
        &self,
        workflow: &str,
        state: &str,
        component: &Path,
        limits: RoutineLimits,
    ) -> Result<()> {
        let push = RoutinePush { workflow: Some(workflow.into()), state: state.into(), name: None, limits };
        self.client.push_routine(&push, std::fs::read(component)?.into()).await?;
        Ok(())
    }

    /// Starts a token of a workflow.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn start_token(&self, id: &str, workflow: &str, context: &Value) -> Result<()> {
        let context = Some(serde_json::value::to_raw_value(context)?);
        let start = StartRequest { token: id.into(), context, workflow: Some(workflow.into()) };
        self.client.start_token(&start).await?;
        Ok(())
    }

    /// A token's history as it is now, every kind of entry.
    ///
    /// # Errors
    /// When the control plane does not answer.
    pub async fn history(&self, id: &str) -> Result<History> {
        History::of_token(&self.client, id, true).await
    }

    /// Waits until a token's history holds what is asked for, and gives it back.
    ///
    /// # Errors
    /// When it does not within 30 seconds.
    pub async fn until(&self, id: &str, holds: impl Fn(&History) -> bool) -> Result<History> {
        let mut last = None;
        let found = eventually(Duration::from_secs(30), async || {
            last = self.history(id).await.ok();
            last.as_ref().filter(|h| holds(h)).cloned()
        })
        .await;
        found.with_context(|| format!("the history of {id} did not come to hold it: {last:#?}"))
    }
}

/// A running supervisor.
pub struct Supervisor {
    /// Its process.
    pub process: Process,
}
