//! Why a routine could not be built.

use std::io;
use std::path::PathBuf;

use stateous_inspect::Problem;

/// Why a routine could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No language claims the folder.
    #[error(
        "{} holds no routine: expected Cargo.toml (Rust), package.json (JavaScript, TypeScript), go.mod (Go), routine.py \
         (Python) or routine.c (C, C++)",
        folder.display()
    )]
    NoProject {
        /// The folder.
        folder: PathBuf,
    },
    /// A tool is not on this machine.
    #[error("{tool} is not here: {how}")]
    Missing {
        /// The tool.
        tool: &'static str,
        /// How to get it.
        how: String,
    },
    /// A tool could not be started.
    #[error("{tool} does not start")]
    Start {
        /// The tool.
        tool: String,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The sources do not build; the tool has said why on the terminal.
    #[error("{} does not build; see above", folder.display())]
    Failed {
        /// The routine's folder.
        folder: PathBuf,
    },
    /// What was built is no routine.
    #[error("{} does not build to a routine: {problem}", folder.display())]
    NoRoutine {
        /// The routine's folder.
        folder: PathBuf,
        /// What is wrong with it.
        problem: Problem,
    },
    /// cargo built nothing that could be a routine.
    #[error("{} has no crate with crate-type = [\"cdylib\"]", manifest.display())]
    NoCdylib {
        /// The manifest.
        manifest: PathBuf,
    },
    /// A file could not be read or written.
    #[error("{} cannot be used", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}

impl BuildError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
