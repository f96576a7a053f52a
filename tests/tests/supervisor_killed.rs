//! A supervisor dies (SIGKILL) before, during and after a message is in its outbox. No token is lost, none moves twice,
//! and what the outbox had taken arrives.

use std::time::Duration;

use rand::RngExt as _;
use serde_json::json;
use stateous_api::RoutineLimits;
use stateous_e2e::{ControlPlane, History, Product, Proxy};

const ID: &str = "LOG-1";

/// A control plane with leases of `lease` and one token of `log-report` on a log of `lines` lines, in small chunks.
async fn stage(product: &Product, lease: &str, lines: usize) -> anyhow::Result<Option<ControlPlane>> {
    let Some(component) = Product::routine("log-report", "report") else { return Ok(None) };
    let control_plane = product.serve(&["log-report"], lease).await?;
    control_plane.push("log-report", "report", &component, RoutineLimits::default()).await?;
    let line = "192.0.2.1 - - [29/Nov/2026:11:16:28 +0000] \"GET / HTTP/1.1\" 200 512\n";
    control_plane
        .start_token(ID, "log-report", &json!({"log": line.repeat(lines), "chunk_lines": 5}))
        .await?;
    Ok(Some(control_plane))
}

/// What holds at the end of every story here.
fn check(history: &History, lines: usize) {
    assert_eq!(history.count("completed"), 1, "{history:#?}");
    assert_eq!(history.count("task_done"), 1, "the token moved once: {history:#?}");
    let reported =
        history.of("event_accepted").find(|data| data["event"] == "reported").expect("it was reported");
    let total = reported["payload"]["lines"]["total"].as_u64();
    assert_eq!(total, Some(lines as u64), "every line was counted once: {reported:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_outbox_write_the_attempt_is_lost_and_tried_again() -> anyhow::Result<()> {
    let product = Product::new()?;
    let Some(control_plane) = stage(&product, "2s", 50).await? else { return Ok(()) };
    let proxy = Proxy::start(control_plane.address()).await?;
    proxy.hold("/started");
    let mut first = product.supervise("box-1", proxy.url()).await?;
    proxy.caught().await;
    first.process.kill().await?;
    proxy.cut();
    let _second = product.supervise("box-2", &control_plane.url()).await?;
    let history = control_plane.until(ID, History::ended).await?;
    check(&history, 50);
    let error = history.of("task_failed").next().expect("attempt 1 failed")["error"].clone();
    assert_eq!(error, "box-1 stopped answering: no heartbeat for 2 seconds");
    assert_eq!(history.count("task_started"), 1, "attempt 1 never began");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_outbox_took_is_sent_by_the_next_start() -> anyhow::Result<()> {
    let product = Product::new()?;
    let Some(control_plane) = stage(&product, "6s", 50).await? else { return Ok(()) };
    let proxy = Proxy::start(control_plane.address()).await?;
    proxy.hold("/memory");
    let mut first = product.supervise("box", proxy.url()).await?;
    proxy.caught().await;
    first.process.kill().await?;
    assert_eq!(control_plane.history(ID).await?.count("memory_set"), 0, "the write never arrived");
    proxy.cut();
    let mut again = product.supervise("box", proxy.url()).await?;
    again.process.line("sending ").await?;
    let history = control_plane.until(ID, |h| h.count("memory_set") > 0).await?;
    assert_eq!(history.count("task_failed"), 0, "it was sent within the lease: {history:#?}");
    let history = control_plane.until(ID, History::ended).await?;
    check(&history, 50);
    assert!(
        history
            .of("note")
            .any(|data| data["text"].as_str().is_some_and(|text| text.starts_with("resumed at line "))),
        "attempt 2 went on where attempt 1 was: {history:#?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_whose_answer_was_lost_counts_once() -> anyhow::Result<()> {
    let product = Product::new()?;
    let Some(control_plane) = stage(&product, "6s", 20).await? else { return Ok(()) };
    let proxy = Proxy::start(control_plane.address()).await?;
    proxy.swallow("/report");
    let mut first = product.supervise("box", proxy.url()).await?;
    proxy.caught().await;
    first.process.kill().await?;
    let accepted = control_plane.until(ID, History::ended).await?;
    check(&accepted, 20);
    proxy.cut();
    let mut again = product.supervise("box", proxy.url()).await?;
    again.process.line("the control plane refused").await?;
    let after = control_plane.history(ID).await?;
    assert_eq!(after.kinds(), accepted.kinds(), "the report that came again changed nothing");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn at_any_moment_nothing_is_lost_and_nothing_moves_twice() -> anyhow::Result<()> {
    let product = Product::new()?;
    let lines = 600;
    let Some(control_plane) = stage(&product, "4s", lines).await? else { return Ok(()) };
    let mut seen = 0;
    for round in 0..4 {
        let mut supervisor = product.supervise("box", &control_plane.url()).await?;
        let history = control_plane.until(ID, |h| h.count("memory_set") > seen || h.ended()).await?;
        if history.ended() {
            break;
        }
        // At some moment inside or between two outbox writes.
        let moment = Duration::from_micros(rand::rng().random_range(0..3_000));
        tokio::time::sleep(moment).await;
        supervisor.process.kill().await?;
        seen = control_plane
            .until(ID, |h| h.count("task_failed") == round + 1 || h.ended())
            .await?
            .count("memory_set");
        // Two retries are all that the state allows: the last supervisor lives.
        if round == 1 {
            break;
        }
    }
    let _last = product.supervise("box", &control_plane.url()).await?;
    let history = control_plane.until(ID, History::ended).await?;
    check(&history, lines);
    Ok(())
}
