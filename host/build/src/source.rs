//! Which sources a component is of, as one digest: for languages whose tools take a snapshot of a running engine, with
//! the machine's clock and randomness in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::BuildError;

/// The custom section that says which sources a component is of: `sha256:` and 64 hexadecimal digits.
pub(crate) const SECTION: &str = "stateous:source";

/// Folders that hold no sources of a routine.
const NOT_SOURCES: [&str; 5] = ["node_modules", "__pycache__", "target", "build", "venv"];

/// A build by a tool whose output is never twice the same.
pub(crate) trait SnapshotBuild {
    /// The SDK's folder.
    fn sdk(&self) -> &Path;
    /// The tools with their versions, and whatever else makes a difference.
    fn tools(&self) -> String;
    /// Makes the component.
    fn run(self) -> Result<Vec<u8>, BuildError>;
}

/// The digest of everything that a build reads: the project's files, the SDK's, the contract, and the tools by version.
pub(crate) fn digest(project: &Path, build: &impl SnapshotBuild) -> Result<String, BuildError> {
    let mut hasher = Sha256::new();
    let mut part = |name: &str, bytes: &[u8]| {
        for text in [name.as_bytes(), bytes] {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        }
    };
    part("builder", env!("CARGO_PKG_VERSION").as_bytes());
    part("tools", build.tools().as_bytes());
    part("wit", stateous_inspect::WIT.as_bytes());
    for (root, kind) in [(project, "project"), (build.sdk(), "sdk")] {
        for (name, path) in files(root)? {
            let bytes = std::fs::read(&path).map_err(BuildError::io(&path))?;
            part(&format!("{kind}/{name}"), &bytes);
        }
    }
    Ok(format!("sha256:{}", hex::encode(hasher.finalize())))
}

/// Every source below a folder: its name from there and its path, sorted by name.
fn files(root: &Path) -> Result<BTreeMap<String, PathBuf>, BuildError> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(BuildError::io(&folder))? {
            let path = entry.map_err(BuildError::io(&folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('.') || name.ends_with(".wasm") || NOT_SOURCES.contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                let from_root = path.strip_prefix(root).unwrap_or(&path);
                found.insert(from_root.to_string_lossy().into_owned(), path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake(PathBuf, &'static str);

    impl SnapshotBuild for Fake {
        fn sdk(&self) -> &Path {
            &self.0
        }

        fn tools(&self) -> String {
            self.1.to_owned()
        }

        fn run(self) -> Result<Vec<u8>, BuildError> {
            unreachable!("a digest runs nothing")
        }
    }

    #[test]
    fn whatever_a_build_reads_changes_the_digest_and_nothing_else_does() {
        let home = tempfile::tempdir().unwrap();
        let (project, sdk) = (home.path().join("project"), home.path().join("sdk"));
        let write = |folder: &Path, name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(&project, "routine.py", "one");
        write(&sdk, "src/a.py", "two");
        let now = |tools| digest(&project, &Fake(sdk.clone(), tools)).unwrap();
        let first = now("tool 1");
        assert_eq!(now("tool 1"), first);
        assert_ne!(now("tool 2"), first);

        for other in ["__pycache__/routine.pyc", "node_modules/a/index.js", "old.wasm", ".venv/a.py"] {
            write(&project, other, "x");
            assert_eq!(now("tool 1"), first, "{other}");
        }
        write(&sdk, "src/a.py", "three");
        let second = now("tool 1");
        assert_ne!(second, first);
        write(&project, "lib/more.py", "");
        assert_ne!(now("tool 1"), second);
    }
}
