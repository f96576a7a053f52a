//! Python, with componentize-py, which freezes CPython with the routine imported.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::BuildError;
use crate::project::Language;
use crate::sdk::Sdk;
use crate::source::SnapshotBuild;
use crate::tools::{PYTHON, asked};

/// The SDK's module with the component's exports; it imports the author's module `routine`.
const ENTRY: &str = "stateous_routine.component";
/// What a tool prints after its error, for its own authors.
const BACKTRACE: &str = "\nStack backtrace:";

/// One build of one folder.
pub(crate) struct Build {
    folder: PathBuf,
    sdk: Sdk,
    /// Where the packages that the routine needs are installed.
    packages: Option<PathBuf>,
    tool: PathBuf,
    version: String,
}

impl Build {
    pub(crate) fn of(folder: &Path) -> Result<Self, BuildError> {
        let packages = site_packages(&folder.join(".venv"));
        let sdk = Sdk::of(Language::Python, folder)?;
        let tool = componentize_py(folder)?;
        let version = command(&tool).arg("--version").output().ok();
        let version =
            version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        Ok(Self { folder: folder.to_owned(), sdk, packages, tool, version })
    }
}

impl SnapshotBuild for Build {
    fn sdk(&self) -> &Path {
        self.sdk.path()
    }

    /// Its version, and the packages of the project's environment by name and version.
    fn tools(&self) -> String {
        let entries = self.packages.as_ref().and_then(|packages| std::fs::read_dir(packages).ok());
        let mut names: Vec<String> = entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".dist-info"))
            .collect();
        names.sort();
        format!("{}\n{}", self.version, names.join("\n"))
    }

    fn run(self) -> Result<Vec<u8>, BuildError> {
        let work = tempfile::tempdir().map_err(BuildError::io(std::env::temp_dir()))?;
        let (wit, component) = (work.path().join("routine.wit"), work.path().join("component.wasm"));
        std::fs::write(&wit, stateous_inspect::WIT).map_err(BuildError::io(&wit))?;
        let mut command = command(&self.tool);
        command.arg("-d").arg(&wit).args(["-w", "routine", "componentize"]);
        for path in [Some(&self.sdk.path().join("src")), Some(&self.folder), self.packages.as_ref()]
            .into_iter()
            .flatten()
        {
            command.arg("-p").arg(path);
        }
        command.arg(ENTRY).arg("-o").arg(&component);
        // Its own seed for hashes, so that sets are in the same order in every component of these sources.
        command.env("PYTHONHASHSEED", "0").env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null());
        let output = command
            .output()
            .map_err(|source| BuildError::Start { tool: self.tool.display().to_string(), source })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            tell(said.split(BACKTRACE).next().unwrap_or_default().trim());
            return Err(BuildError::Failed { folder: self.folder });
        }
        std::fs::read(&component).map_err(BuildError::io(&component))
    }
}

/// What is wrong with the sources, as compilers say it.
#[expect(clippy::print_stderr, reason = "the other tools write to the terminal themselves")]
fn tell(text: &str) {
    eprintln!("{text}");
}

fn componentize_py(folder: &Path) -> Result<PathBuf, BuildError> {
    if let Some(tool) = PYTHON.above(folder) {
        return Ok(tool);
    }
    let own = folder.join(".venv/bin/componentize-py");
    if own.is_file() {
        return Ok(own);
    }
    if asked("componentize-py", &["--version"]).is_some() {
        return Ok("componentize-py".into());
    }
    Err(BuildError::Missing { tool: "componentize-py", how: PYTHON.how() })
}

/// The tool. One that was unpacked below `target/tools` is a script that does not know where its package is.
fn command(tool: &Path) -> Command {
    let unpacked = tool.parent().and_then(Path::parent).filter(|home| home.join("componentize_py").is_dir());
    let Some(home) = unpacked else { return Command::new(tool) };
    let mut command = Command::new("python3");
    command.arg(tool).env("PYTHONPATH", home);
    command
}

/// `lib/python3.…/site-packages` of a virtual environment.
fn site_packages(venv: &Path) -> Option<PathBuf> {
    let versions = std::fs::read_dir(venv.join("lib")).ok()?;
    versions.flatten().map(|entry| entry.path().join("site-packages")).find(|packages| packages.is_dir())
}
