//! The routines of a folder as components: built from `routines/`, or ready in `build/` when there is no source.

use std::path::Path;

use anyhow::Result;
use stateous_build::{Options, projects};

use crate::commands::routine::read_component;
use crate::text::say;

/// State and component of every routine of `folder`. A routine that does not build is told and left out; the others go on.
pub(super) fn all(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
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
        match project.build(&options) {
            Ok(built) => {
                for one in built {
                    std::fs::write(components.join(&one.name).with_extension("wasm"), &one.component)?;
                    found.push((one.name, one.component));
                }
            }
            Err(why) => say(&format!("{:#}; what served before goes on", anyhow::Error::from(why))),
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
            components.push((state.to_owned(), read_component(&file)?));
        }
    }
    components.sort();
    Ok(components)
}
