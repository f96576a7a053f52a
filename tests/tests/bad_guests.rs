//! A guest that loops for ever, allocates without end or panics ends as a failed attempt that names the cause, and the
//! supervisor goes on.

use serde_json::json;
use stateous_api::RoutineLimits;
use stateous_e2e::{ControlPlane, History, Product};

/// One state for each guest, so that all of them run in one supervisor, side by side.
const GRAPH: &str = r#"{"stateous": 1, "workflow": "zoo",
  "states": {"loops": {"emits": ["done"]}, "allocates": {"emits": ["done"]},
             "panics": {"emits": ["done"]}, "noop": {"emits": ["done"]}},
  "events": {"done": {"payload": "Any"}},
  "transitions": [
    {"from": "__start__", "to": "loops", "when": "ctx['guest'] == 'loops'"},
    {"from": "__start__", "to": "allocates", "when": "ctx['guest'] == 'allocates'"},
    {"from": "__start__", "to": "panics", "when": "ctx['guest'] == 'panics'"},
    {"from": "__start__", "to": "noop", "otherwise": true},
    {"from": "loops", "to": "__end__", "on": "done"},
    {"from": "allocates", "to": "__end__", "on": "done"}, {"from": "panics", "to": "__end__", "on": "done"},
    {"from": "noop", "to": "__end__", "on": "done"}
  ],
  "schemas": {"Any": {"type": "object"}}}"#;

/// Serves the zoo with every guest pushed; `None` when they are not built.
async fn zoo(product: &Product) -> anyhow::Result<Option<ControlPlane>> {
    let graph = product.folder().join("zoo.json");
    std::fs::write(&graph, GRAPH)?;
    let control_plane = product.serve_files(vec![graph], "30s").await?;
    let some_fuel = RoutineLimits { fuel: Some(200_000_000), ..RoutineLimits::default() };
    let little_time = RoutineLimits { wall_ms: Some(300), ..RoutineLimits::default() };
    for (guest, limits) in [
        ("loops", little_time),
        ("allocates", RoutineLimits { memory_bytes: Some(16 << 20), ..RoutineLimits::default() }),
        ("panics", some_fuel.clone()),
        ("noop", some_fuel.clone()),
    ] {
        let Some(component) = Product::guest(guest) else { return Ok(None) };
        control_plane.push("zoo", guest, &component, limits).await?;
    }
    Ok(Some(control_plane))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_end_has_its_name_and_the_supervisor_goes_on() -> anyhow::Result<()> {
    let product = Product::new()?;
    let Some(control_plane) = zoo(&product).await? else { return Ok(()) };
    let supervisor = product.supervise("box", &control_plane.url()).await?;
    for guest in ["loops", "allocates", "panics", "noop"] {
        control_plane.start_token(guest, "zoo", &json!({"guest": guest})).await?;
    }
    for (guest, cause) in [
        ("loops", &["timed_out: "][..]),
        ("allocates", &["memory_exceeded: "]),
        ("panics", &["trapped: ", "no such order in attempt 1", "panics/src/lib.rs"]),
    ] {
        let history = control_plane.until(guest, History::ended).await?;
        let error =
            history.of("task_failed").next().map(|data| data["error"].to_string()).unwrap_or_default();
        for part in cause {
            assert!(error.contains(part), "{guest}: {error} does not say {part:?}");
        }
        assert_eq!(history.count("failed"), 1, "{guest}: {history:#?}");
    }
    let history = control_plane.until("noop", History::ended).await?;
    assert_eq!(history.count("completed"), 1, "{history:#?}");

    // The same process, after all of that.
    control_plane.start_token("after", "zoo", &json!({})).await?;
    let history = control_plane.until("after", History::ended).await?;
    assert_eq!(history.count("completed"), 1, "{history:#?}");
    assert!(!supervisor.process.log().contains("panicked"), "{}", supervisor.process.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn spent_fuel_is_told_from_spent_time() -> anyhow::Result<()> {
    let product = Product::new()?;
    let Some(control_plane) = zoo(&product).await? else { return Ok(()) };
    let Some(component) = Product::guest("loops") else { return Ok(()) };
    let limits = RoutineLimits { fuel: Some(10_000_000), ..RoutineLimits::default() };
    control_plane.push("zoo", "loops", &component, limits).await?;
    let _supervisor = product.supervise("box", &control_plane.url()).await?;
    control_plane.start_token("T-1", "zoo", &json!({"guest": "loops"})).await?;
    let history = control_plane.until("T-1", History::ended).await?;
    let error = history.of("task_failed").next().map(|data| data["error"].to_string()).unwrap_or_default();
    assert!(error.contains("fuel_exhausted: "), "{error}");
    Ok(())
}
