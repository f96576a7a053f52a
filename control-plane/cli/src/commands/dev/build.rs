//! Builds the routines of a folder with cargo and makes components of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::text::say;

const TARGET: &str = "wasm32-unknown-unknown";
/// Where `cargo xtask guests` unpacks a compiler when rustup has none, below the folder of a checkout.
const UNPACKED: &str = "target/tools/rust-wasm/rustc";

/// State and component of every routine of `folder`: built from `routines/`, or ready in `build/` when there is no source.
pub(in crate::commands) fn all(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let manifest = folder.join("routines/Cargo.toml");
    if !manifest.is_file() {
        return ready(&folder.join("build"));
    }
    let mut components = Vec::new();
    for (state, core) in cargo(&manifest, &folder.join(".stateous/build"))? {
        components.push((state, crate::commands::routine::read_component(&core)?));
    }
    // Cargo announces them as they become ready.
    components.sort();
    Ok(components)
}

/// Components that somebody else built: `build/<state>.wasm`.
fn ready(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut components = Vec::new();
    let Ok(files) = std::fs::read_dir(folder) else { return Ok(components) };
    for file in files {
        let file = file?.path();
        if file.extension().is_some_and(|ext| ext == "wasm")
            && let Some(state) = file.file_stem().and_then(|stem| stem.to_str())
        {
            components.push((state_of(state), crate::commands::routine::read_component(&file)?));
        }
    }
    components.sort();
    Ok(components)
}

/// Runs cargo and answers state and core module of each routine. Mistakes in the source go to the terminal as cargo
/// prints them.
fn cargo(manifest: &Path, target: &Path) -> Result<Vec<(String, PathBuf)>> {
    let folder = manifest.parent().context("a manifest's path has a folder")?;
    let target = std::path::absolute(target).context("there is no current folder")?;
    let mut command = Command::new("cargo");
    command
        .current_dir(folder)
        .args([
            "build",
            "--release",
            "--quiet",
            "--target",
            TARGET,
            "--message-format",
            "json-render-diagnostics",
        ])
        // Beside the routines, not among them: what cargo writes there is nothing that a person saved.
        .arg("--target-dir")
        .arg(target)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    if let Some(rustc) = unpacked_compiler(folder)? {
        command.env("RUSTC", rustc).env_remove("RUSTC_WRAPPER");
    }
    let output =
        command.output().context("cannot start cargo; install Rust with rustup to build routines")?;
    if !output.status.success() {
        bail!("the routines do not build");
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(built).collect())
}

/// Reads one of cargo's messages: state and file, if it announces a routine.
fn built(message: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_cdylib = message["target"]["kind"].as_array()?.iter().any(|kind| kind == "cdylib");
    if message["reason"] != "compiler-artifact" || !is_cdylib {
        return None;
    }
    let mut files = message["filenames"].as_array()?.iter().filter_map(Value::as_str).map(PathBuf::from);
    let core = files.find(|file| file.extension().is_some_and(|ext| ext == "wasm"))?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.file_name()?.to_str()?;
    Some((state_of(folder), core))
}

/// The compiler to use instead of cargo's own: `None` when that one has the target, or can get it from rustup.
fn unpacked_compiler(folder: &Path) -> Result<Option<PathBuf>> {
    if has_target(folder) {
        return Ok(None);
    }
    let unpacked =
        folder.canonicalize()?.ancestors().map(|above| above.join(UNPACKED)).find(|rustc| rustc.is_file());
    if unpacked.is_some() {
        return Ok(unpacked);
    }
    say(&format!("the compiler has no {TARGET}; asking rustup for it"));
    let asked = Command::new("rustup").current_dir(folder).args(["target", "add", TARGET]).status();
    if asked.is_ok_and(|status| status.success()) && has_target(folder) {
        return Ok(None);
    }
    bail!(
        "the compiler has no {TARGET}: `rustup target add {TARGET}`, or in a checkout of Stateous `cargo xtask guests`"
    )
}

/// The state that a routine's folder or component is named after: `draft`, or `checks.lint` for the state `lint` of the
/// workflow `checks` that a parallel state runs.
fn state_of(name: &str) -> String {
    name.replace('.', "/")
}

fn has_target(folder: &Path) -> bool {
    let mut command = Command::new("rustc");
    command.current_dir(folder).args(["--print", "target-libdir", "--target", TARGET]).stderr(Stdio::null());
    let Ok(output) = command.output() else { return false };
    let libraries = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    std::fs::read_dir(libraries).is_ok_and(|mut files| {
        files.any(|file| file.is_ok_and(|file| file.file_name().to_string_lossy().starts_with("libstd-")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_the_folder_of_the_crate() {
        let message = r#"{"reason":"compiler-artifact","manifest_path":"/e/routines/draft/Cargo.toml",
            "target":{"kind":["cdylib"]},"filenames":["/t/orders_draft.wasm"]}"#;
        assert_eq!(built(message), Some(("draft".to_owned(), PathBuf::from("/t/orders_draft.wasm"))));
        assert_eq!(built("{}"), None);
        assert_eq!(state_of("checks.lint"), "checks/lint");
    }
}
