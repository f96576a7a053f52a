//! Which Postgres this machine has, and as whom it runs.
//!
//! Postgres refuses to run as root. There, its programs run as `nobody`, whom nothing else belongs to.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{ClusterError, finish};

/// Where Debian and its kin install servers, one folder for each version.
const INSTALLED: &str = "/usr/lib/postgresql";
/// The version that we promise to run on.
const PROMISED: &str = "15";
/// Whom the programs run as when this process is root's.
const NOBODY: &str = "nobody";

/// The programs of one Postgres: `initdb`, `pg_ctl`, `psql` and the rest.
#[derive(Debug, Clone)]
pub struct Programs {
    bin: PathBuf,
    /// Libraries that came with unpacked packages.
    libraries: Option<PathBuf>,
    as_nobody: bool,
}

impl Programs {
    /// The Postgres that `STATEOUS_POSTGRES_BIN` names, or an installed one, or the one that `cargo xtask` unpacked.
    #[must_use]
    pub fn find() -> Option<Self> {
        let named = std::env::var_os("STATEOUS_POSTGRES_BIN").map(PathBuf::from);
        let unpacked = unpacked_root();
        let candidates = named.into_iter().chain(versions(Path::new(INSTALLED)));
        let bin =
            candidates.chain(versions(&unpacked.join("usr/lib/postgresql"))).find(|bin| is_whole(bin))?;
        let libraries = bin.starts_with(&unpacked).then(|| library_folder(&unpacked)).flatten();
        Some(Self { bin, libraries, as_nobody: rustix::process::geteuid().is_root() })
    }

    /// The folder of the programs.
    #[must_use]
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    /// A program, run as whoever may run it, wherever that user may be.
    pub(crate) fn command(&self, name: &str) -> Command {
        let program = self.bin.join(name);
        let mut command = if self.as_nobody {
            let mut command = Command::new("setpriv");
            command.args([format!("--reuid={NOBODY}"), format!("--regid={}", group())]);
            command.arg("--clear-groups").arg(program);
            command
        } else {
            Command::new(program)
        };
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        // A person's own settings for psql must not lead a test to another server.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C").current_dir("/");
        command
    }

    /// Gives a folder to whoever runs the programs, together with a copy of the programs where that user could not reach
    /// them: root's own folders are closed to everybody.
    pub(crate) fn hand_over(&mut self, folder: &Path) -> Result<(), ClusterError> {
        if !self.as_nobody {
            return Ok(());
        }
        let unpacked = unpacked_root();
        if self.bin.starts_with(&unpacked) && !everybody_reaches(&self.bin) {
            finish(Command::new("cp").arg("-a").arg(unpacked.join("usr")).arg(folder))?;
            let moved = |path: &Path| path.strip_prefix(&unpacked).ok().map(|inside| folder.join(inside));
            self.bin = moved(&self.bin).unwrap_or_default();
            self.libraries = self.libraries.as_deref().and_then(moved);
        }
        finish(Command::new("chown").arg(format!("{NOBODY}:{}", group())).arg(folder)).map(drop)
    }
}

/// Where `cargo xtask` unpacks Debian's packages: a folder that looks like `/`.
fn unpacked_root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap_or(root);
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
    target.join("tools/postgres")
}

/// The `bin` folders of the versions under a folder: the one that we promise first, then the newest.
fn versions(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<OsString> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    let newest = |name: &OsString| name.to_str().and_then(|name| name.parse::<u32>().ok());
    names.sort_by_key(|name| (name == PROMISED, newest(name)));
    names.into_iter().rev().map(|name| folder.join(name).join("bin")).collect()
}

/// Whether every user may go into a folder.
fn everybody_reaches(folder: &Path) -> bool {
    let is_open = |above: &Path| above.metadata().is_ok_and(|found| found.permissions().mode() & 0o001 != 0);
    folder.ancestors().all(is_open)
}

fn is_whole(bin: &Path) -> bool {
    ["initdb", "pg_ctl", "postgres", "psql"].iter().all(|name| bin.join(name).exists())
}

/// The folder of shared libraries of this machine's kind, such as `usr/lib/x86_64-linux-gnu`.
fn library_folder(unpacked: &Path) -> Option<PathBuf> {
    let kind = format!("{}-linux-gnu", std::env::consts::ARCH);
    Some(unpacked.join("usr/lib").join(kind)).filter(|folder| folder.is_dir())
}

/// The group of [`NOBODY`], which is called differently from system to system.
fn group() -> String {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = passwd.lines().find(|line| line.split(':').next() == Some(NOBODY));
    line.and_then(|line| line.split(':').nth(3)).unwrap_or("65534").to_owned()
}
