//! JavaScript and TypeScript, with the SDK's own script, which bundles with esbuild and freezes with componentize-qjs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::BuildError;
use crate::project::Language;
use crate::sdk::Sdk;
use crate::source::SnapshotBuild;
use crate::tools::{JS_TOOLS, NODE, above, asked};

/// The oldest Node that reads TypeScript by itself, as the tests of routines need.
const OLDEST: (u32, u32) = (22, 18);

/// One build of one folder.
pub(crate) struct Build {
    folder: PathBuf,
    sdk: Sdk,
    node: PathBuf,
    /// Where the tools are when the project has none of its own.
    tools: PathBuf,
    versions: String,
}

impl Build {
    pub(crate) fn of(folder: &Path) -> Result<Self, BuildError> {
        let sdk = Sdk::of(Language::JavaScript, folder)?;
        let node = node(folder)?;
        let tools = above(folder, Path::new(JS_TOOLS)).unwrap_or_else(|| folder.to_owned());
        // With its versions: a lock file is a source of the project, the tools' own is not.
        let lock = std::fs::read_to_string(tools.join("package-lock.json")).unwrap_or_default();
        let versions = format!("{}\n{lock}", asked(&node, &["--version"]).unwrap_or_default());
        Ok(Self { folder: folder.to_owned(), sdk, node, tools, versions })
    }
}

impl SnapshotBuild for Build {
    fn sdk(&self) -> &Path {
        self.sdk.path()
    }

    fn tools(&self) -> String {
        self.versions.clone()
    }

    fn run(self) -> Result<Vec<u8>, BuildError> {
        let work = tempfile::tempdir().map_err(BuildError::io(std::env::temp_dir()))?;
        let (wit, component) = (work.path().join("wit"), work.path().join("component.wasm"));
        std::fs::create_dir(&wit).map_err(BuildError::io(&wit))?;
        std::fs::write(wit.join("routine.wit"), stateous_inspect::WIT).map_err(BuildError::io(&wit))?;
        let status = Command::new(&self.node)
            .arg(self.sdk.path().join("build.mjs"))
            .arg("--project")
            .arg(&self.folder)
            .arg("--wit")
            .arg(&wit)
            .arg("--tools")
            .arg(&self.tools)
            .arg("--out")
            .arg(&component)
            .stdin(Stdio::null())
            .status()
            .map_err(|source| BuildError::Start { tool: self.node.display().to_string(), source })?;
        if !status.success() {
            return Err(BuildError::Failed { folder: self.folder });
        }
        std::fs::read(&component).map_err(BuildError::io(&component))
    }
}

fn node(folder: &Path) -> Result<PathBuf, BuildError> {
    if let Some(node) = NODE.above(folder) {
        return Ok(node);
    }
    let how = "install Node 22.18 or newer with your system's packages, or run `cargo xtask guests` in a checkout of \
               Stateous";
    match asked("node", &["--version"]) {
        Some(version) if is_new_enough(&version) => Ok("node".into()),
        Some(version) => Err(BuildError::Missing {
            tool: "Node 22.18 or newer",
            how: format!("the PATH has {version}; {how}"),
        }),
        None => Err(BuildError::Missing { tool: "Node", how: how.to_owned() }),
    }
}

/// Whether `v24.19.0` will do.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map_while(|part| part.parse::<u32>().ok());
    matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) >= OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_of_node_has_two_numbers() {
        for (version, will_do) in
            [("v24.19.0", true), ("v22.18.0", true), ("v22.17.1", false), ("v20.20.2", false), ("", false)]
        {
            assert_eq!(is_new_enough(version), will_do, "{version}");
        }
    }
}
