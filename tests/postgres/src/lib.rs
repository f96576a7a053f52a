//! A private Postgres cluster: in a temporary folder, on a free port of the loopback, with Postgres's default settings.
//!
//! It is the caller's alone, so that a test may kill it, freeze it and fill it. Nothing of it outlives the process that
//! made it, however that process ends. Which Postgres there is on this machine is [`Programs`]' business; installing one
//! is left to `cargo xtask test`.

mod guard;
mod programs;
mod signals;

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use guard::Guard;
pub use programs::Programs;
pub use signals::Frozen;

/// How often another port is tried when somebody took the free one first.
const PORTS_MAX: u32 = 5;

/// Why a private cluster is not there.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A file or program cannot be used.
    #[error("could not {doing}")]
    Io {
        /// Completes "could not …".
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program of Postgres failed.
    #[error("`{command}` ended with {status}: {said}")]
    Program {
        /// What was run.
        command: String,
        /// How it ended.
        status: String,
        /// What it, or the server, said.
        said: String,
    },
}

/// A running cluster; stopped and removed when it is dropped, or when this process ends.
#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    folder: PathBuf,
    port: u16,
    databases: AtomicU32,
    server: Mutex<Option<Child>>,
    guard: Guard,
}

impl Cluster {
    /// The cluster that the tests of this process share, each with databases of its own. `None` where there is no
    /// Postgres: the test says that it is skipped, unless `STATEOUS_TEST_REQUIRE` forbids that.
    ///
    /// # Panics
    /// When Postgres is there and does not start, or is not there and is required.
    #[must_use]
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        SHARED.get_or_init(Self::own).as_ref()
    }

    /// A cluster of one's own, to be killed and frozen. `None` as with [`Cluster::shared`].
    ///
    /// # Panics
    /// As with [`Cluster::shared`].
    #[must_use]
    pub fn own() -> Option<Self> {
        let Some(programs) = Programs::find() else {
            assert!(
                std::env::var_os("STATEOUS_TEST_REQUIRE").is_none(),
                "there is no Postgres for the tests; `cargo xtask test` brings one"
            );
            // Straight to stderr: the print macros are kept from whoever runs tests that pass.
            let _ = io::Write::write_all(
                &mut io::stderr(),
                b"skipped: there is no Postgres on this machine; `cargo xtask test` brings one\n",
            );
            return None;
        };
        Some(
            Self::start(programs)
                .unwrap_or_else(|error| panic!("a private Postgres does not start: {error}")),
        )
    }

    /// Makes a cluster and starts it.
    ///
    /// # Errors
    /// See [`ClusterError`].
    pub fn start(mut programs: Programs) -> Result<Self, ClusterError> {
        let folder = tempfile::Builder::new().prefix("stateous-postgres-").tempdir();
        let folder = folder.map_err(doing("make a folder for Postgres"))?;
        programs.hand_over(folder.path())?;
        // From here on the guard removes it.
        let folder = folder.keep();
        let guard = Guard::watch(&folder)?;
        let data = folder.join("data");
        let superuser = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"];
        finish(programs.command("initdb").args(superuser).arg("-D").arg(&data))?;
        let (databases, server) = (AtomicU32::new(0), Mutex::new(None));
        let mut cluster = Self { programs, folder, port: 0, databases, server, guard };
        for left in (0..PORTS_MAX).rev() {
            cluster.port = free_port()?;
            match cluster.start_again() {
                Err(_) if left > 0 => {}
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        Ok(cluster)
    }

    /// Makes an empty database. The answer is its URL.
    ///
    /// # Panics
    /// When Postgres refuses.
    #[must_use]
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// The URL of a database.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// What an act of another program answers: runs SQL in a database through `psql`, each row in a line.
    ///
    /// # Panics
    /// When it fails.
    #[must_use]
    pub fn query(&self, database: &str, sql: &str) -> String {
        let url = self.url(database);
        let mut psql = self.programs.command("psql");
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"]);
        let rows = finish(psql.args(["--command", sql, &url])).unwrap_or_else(|error| panic!("{error}"));
        rows.trim_end().to_owned()
    }

    /// Runs SQL that answers nothing.
    ///
    /// # Panics
    /// When it fails.
    pub fn sql(&self, database: &str, sql: &str) {
        let _ = self.query(database, sql);
    }

    /// A program of this Postgres, such as `pg_dump`, run as whoever runs the server.
    #[must_use]
    pub fn program(&self, name: &str) -> Command {
        self.programs.command(name)
    }

    /// SIGKILL to the server, as a power cut would end it.
    ///
    /// # Panics
    /// When it does not run.
    pub fn kill(&self) {
        let mut server = self.server().take().expect("the server runs");
        let children = signals::children(server.id());
        // Neither fails for a child that nobody waited for yet.
        let _ = server.kill().and_then(|()| server.wait());
        // They notice by themselves; until then a new server refuses to start.
        children.into_iter().for_each(signals::gone);
    }

    /// Starts the server again after [`Cluster::kill`], and waits until it takes connections.
    ///
    /// # Errors
    /// When the server does not come up; the error holds what it logged.
    #[expect(
        clippy::disallowed_methods,
        reason = "the server says in a file that it is ready: it is looked at"
    )]
    pub fn start_again(&self) -> Result<(), ClusterError> {
        let log = self.folder.join("log");
        let out = fs::File::create(&log).map_err(doing("make a log for Postgres"))?;
        let mut postgres = self.programs.command("postgres");
        postgres.arg("-D").arg(self.folder.join("data")).arg("-k").arg(&self.folder);
        postgres.args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        postgres.stdin(Stdio::null()).stdout(Stdio::null()).stderr(out);
        let mut server = postgres.spawn().map_err(doing("start Postgres"))?;
        let status = self.folder.join("data/postmaster.pid");
        // Its first line says whose it is, its last how far the server is.
        let own = server.id().to_string();
        let is_ready = |text: String| text.lines().next() == Some(&own) && text.trim_end().ends_with("ready");
        while !fs::read_to_string(&status).is_ok_and(is_ready) {
            if let Some(ended) = server.try_wait().map_err(doing("wait for Postgres"))? {
                let said = fs::read_to_string(&log).unwrap_or_default().trim().to_owned();
                let command = "postgres".to_owned();
                return Err(ClusterError::Program { command, status: ended.to_string(), said });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        *self.server() = Some(server);
        Ok(())
    }

    /// SIGSTOP to the server and all of its children, until the answer is dropped.
    ///
    /// # Panics
    /// When it does not run.
    #[must_use]
    pub fn freeze(&self) -> Frozen {
        Frozen::all_of(self.server().as_ref().expect("the server runs").id())
    }

    fn server(&self) -> MutexGuard<'_, Option<Child>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.guard.clean_up();
        if let Some(server) = self.server().as_mut() {
            // The guard ended it; it is only asked after.
            let _ = server.wait();
        }
    }
}

