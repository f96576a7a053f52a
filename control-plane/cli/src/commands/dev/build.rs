//! The routines of a folder as components: built from `routines/`, or ready in `build/` when there is no source.

use std::path::Path;

use anyhow::Result;
use stateous_build::{Options, projects};

use crate::commands::routine::read_component;

/// State and component of every routine of `folder`, sorted.
pub(in crate::commands) fn all(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let routines = folder.join("routines");
    if !routines.is_dir() {
        return ready(&folder.join("build"));
    }
    // Beside the routines, not among them: what is written there is nothing that a person saved.
    let beside = std::path::absolute(folder)?.join(".stateous/build");
    let components = beside.join("components");
    std::fs::create_dir_all(&components)?;
    let options =
        Options { target_dir: Some(beside), earlier: Some(components.clone()), ..Options::default() };
    let mut found = Vec::new();
    for project in projects(&routines)? {
        for built in project.build(&options)? {
            std::fs::write(components.join(format!("{}.wasm", built.name)), &built.component)?;
            found.push((state_of(&built.name), built.component));
        }
    }
    found.sort();
    Ok(found)
}

/// Components that somebody else built: `build/<state>.wasm`.
fn ready(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut components = Vec::new();
    let Ok(files) = std::fs::read_dir(folder) else { return Ok(components) };
    for file in files {
        let file = file?.path();
        if file.extension().is_some_and(|ext| ext == "wasm")
            && let Some(state) = file.file_stem().and_then(|stem| stem.to_str())
        {
            components.push((state_of(state), read_component(&file)?));
        }
    }
    components.sort();
    Ok(components)
}

/// The state that a routine's folder or component is named after: `draft`, or `checks.lint` for the state `lint` of the
/// workflow `checks` that a parallel state runs.
fn state_of(name: &str) -> String {
    name.replace('.', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_in_a_name_is_the_state_of_another_workflow() {
        assert_eq!(state_of("draft"), "draft");
        assert_eq!(state_of("checks.lint"), "checks/lint");
    }
}
