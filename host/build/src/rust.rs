//! Rust, with cargo, for wasm32-unknown-unknown: finds a compiler that has the target, and reads what cargo says it built.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{CrateType, Message};
use stateous_inspect::componentize;

use crate::error::BuildError;
use crate::project::{Built, Options};
use crate::tools::above;

/// What guests are built for: no WASI import at all, and the same run every time.
pub const TARGET: &str = "wasm32-unknown-unknown";
/// Where `cargo xtask guests` unpacks a compiler when rustup has none, below `target/tools`.
const UNPACKED: &str = "rust-wasm/rustc";

/// A core module that cargo built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// The crate's name.
    pub package: String,
    /// The crate's folder, which for a routine is named after its state.
    pub folder: PathBuf,
    /// The module.
    pub file: PathBuf,
}

/// Builds the routines of a folder with a manifest.
pub(crate) fn build(folder: &Path, options: &Options) -> Result<Vec<Built>, BuildError> {
    let rustc = match &options.rustc {
        Some(rustc) => Some(rustc.clone()),
        None => compiler(folder)?,
    };
    let manifest = folder.join("Cargo.toml");
    let target_dir = options.target_dir.clone().unwrap_or_else(|| folder.join("target"));
    let modules = modules(&manifest, &target_dir, rustc.as_deref())?;
    if modules.is_empty() {
        return Err(BuildError::NoCdylib { manifest });
    }
    let component = |module: &Module| {
        let bytes = std::fs::read(&module.file).map_err(BuildError::io(&module.file))?;
        let component = componentize(&bytes)
            .map_err(|problem| BuildError::NoRoutine { folder: module.folder.clone(), problem })?;
        let name = module.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Built { name, component, kept: false })
    };
    modules.iter().map(component).collect()
}

/// Builds every module of a manifest in the release profile. Mistakes in the source go to the terminal as cargo prints
/// them.
///
/// # Errors
/// When cargo is not there, or the sources do not build.
pub fn modules(manifest: &Path, target_dir: &Path, rustc: Option<&Path>) -> Result<Vec<Module>, BuildError> {
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder).args(["build", "--release", "--quiet", "--target", TARGET]);
    command.args(["--message-format", "json-render-diagnostics", "--manifest-path"]).arg(manifest);
    command.arg("--target-dir").arg(target_dir);
    if let Some(rustc) = rustc {
        command.env("RUSTC", rustc).env_remove("RUSTC_WRAPPER");
    }
    let missing = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => {
            BuildError::Missing { tool: "cargo", how: "install Rust with rustup".to_owned() }
        }
        _ => BuildError::Start { tool: "cargo".to_owned(), source },
    };
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(missing)?;
    if !output.status.success() {
        return Err(BuildError::Failed { folder: folder.to_owned() });
    }
    let messages = Message::parse_stream(BufReader::new(&*output.stdout));
    Ok(messages.filter_map(|message| module(message.ok()?)).collect())
}

/// A module, if the message announces a cdylib's .wasm.
fn module(message: Message) -> Option<Module> {
    let Message::CompilerArtifact(artifact) = message else { return None };
    if !artifact.target.crate_types.contains(&CrateType::CDyLib) {
        return None;
    }
    let file = artifact.filenames.into_iter().find(|file| file.extension() == Some("wasm"))?;
    let folder = artifact.manifest_path.parent()?.to_owned();
    let package = package_name(&artifact.package_id.repr)?.to_owned();
    Some(Module { package, folder: folder.into(), file: file.into() })
}

/// The name in `path+file:///folder/name#0.1.0` or `path+file:///folder#name@0.1.0`.
fn package_name(id: &str) -> Option<&str> {
    let (url, fragment) = id.split_once('#')?;
    match fragment.split_once('@') {
        Some((name, _)) => Some(name),
        None => url.rsplit('/').next(),
    }
}

/// The compiler to use instead of cargo's own: `None` when that one has the target, or can get it from rustup.
fn compiler(folder: &Path) -> Result<Option<PathBuf>, BuildError> {
    if has_target(folder) {
        return Ok(None);
    }
    if let Some(rustc) = above(folder, Path::new(UNPACKED)) {
        return Ok(Some(rustc));
    }
    let asked = Command::new("rustup").current_dir(folder).args(["target", "add", TARGET]).status();
    if asked.is_ok_and(|status| status.success()) && has_target(folder) {
        return Ok(None);
    }
    let how = format!("`rustup target add {TARGET}`, or in a checkout of Stateous `cargo xtask guests`");
    Err(BuildError::Missing { tool: "the standard library for WebAssembly", how })
}

/// Whether the compiler that cargo takes in this folder has the target's standard library.
#[must_use]
pub fn has_target(folder: &Path) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
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
    fn a_package_id_holds_the_name_in_two_places() {
        assert_eq!(package_name("path+file:///a/spin#0.1.0"), Some("spin"));
        assert_eq!(package_name("path+file:///a/draft#orders-draft@0.1.0"), Some("orders-draft"));
        assert_eq!(package_name("spin"), None);
    }

    #[test]
    fn a_cdylib_artifact_is_a_module() {
        let message = r#"{"reason":"compiler-artifact","package_id":"path+file:///e/draft#orders-draft@0.1.0",
            "manifest_path":"/e/draft/Cargo.toml","target":{"kind":["cdylib"],"crate_types":["cdylib"],
            "name":"orders_draft","src_path":"/e/draft/src/lib.rs"},"profile":{"opt_level":"s","debuginfo":0,
            "debug_assertions":false,"overflow_checks":false,"test":false},"features":[],
            "filenames":["/t/orders_draft.wasm"],"executable":null,"fresh":false}"#;
        let read = |message: &str| {
            let line = message.replace('\n', " ");
            Message::parse_stream(line.as_bytes()).find_map(|message| module(message.ok()?))
        };
        let expected = Module {
            package: "orders-draft".to_owned(),
            folder: "/e/draft".into(),
            file: "/t/orders_draft.wasm".into(),
        };
        assert_eq!(read(message), Some(expected));
        for other in [
            "{}",
            r#"{"reason":"build-finished","success":true}"#,
            &message.replace("[\"cdylib\"]", "[\"lib\"]"),
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
