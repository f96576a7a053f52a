//! What `stateous init workflow` begins with: two states and a loop, whose routines work as they stand.

use anyhow::Context as _;
use stateous_compiler::contract::Contract;
use stateous_engine::Graph;

use super::{Files, Language, Sdk, rust};

/// A token that the starter completes: id and context.
pub(crate) const NEXT_TOKEN: (&str, &str) = ("ORDER-1", r#"{"title": "first order"}"#);

const WORKFLOW: &str = include_str!("starter/workflow.toml");
const IGNORED: &str = "# What `stateous dev` and cargo write.\n.stateous/\ntarget/\n";
/// The routine of each state.
const ROUTINES: [(&str, &str); 2] =
    [("draft", include_str!("starter/draft.rs")), ("review", include_str!("starter/review.rs"))];

/// Writes the starter: answers the text of its graph file.
pub(crate) fn starter(files: &mut Files, name: &str, sdk: &Sdk) -> anyhow::Result<String> {
    let source = WORKFLOW.replace("{name}", name);
    let compiled = stateous_compiler::compile(&source, "workflow.toml").map_err(|mistakes| {
        let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("the starter does not compile: {}", told.join("; "))
    })?;
    let graph = Graph::parse(&compiled.graph_text).context("the compiler wrote no graph file")?;
    files.once("workflow.toml", &source)?;
    files.once(".gitignore", IGNORED)?;
    Language::Rust.shared(files, sdk)?;
    for (state, source) in ROUTINES {
        let contract = Contract::of(&graph, name, state).context("the starter has no such state")?;
        rust::routine(files, &contract, sdk, Some(source))?;
    }
    files.anew(&format!("build/{name}.json"), &compiled.graph_text)?;
    Ok(compiled.graph_text)
}