/// A port that nobody listens on at this moment.
fn free_port() -> Result<u16, ClusterError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(doing("find a free port"))?;
    Ok(listener.local_addr().map_err(doing("find a free port"))?.port())
}

/// Runs a program to its end and answers what it printed.
fn finish(command: &mut Command) -> Result<String, ClusterError> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(doing(&format!("run {shown}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let args = command.get_args().map(std::ffi::OsStr::to_string_lossy).collect::<Vec<_>>().join(" ");
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(ClusterError::Program { command: format!("{shown} {args}"), status: output.status.to_string(), said })
}

/// Says what we were doing when the system refused.
fn doing(doing: &str) -> impl FnOnce(io::Error) -> ClusterError {
    let doing = doing.to_owned();
    move |source| ClusterError::Io { doing, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_killed_frozen_and_removed() {
        let Some(cluster) = Cluster::own() else { return };
        let url = cluster.database();
        let name = url.rsplit('/').next().unwrap();
        cluster.sql(name, "CREATE TABLE kept (x int); INSERT INTO kept VALUES (7)");
        cluster.kill();
        cluster.start_again().unwrap();
        assert_eq!(cluster.query(name, "SELECT x FROM kept"), "7");
        drop(cluster.freeze());
        assert_eq!(cluster.query(name, "SHOW server_version_num").len(), 6);
        let folder = cluster.folder.clone();
        let pid = cluster.server().as_ref().unwrap().id();
        drop(cluster);
        assert!(!folder.exists());
        assert!(!signals::runs(pid));
    }
}
