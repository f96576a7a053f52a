//! The SDKs besides Rust's. This program has them inside, so that a routine builds wherever its folder is; the one of the
//! checkout that the folder stands in goes before, so that a change of an SDK is seen at once.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::BuildError;
use crate::project::Language;

/// A file of an SDK: its path inside of it, and its text.
pub type SdkFile = (&'static str, &'static str);

macro_rules! files {
    ($sdk:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../guest-sdk/", $sdk, "/", $name)))),*]
    };
}

const JAVASCRIPT: &[SdkFile] = files!("js":
    "README.md" "build.mjs" "package.json" "src/context.js" "src/event.js" "src/failure.js" "src/globals.js"
    "src/index.d.ts" "src/index.js" "src/json.js" "src/source_map.js" "src/testing.d.ts" "src/testing.js" "src/wasm.js"
    "tools/package-lock.json" "tools/package.json");

const PYTHON: &[SdkFile] = files!("python":
    "README.md" "pyproject.toml" "src/stateous_routine/__init__.py" "src/stateous_routine/component.py"
    "src/stateous_routine/context.py" "src/stateous_routine/event.py" "src/stateous_routine/failure.py"
    "src/stateous_routine/host.py" "src/stateous_routine/py.typed" "src/stateous_routine/routine.py"
    "src/stateous_routine/shape.py" "src/stateous_routine/testing.py");

const C: &[SdkFile] = files!("c":
    "README.md" "bindings/routine.c" "bindings/routine.h" "include/stateous.h" "include/stateous_testing.h" "src/inner.h"
    "src/json.c" "src/stateous.c" "src/testing.c" "src/wasm.c");

const GO: &[SdkFile] = files!("go":
    "README.md" "context.go" "event.go" "failure.go" "go.mod" "internal/bindings/export_wit_world/run.go"
    "internal/bindings/stateous_routine_config/empty.s" "internal/bindings/stateous_routine_config/wit_bindings.go"
    "internal/bindings/stateous_routine_context/empty.s" "internal/bindings/stateous_routine_context/wit_bindings.go"
    "internal/bindings/stateous_routine_log/empty.s" "internal/bindings/stateous_routine_log/wit_bindings.go"
    "internal/bindings/stateous_routine_memory/empty.s" "internal/bindings/stateous_routine_memory/wit_bindings.go"
    "internal/bindings/stateous_routine_notes/empty.s" "internal/bindings/stateous_routine_notes/wit_bindings.go"
    "internal/bindings/stateous_routine_timers/empty.s" "internal/bindings/stateous_routine_timers/wit_bindings.go"
    "internal/bindings/stateous_routine_types/empty.s" "internal/bindings/stateous_routine_types/wit_bindings.go"
    "internal/bindings/wit_exports/wit_exports.go" "internal/bindings/wit_world/empty.s"
    "internal/bindings/wit_world/wit_bindings.go" "internal/host/host.go" "internal/wit/LICENSE" "internal/wit/README.md"
    "internal/wit/runtime/empty.s" "internal/wit/runtime/runtime.go" "internal/wit/types/option.go"
    "internal/wit/types/result.go" "internal/wit/types/unit.go" "json.go" "routine.go" "routinetest/mock.go"
    "routinetest/recorder.go" "wasm.go");

/// The files of a language's SDK, without its tests and its example. None for Rust, which has it as a crate.
#[must_use]
pub fn sdk_files(language: Language) -> &'static [SdkFile] {
    match language {
        Language::Rust => &[],
        Language::JavaScript => JAVASCRIPT,
        Language::Python => PYTHON,
        Language::C => C,
        Language::Go => GO,
    }
}

/// An SDK on the disk, for as long as a build takes.
pub(crate) struct Sdk {
    path: PathBuf,
    /// Where it was unpacked, if it was.
    _unpacked: Option<TempDir>,
}

impl Sdk {
    /// `guest-sdk/<language>` of a folder above the project, or else the one inside of this program.
    pub(crate) fn of(language: Language, folder: &Path) -> Result<Self, BuildError> {
        let name = match language {
            Language::Rust => "rust",
            Language::JavaScript => "js",
            Language::Python => "python",
            Language::C => "c",
            Language::Go => "go",
        };
        let above =
            folder.ancestors().map(|above| above.join("guest-sdk").join(name)).find(|sdk| sdk.is_dir());
        if let Some(path) = above {
            return Ok(Self { path, _unpacked: None });
        }
        let home = tempfile::tempdir().map_err(BuildError::io(std::env::temp_dir()))?;
        for (name, text) in sdk_files(language) {
            let path = home.path().join(name);
            let parent = path.parent().unwrap_or(home.path());
            fs::create_dir_all(parent).map_err(BuildError::io(parent))?;
            fs::write(&path, text).map_err(BuildError::io(&path))?;
        }
        Ok(Self { path: home.path().to_owned(), _unpacked: Some(home) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What is no part of an SDK: its own tests, its example, and what tools and git keep there.
    const OTHERS: [&str; 8] = [
        "example",
        "node_modules",
        "test",
        "tests",
        "tsconfig.json",
        ".gitignore",
        "__pycache__",
        "stateous_routine.egg-info",
    ];

    fn on_disk(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if OTHERS.contains(&name.as_str()) || name.ends_with("_test.go") {
                continue;
            }
            if path.is_dir() {
                on_disk(&path, root, found);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
            }
        }
    }

    #[test]
    fn every_file_of_an_sdk_is_inside() {
        for (language, name) in [
            (Language::JavaScript, "js"),
            (Language::Python, "python"),
            (Language::C, "c"),
            (Language::Go, "go"),
        ] {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk").join(name);
            let mut there = BTreeSet::new();
            on_disk(&root, &root, &mut there);
            let listed: BTreeSet<String> =
                sdk_files(language).iter().map(|(name, _)| (*name).to_owned()).collect();
            assert_eq!(listed, there, "{name}");
        }
    }

    #[test]
    fn a_folder_outside_of_a_checkout_gets_the_sdk_that_is_inside() {
        let home = tempfile::tempdir().unwrap();
        let sdk = Sdk::of(Language::C, home.path()).unwrap();
        assert!(sdk.path().join("include/stateous.h").is_file());
        let inside = Sdk::of(Language::C, Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(inside.path().ends_with("guest-sdk/c"));
    }
}
