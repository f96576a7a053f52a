//! `[routines]` in `stateous.toml`: a component of this machine runs in place of the uploaded one, and is checked as an upload is.

use anyhow::Result;
use serde_json::json;
use stateous_api::RoutineLimits;
use stateous_e2e::{History, Product};

const GRAPH: &str = r#"{"stateous": 1, "workflow": "zoo",
  "states": {"work": {"emits": ["done"]}},
  "events": {"done": {"payload": "Any"}},
  "transitions": [{"from": "__start__", "to": "work"}, {"from": "work", "to": "__end__", "on": "done"}],
  "schemas": {"Any": {"type": "object"}}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn it_runs_instead_of_the_uploaded_one_and_the_log_says_so() -> Result<()> {
    let (Some(panics), Some(noop)) = (Product::guest("panics"), Product::guest("noop")) else {
        return Ok(());
    };
    let product = Product::new()?;
    let graph = product.folder().join("zoo.json");
    std::fs::write(&graph, GRAPH)?;
    let control_plane = product.serve_files(vec![graph], "30s").await?;
    control_plane.push("zoo", "work", &panics, RoutineLimits::default()).await?;
    std::fs::create_dir_all(product.folder().join("box"))?;
    std::fs::copy(noop, product.folder().join("box/work.wasm"))?;

    let more = "[routines]\n\"zoo/work\" = \"work.wasm\"\n";
    let supervisor = product.supervise_with("box", &control_plane.url(), more, &[]).await?;
    control_plane.start_token("T-1", "zoo", &json!({})).await?;
    let history = control_plane.until("T-1", History::ended).await?;
    assert_eq!(history.count("completed"), 1, "{history:#?}");
    let log = supervisor.process.log();
    assert!(
        log.contains("zoo/work runs ") && log.contains("work.wasm of this machine, whatever was uploaded"),
        "{log}"
    );

    // A file that could not be uploaded does not run here either.
    let other = product.folder().join("other");
    std::fs::create_dir_all(&other)?;
    std::fs::write(other.join("work.wasm"), "no wasm")?;
    std::fs::write(other.join("stateous.toml"), format!("url = \"{}\"\n{more}", control_plane.url()))?;
    let (code, _, stderr) = product.run(&["supervise", "other"]).await?;
    assert_ne!(code, 0);
    let last = stderr.lines().last().unwrap_or_default();
    assert!(last.contains("routines.\"zoo/work\": ") && last.contains("is not WebAssembly"), "{stderr}");
    Ok(())
}
