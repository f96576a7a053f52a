//! A token goes from START to END through two routines in sandboxes, started by nobody but the graph.

use serde_json::json;
use stateous_api::RoutineLimits;
use stateous_e2e::Product;

/// Pushes both routines of `examples/orders`; `false` when they are not built.
async fn push_orders(control_plane: &stateous_e2e::ControlPlane) -> anyhow::Result<bool> {
    for state in ["draft", "review"] {
        let Some(component) = Product::routine("orders", state) else { return Ok(false) };
        control_plane.push("orders", state, &component, RoutineLimits::default()).await?;
    }
    Ok(true)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_drafted_and_reviewed() -> anyhow::Result<()> {
    let product = Product::new()?;
    let control_plane = product.serve(&["orders"], "30s").await?;
    if !push_orders(&control_plane).await? {
        return Ok(());
    }
    let _supervisor = product.supervise("box", &control_plane.url()).await?;
    let title = json!({"title": "a title that is long enough to be approved at once"});
    control_plane.start_token("ORDER-1", "orders", &title).await?;
    let history = control_plane.until("ORDER-1", stateous_e2e::History::ended).await?;
    assert_eq!(history.kinds().last(), Some(&"completed"), "{history:#?}");
    assert_eq!(
        history.count("task_claimed"),
        history.count("task_started"),
        "started comes before the guest"
    );
    assert_eq!(history.count("task_failed"), 0, "{history:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_started_before_the_routine_came_run_once_it_is_there() -> anyhow::Result<()> {
    let product = Product::new()?;
    let control_plane = product.serve(&["orders"], "30s").await?;
    let _supervisor = product.supervise("box", &control_plane.url()).await?;
    control_plane
        .start_token("EARLY", "orders", &json!({"title": "an order that came before its routine"}))
        .await?;
    if !push_orders(&control_plane).await? {
        return Ok(());
    }
    let history = control_plane.until("EARLY", stateous_e2e::History::ended).await?;
    assert_eq!(history.kinds().last(), Some(&"completed"), "{history:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_stop_finishes_what_runs_and_takes_nothing_new() -> anyhow::Result<()> {
    let product = Product::new()?;
    let mut control_plane = product.serve(&["orders"], "30s").await?;
    if !push_orders(&control_plane).await? {
        return Ok(());
    }
    let mut supervisor = product.supervise("box", &control_plane.url()).await?;
    for n in 0..8 {
        control_plane
            .start_token(&format!("T-{n}"), "orders", &json!({"title": "an order among others"}))
            .await?;
    }
    supervisor.process.signal("TERM").await?;
    let status = supervisor.process.wait(std::time::Duration::from_secs(20)).await?;
    assert!(status.success(), "{status}: {}", supervisor.process.log());
    for n in 0..8 {
        let history = control_plane.history(&format!("T-{n}")).await?;
        let begun = history.count("task_claimed");
        let ended = history.count("task_done") + history.count("task_failed");
        assert_eq!(begun, ended, "nothing was left held: {history:#?}");
    }
    control_plane.process().signal("TERM").await?;
    let status = control_plane.process().wait(std::time::Duration::from_secs(10)).await?;
    assert!(status.success(), "{status}");
    assert!(control_plane.process().log().contains("stopped"));
    Ok(())
}
