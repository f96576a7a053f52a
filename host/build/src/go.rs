//! Go, with the plain compiler, for `wasip1`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::BuildError;
use crate::tools::{GO, asked};

/// The oldest release that the SDK builds with: generic type aliases and `go:wasmexport`.
const OLDEST: u32 = 24;

/// The core module of a folder's sources.
pub(crate) fn build(folder: &Path) -> Result<Vec<u8>, BuildError> {
    let go = go(folder)?;
    let work = tempfile::tempdir().map_err(BuildError::io(std::env::temp_dir()))?;
    let module = work.path().join("module.wasm");
    let mut command = Command::new(&go);
    command
        .current_dir(folder)
        .args(["build", "-buildmode=c-shared"])
        // The same bytes wherever it is built. Names of functions stay for backtraces; the bindings link to the runtime's
        // own allocator by name, which is what -checklinkname=0 allows.
        .args(["-trimpath", "-buildvcs=false", "-ldflags=-checklinkname=0 -w -buildid="])
        .arg("-o")
        .arg(&module)
        .arg(".")
        .env("GOOS", "wasip1")
        .env("GOARCH", "wasm")
        // The compiler that was found, and not another that go.mod would have it download.
        .env("GOTOOLCHAIN", "local")
        .stdin(Stdio::null());
    let status =
        command.status().map_err(|source| BuildError::Start { tool: go.display().to_string(), source })?;
    if !status.success() {
        return Err(BuildError::Failed { folder: folder.to_owned() });
    }
    std::fs::read(&module).map_err(BuildError::io(&module))
}

fn go(folder: &Path) -> Result<PathBuf, BuildError> {
    if let Some(go) = GO.above(folder) {
        return Ok(go);
    }
    match asked("go", &["env", "GOVERSION"]) {
        Some(version) if minor(&version).is_some_and(|minor| minor >= OLDEST) => Ok("go".into()),
        Some(version) => Err(BuildError::Missing {
            tool: "Go 1.24 or newer",
            how: format!("the PATH has {version}. {}", GO.how()),
        }),
        None => Err(BuildError::Missing { tool: "Go", how: GO.how() }),
    }
}

/// 27 of `go1.27.3`.
fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("go1.")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_of_go_has_a_number() {
        assert_eq!(minor("go1.27.3"), Some(27));
        assert_eq!(minor("go1.24rc1"), Some(24));
        assert_eq!(minor("devel"), None);
    }
}
