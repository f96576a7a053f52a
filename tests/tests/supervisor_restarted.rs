//! A supervisor that is killed and started again does not wait for its own lease: what its earlier start held is free at
//! once, and no failure is counted.

use anyhow::Result;
use serde_json::json;
use stateous_api::RoutineLimits;
use stateous_e2e::{History, Product};

const GRAPH: &str = r#"{"stateous": 1, "workflow": "zoo",
  "states": {"loops": {"emits": ["done"]}},
  "events": {"done": {"payload": "Any"}},
  "transitions": [{"from": "__start__", "to": "loops"}, {"from": "loops", "to": "__end__", "on": "done"}],
  "schemas": {"Any": {"type": "object"}}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn its_own_tasks_come_back_at_once_and_do_not_count_as_failed() -> Result<()> {
    let (Some(loops), Some(noop)) = (Product::guest("loops"), Product::guest("noop")) else { return Ok(()) };
    let product = Product::new()?;
    let graph = product.folder().join("zoo.json");
    std::fs::write(&graph, GRAPH)?;
    // A lease far longer than this story, and a state without retries.
    let control_plane = product.serve_files(vec![graph], "1h").await?;
    control_plane
        .push("zoo", "loops", &loops, RoutineLimits { fuel: Some(1 << 50), ..Default::default() })
        .await?;
    let mut first = product.supervise("box", &control_plane.url()).await?;
    control_plane.start_token("T-1", "zoo", &json!({})).await?;
    control_plane.until("T-1", |h| h.count("task_started") == 1).await?;
    first.process.kill().await?;

    // A namesake in another folder gets nothing that the first one holds.
    let other = product.folder().join("other");
    std::fs::create_dir_all(&other)?;
    let mut namesake = product.command();
    namesake.arg("supervise").arg(&other).args(["--url", &control_plane.url(), "--name", "box"]);
    let mut namesake = stateous_e2e::Process::start("namesake", product.folder(), &mut namesake)?;
    namesake.line(" serves ").await?;

    control_plane.push("zoo", "loops", &noop, RoutineLimits::default()).await?;
    let before = control_plane.history("T-1").await?;
    assert_eq!((before.count("task_claimed"), before.count("task_returned")), (1, 0), "{before:#?}");
    let second = product.supervise("box", &control_plane.url()).await?;
    let history = control_plane.until("T-1", History::ended).await?;
    assert_eq!(history.count("completed"), 1, "{history:#?}");
    assert_eq!((history.count("task_returned"), history.count("task_failed")), (1, 0), "{history:#?}");
    assert!(!second.process.log().contains("panicked"), "{}", second.process.log());
    Ok(())
}
