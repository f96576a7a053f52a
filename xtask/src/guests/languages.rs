//! Guests of the other languages, and the tests of their SDKs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};
use stateous_build::{GO, Language, Options, Project, ZIG};

use super::{folders, tools, write};
use crate::shell::{run, say, step};

/// The SDKs besides Rust's.
const SDKS: [&str; 4] = ["js", "python", "c", "go"];

/// Builds the routines of examples that are not Rust, the SDKs' examples, and the guests of the tests.
pub(super) fn build(root: &Path, test_components: &Path) -> Result<()> {
    for (folder, component) in guests(root, test_components)? {
        let began = Instant::now();
        let project = Project::find(&folder)?;
        let shown = component.strip_prefix(root).unwrap_or(&component).display().to_string();
        let earlier = earlier(&component, &folder)?;
        let options = Options { earlier: Some(earlier.path().to_owned()), ..Options::default() };
        for built in project.build(&options)? {
            write(&component, &built.component)?;
            let how = if built.kept {
                "unchanged".to_owned()
            } else {
                format!("{:.1} s", began.elapsed().as_secs_f64())
            };
            say(&format!("  {shown} ({} KiB): {how}", built.component.len().div_ceil(1024)));
        }
    }
    Ok(())
}

/// Every folder with one such routine, and the component that it becomes.
fn guests(root: &Path, test_components: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut found = Vec::new();
    for example in folders(&root.join("examples"))? {
        for folder in folders(&example.join("routines"))? {
            if Project::find(&folder).is_ok_and(|project| project.language != Language::Rust) {
                let name = folder.file_name().unwrap_or_default();
                let component = example.join("build").join(name).with_extension("wasm");
                found.push((folder, component));
            }
        }
    }
    for language in SDKS {
        let mut named = |folder: PathBuf| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push((folder, test_components.join(format!("{language}-{name}.wasm"))));
        };
        named(root.join("guest-sdk").join(language).join("example"));
        folders(&root.join("tests/guests").join(language))?.into_iter().for_each(&mut named);
    }
    Ok(found)
}

/// The component that is there, under the name that the builder looks for.
fn earlier(component: &Path, folder: &Path) -> Result<tempfile::TempDir> {
    let kept = tempfile::tempdir().context("cannot make a folder")?;
    if component.is_file() {
        let name = folder.file_name().unwrap_or_default();
        std::fs::copy(component, kept.path().join(name).with_extension("wasm"))
            .with_context(|| format!("cannot read {}", component.display()))?;
    }
    Ok(kept)
}

/// Runs the native tests of the SDKs besides Rust's, of their examples, and of routines in these languages.
pub(crate) fn test(root: &Path) -> Result<()> {
    let sdk = |language: &str| root.join("guest-sdk").join(language);
    let routines = |language: Language| -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for (folder, _) in guests(root, Path::new(""))? {
            if Project::find(&folder)?.language == language && !folder.starts_with(root.join("tests")) {
                found.push(folder);
            }
        }
        Ok(found)
    };

    step("Tests of the SDK for JavaScript and TypeScript");
    let js = sdk("js");
    let node = tools::node(root);
    run(Command::new(&node).args(["--test", "test/*.test.js"]).current_dir(&js))?;
    for folder in routines(Language::JavaScript)? {
        // Only a link to the SDK: nothing is downloaded.
        let install = [
            "install",
            "--offline",
            "--no-package-lock",
            "--ignore-scripts",
            "--no-audit",
            "--loglevel",
            "error",
        ];
        run(tools::npm(root).args(install).current_dir(&folder))?;
        run(Command::new(&node).arg("--test").current_dir(&folder))?;
    }
    let tsc =
        root.join("target/tools").join(stateous_build::JS_TOOLS).join("node_modules/typescript/bin/tsc");
    run(Command::new(&node).arg(tsc).args(["--project", "."]).current_dir(&js))?;

    step("Tests of the SDK for Python");
    let python = |folder: &Path, tests: &str| {
        let mut command = Command::new("python3");
        command.args(["-m", "unittest", "discover", "--start-directory", tests]).current_dir(folder);
        command.env("PYTHONPATH", sdk("python").join("src")).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    run(&mut python(&sdk("python"), "tests"))?;
    for folder in routines(Language::Python)? {
        run(&mut python(&folder, "."))?;
    }

    step("Tests of the SDK for C");
    let work = tempfile::tempdir().context("cannot make a folder")?;
    let c = sdk("c");
    let native = |folder: &Path, sources: &[&str], name: &str| -> Result<()> {
        let program = work.path().join(name);
        let mut command = Command::new(tools::program(root, &ZIG));
        command.args(["cc", "-g", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]).arg(c.join("include"));
        command
            .args(sources)
            .args(["stateous", "json", "testing"].map(|file| c.join("src").join(file).with_extension("c")));
        run(command.arg("-o").arg(&program).current_dir(folder))?;
        run(&mut Command::new(program))
    };
    native(&c, &["tests/test.c"], "sdk")?;
    for (at, folder) in routines(Language::C)?.iter().enumerate() {
        native(folder, &["routine.c", "test.c"], &format!("routine-{at}"))?;
    }

    step("Tests of the SDK for Go");
    let go = |folder: &Path| {
        let mut command = Command::new(tools::program(root, &GO));
        command
            .current_dir(folder)
            .env("GOTOOLCHAIN", "local")
            .env("GOFLAGS", "-mod=mod")
            .env("GOPROXY", "off");
        command
    };
    run(go(&sdk("go")).args(["vet", "./..."]))?;
    run(go(&sdk("go")).args(["test", "./..."]))?;
    for folder in routines(Language::Go)? {
        run(go(&folder).args(["test", "./..."]))?;
    }
    Ok(())
}
