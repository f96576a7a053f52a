//! The Rust SDK, carried in this executable: whoever has only the executable can write routines, and the SDK is the one
//! that this version was tested with.

use anyhow::Context as _;
use toml::{Table, Value};

/// Name and text of each embedded file.
macro_rules! embedded {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../guest-sdk/", $folder, "/", $name)))),+]
    };
}

const SDK: &[(&str, &str)] = embedded!("rust":
    "src/bindings.rs", "src/context.rs", "src/delay.rs", "src/error.rs", "src/event.rs", "src/failure.rs", "src/host.rs",
    "src/http/mod.rs", "src/http/wasi.rs", "src/lib.rs", "src/memory.rs", "src/outcome.rs", "src/task.rs", "src/testing/ended.rs", "src/testing/mod.rs",
    "src/testing/recorder.rs", "src/wasm.rs",
);
const MACROS: &[(&str, &str)] =
    embedded!("rust-macros": "src/event.rs", "src/lib.rs", "src/names.rs", "src/routine.rs");
const SDK_MANIFEST: &str = include_str!("../../../../guest-sdk/rust/Cargo.toml");
const MACROS_MANIFEST: &str = include_str!("../../../../guest-sdk/rust-macros/Cargo.toml");
const WORKSPACE: &str = include_str!("../../../../Cargo.toml");
const LOCK: &str = include_str!("../../../../examples/orders/routines/Cargo.lock");

/// The SDK's files: `rust/…` and, beside it, `rust-macros/…`.
pub(super) fn files() -> anyhow::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for (folder, manifest, sources) in [("rust", SDK_MANIFEST, SDK), ("rust-macros", MACROS_MANIFEST, MACROS)]
    {
        files.push((format!("{folder}/Cargo.toml"), standalone(manifest)?));
        files.extend(sources.iter().map(|(name, text)| (format!("{folder}/{name}"), (*text).to_owned())));
    }
    Ok(files)
}

/// A lock file with the versions of all that the SDK depends on which this version was tested with. Cargo adds the
/// routines by itself.
pub(super) fn lock() -> String {
    let is_example = |package: &str| package.contains("name = \"orders-");
    let kept: Vec<&str> = LOCK.split("\n\n").filter(|package| !is_example(package)).collect();
    format!("{}\n", kept.join("\n\n").trim_end())
}

/// A manifest of this repository's workspace as one that needs no workspace.
fn standalone(manifest: &str) -> anyhow::Result<String> {
    let workspace: Table = WORKSPACE.parse().context("the workspace's manifest")?;
    let workspace =
        |part: &str| workspace.get("workspace").and_then(|found| found.get(part)).and_then(Value::as_table);
    let (package, dependencies) = (workspace("package"), workspace("dependencies"));
    let mut manifest: Table = manifest.parse().context("the SDK's manifest")?;
    manifest.remove("dev-dependencies");
    manifest.remove("lints");
    inherit(&mut manifest, "package", package)?;
    inherit(&mut manifest, "dependencies", dependencies)?;
    if let Some(Value::Table(targets)) = manifest.get_mut("target") {
        for target in targets.iter_mut().filter_map(|(_, target)| target.as_table_mut()) {
            inherit(target, "dependencies", dependencies)?;
        }
    }
    let head = "# The Rust SDK of this version of Stateous, written by `stateous init`: a newer version writes its own.\n\n";
    Ok(format!("{head}{}", toml::to_string(&manifest).context("the SDK's manifest")?))
}

/// Replaces each `{ workspace = true }` of one part by what the workspace says.
fn inherit(manifest: &mut Table, part: &str, from: Option<&Table>) -> anyhow::Result<()> {
    let Some(Value::Table(table)) = manifest.get_mut(part) else { return Ok(()) };
    for (name, value) in table.iter_mut() {
        let Value::Table(own) = &*value else { continue };
        if own.get("workspace") != Some(&Value::Boolean(true)) {
            continue;
        }
        let found = from.and_then(|from| from.get(name));
        let found = found.with_context(|| format!("the workspace has no {name}"))?.clone();
        // What the SDK adds to it, such as `optional`, stays.
        let mut own = own.clone();
        own.remove("workspace");
        *value = match found {
            plain if own.is_empty() && !plain.is_table() => plain,
            Value::Table(mut table) => {
                if table.contains_key("path") {
                    // The one crate of ours that the SDK uses stands beside it.
                    table.insert("path".to_owned(), "../rust-macros".into());
                }
                table.extend(own);
                Value::Table(table)
            }
            version => {
                own.insert("version".to_owned(), version);
                Value::Table(own)
            }
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_source_of_the_sdk_is_carried() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk");
        for (folder, carried) in [("rust", SDK), ("rust-macros", MACROS)] {
            let mut found = Vec::new();
            let mut left = vec![root.join(folder).join("src")];
            while let Some(at) = left.pop() {
                for entry in std::fs::read_dir(at).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        left.push(path);
                    } else if path.extension().is_some_and(|extension| extension == "rs") {
                        found.push(path.strip_prefix(root.join(folder)).unwrap().display().to_string());
                    }
                }
            }
            found.sort();
            let mut names: Vec<&str> = carried.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            assert_eq!(names, found, "{folder}");
        }
    }

    #[test]
    fn its_manifests_need_no_workspace() {
        insta::assert_snapshot!(standalone(SDK_MANIFEST).unwrap());
        insta::assert_snapshot!(standalone(MACROS_MANIFEST).unwrap());
    }

    #[test]
    fn its_lock_names_no_example() {
        let lock = lock();
        assert!(lock.contains("name = \"stateous-routine\"") && !lock.contains("orders"), "{lock}");
        assert!(lock.parse::<Table>().is_ok());
    }
}
