//! Routines in Rust: one crate for each state, in a cargo workspace of their own.

use anyhow::Context as _;
use stateous_compiler::contract::{Contract, rust};

use super::{Files, ROUTINES, Sdk, folder_of, sdk};

/// Where the carried SDK goes, below the routines. No state can be called so.
const CARRIED: &str = "_sdk";

const WORKSPACE: &str = "\
# A workspace of its own, in which each folder is the routine of the state that it is named after.
[workspace]
resolver = \"3\"
members = [\"*\"]
exclude = [\"_sdk\", \"target\"]

# Small components that still name their functions when they trap.
[profile.release]
opt-level = \"s\"
lto = true
panic = \"abort\"
strip = \"debuginfo\"
";

/// The workspace, the versions of what it depends on, and the SDK if it is the carried one.
pub(super) fn shared(files: &mut Files, sdk: &Sdk) -> anyhow::Result<()> {
    files.once(&format!("{ROUTINES}/Cargo.toml"), WORKSPACE)?;
    files.once(&format!("{ROUTINES}/Cargo.lock"), &sdk::lock())?;
    if matches!(sdk, Sdk::Carried) {
        let carried = sdk::files()?;
        let carried = carried.iter().map(|(name, text)| (name.as_str(), text.clone()));
        files.folder(&format!("{ROUTINES}/{CARRIED}"), carried)?;
    }
    Ok(())
}

/// The crate of one state; `source` is its `lib.rs`, a stub unless given.
pub(super) fn routine(
    files: &mut Files,
    contract: &Contract,
    sdk: &Sdk,
    source: Option<&str>,
) -> anyhow::Result<()> {
    let folder = format!("{ROUTINES}/{}", folder_of(contract));
    let (lib, types) = (format!("{folder}/src/lib.rs"), format!("{folder}/src/contract.rs"));
    // A crate that somebody wrote without our types is not given them.
    let wants_types = !files.has(&lib) || files.has(&types);
    files.once(&format!("{folder}/Cargo.toml"), &manifest(contract, sdk)?)?;
    files.once(&lib, &source.map_or_else(|| stub(contract, &lib), str::to_owned))?;
    if wants_types {
        files.anew(&types, &rust::module(contract))?;
    }
    Ok(())
}

fn manifest(contract: &Contract, sdk: &Sdk) -> anyhow::Result<String> {
    let path = match sdk {
        Sdk::Carried => format!("../{CARRIED}/rust"),
        Sdk::Checkout(sdks) => {
            let sdk = sdks.join("rust");
            sdk.to_str().with_context(|| format!("{} is not text", sdk.display()))?.to_owned()
        }
    };
    let path = toml::Value::String(path);
    Ok(format!(
        "[package]\n\
         name = \"{}-{}\"\n\
         version = \"0.1.0\"\n\
         edition = \"2024\"\n\
         publish = false\n\n\
         [lib]\n\
         # The component, and the function for tests.\n\
         crate-type = [\"cdylib\", \"rlib\"]\n\n\
         [dependencies]\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\
         stateous-routine = {{ path = {path} }}\n",
        contract.workflow, contract.state,
    ))
}

fn stub(contract: &Contract, lib: &str) -> String {
    let (name, kind) = (rust::identifier(&contract.state), rust::context(contract));
    let mut imports: Vec<String> = kind.iter().cloned().chain([rust::OUTCOME.to_owned()]).collect();
    imports.sort();
    let imports = if let [one] = &imports[..] { one.clone() } else { format!("{{{}}}", imports.join(", ")) };
    let outcomes = rust::outcomes(contract);
    let (ends, result) = if outcomes.is_empty() {
        let ends = "It emits no event: it can end with `Ok(None)`, to wait, or with a failure.".to_owned();
        (ends, format!("Option<{}>", rust::OUTCOME))
    } else {
        let each: Vec<String> = outcomes.iter().map(|one| format!("//! - `{one}`")).collect();
        (format!("It can end with:\n{}", each.join("\n")), rust::OUTCOME.to_owned())
    };
    let context = kind.map(|kind| format!("<{kind}>")).unwrap_or_default();
    format!(
        "//! The routine of the state `{state}` of the workflow `{workflow}`.\n\
         //!\n\
         //! {ends}\n\n\
         mod contract;\n\n\
         use stateous_routine::prelude::*;\n\n\
         use contract::{imports};\n\n\
         #[routine]\n\
         fn {name}(ctx: &Context{context}) -> Result<{result}> {{\n    \
         // Until this is written the task fails at once, and `stateous token retry` gives the token\n    \
         // another go afterwards.\n    \
         let state = ctx.state();\n    \
         let file = \"{lib}\";\n    \
         Err(Failure::fatal(format!(\"the routine of '{{state}}' is not written yet: write {{file}}\")))\n\
         }}\n",
        state = contract.state,
        workflow = contract.workflow,
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stateous_engine::Graph;

    use super::*;

    fn orders() -> Graph {
        Graph::parse(include_str!("../../../engine/tests/fixtures/graphs/orders.json")).unwrap()
    }

    #[test]
    fn a_stub_says_what_to_write() {
        let contract = Contract::of(&orders(), "orders", "review").unwrap();
        insta::assert_snapshot!(stub(&contract, "routines/review/src/lib.rs"));
        insta::assert_snapshot!(manifest(&contract, &Sdk::Carried).unwrap());
    }

    #[test]
    fn a_crate_without_our_types_is_not_given_them() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::below(folder.path());
        let contract = Contract::of(&orders(), "orders", "review").unwrap();
        files.once("routines/review/src/lib.rs", "//! My own.").unwrap();
        routine(&mut files, &contract, &Sdk::Carried, None).unwrap();
        assert!(files.has("routines/review/Cargo.toml") && !files.has("routines/review/src/contract.rs"));
    }

    #[test]
    fn the_sdk_of_a_checkout_is_named_by_its_whole_path() {
        let contract = Contract::of(&orders(), "orders", "review").unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = manifest(&contract, &Sdk::of_checkout(&root).unwrap()).unwrap();
        let sdk = root.canonicalize().unwrap().join("guest-sdk/rust");
        assert!(text.contains(&format!("path = {:?}", sdk.display().to_string())), "{text}");
    }
}
