//! A Python with the original Stateous in it: finds an interpreter that is new enough, and keeps one virtual environment
//! below the repository's target folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail, ensure};

use crate::product::{Product, skipped};

/// The release of the original that we stand in for.
const PACKAGE: &str = "stateous==0.2.2";
/// Where its environment is kept, below `target/tools`.
const HOME: &str = "python-stateous-0.2.2";

/// The interpreter of the environment, made at the first call. `None` when this machine cannot have one, which is said:
/// a story then ends, even when nothing may be skipped, since a fresh Debian 12 brings Python 3.11 only.
///
/// # Errors
/// When `STATEOUS_TEST_PYTHON` names something else than a Python that will do, or the target folder cannot be written.
pub(crate) fn python() -> Result<Option<PathBuf>> {
    static MADE: OnceLock<Result<Option<PathBuf>, String>> = OnceLock::new();
    MADE.get_or_init(|| make().map_err(|e| format!("{e:#}"))).clone().map_err(anyhow::Error::msg)
}

fn make() -> Result<Option<PathBuf>> {
    let tools = Product::root().join("target/tools");
    let home = tools.join(HOME);
    if works(&home) {
        return Ok(Some(interpreter(&home)));
    }
    let Some(base) = base()? else {
        skipped(
            "the original's clients need Python 3.12 or newer with its venv module, and there is none (Debian 12 brings \
             3.11); STATEOUS_TEST_PYTHON may name one",
        );
        return Ok(None);
    };
    // Made beside its place and moved there once it is whole: what an interrupted run leaves is never taken for it.
    std::fs::create_dir_all(&tools)?;
    let beside = tempfile::Builder::new().prefix("python-").tempdir_in(&tools)?;
    let made = beside.path().join(HOME);
    if let Err(why) = install(&base, &made) {
        skipped(&format!("{PACKAGE} cannot be installed: {why:#}"));
        return Ok(None);
    }
    if home.exists() && !works(&home) {
        // Its interpreter is gone, or somebody put something else there.
        std::fs::remove_dir_all(&home).with_context(|| format!("cannot remove {}", home.display()))?;
    }
    if let Err(e) = std::fs::rename(&made, &home) {
        // Another run was faster: what it made is as good.
        ensure!(works(&home), "cannot move {} to {}: {e}", made.display(), home.display());
    }
    Ok(Some(interpreter(&home)))
}

fn interpreter(home: &Path) -> PathBuf {
    home.join("bin/python")
}

/// Whether the environment is there and its interpreter still is, too.
fn works(home: &Path) -> bool {
    succeeds(Command::new(interpreter(home)).args(["-c", "import stateous"]))
}

/// A Python that is new enough and can make environments.
fn base() -> Result<Option<PathBuf>> {
    let will_do = |python: &Path| {
        let check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))";
        succeeds(Command::new(python).args(["-c", check]))
    };
    if let Some(given) = std::env::var_os("STATEOUS_TEST_PYTHON").map(PathBuf::from) {
        if !will_do(&given) {
            bail!(
                "STATEOUS_TEST_PYTHON: {} is no Python 3.12 or newer with its venv module",
                given.display()
            );
        }
        return Ok(Some(given));
    }
    let on_path = ["python3.14", "python3.13", "python3.12", "python3"].map(PathBuf::from);
    Ok(on_path.into_iter().chain(of_pyenv()).find(|python| will_do(python)))
}

/// What pyenv keeps; of those that will do, the newest comes first.
fn of_pyenv() -> Vec<PathBuf> {
    let root = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv")));
    let versions = root.and_then(|root| std::fs::read_dir(root.join("versions")).ok());
    let mut found: Vec<PathBuf> =
        versions.into_iter().flatten().flatten().map(|entry| entry.path().join("bin/python")).collect();
    found.sort_unstable();
    found.reverse();
    found
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Makes an environment with the package in it.
fn install(base: &Path, home: &Path) -> Result<()> {
    run(Command::new(base).args(["-m", "venv"]).arg(home))?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--retries",
        "1",
        PACKAGE,
    ];
    run(Command::new(interpreter(home)).args(pip))
}

/// Runs a command to its end; what it said is the error.
fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}: {}", output.status, said.trim());
    Ok(())
}
