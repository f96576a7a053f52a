//! The two examples of the original's page on reliability, at the command line, word for word.

use stateous_api::RoutineLimits;
use stateous_e2e::{History, Product, Proxy};

/// The page's workflow: `coding` has two retries.
const SDLC: &str = r#"{"stateous": 1, "workflow": "sdlc",
  "states": {"coding": {"retries": 2, "emits": ["done"]}, "testing": {"emits": ["passed"]}},
  "events": {"done": {"payload": "Any"}, "passed": {}},
  "transitions": [{"from": "__start__", "to": "coding"}, {"from": "coding", "to": "testing", "on": "done"},
    {"from": "testing", "to": "__end__", "on": "passed"}],
  "schemas": {"Any": {"type": "object"}}}"#;

/// Runs a command that must succeed: its stdout.
async fn said(product: &Product, words: &[&str]) -> anyhow::Result<String> {
    let (code, stdout, stderr) = product.run(words).await?;
    anyhow::ensure!(code == 0, "{words:?} ended with {code}: {stderr}");
    Ok(stdout)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_comes_twice_is_applied_once() -> anyhow::Result<()> {
    let product = Product::new()?;
    let graph = product.folder().join("sdlc.json");
    std::fs::write(&graph, SDLC)?;
    let control_plane = product.serve_files(vec![graph], "2m").await?;
    let url = control_plane.url();
    said(&product, &["token", "start", "TICKET-1", "--url", &url]).await?;
    let fire = ["token", "fire", "TICKET-1", "done", "--key", "gh-delivery-1", "--url", &url];
    assert_eq!(said(&product, &fire).await?, "TICKET-1: testing, active\n");
    assert_eq!(said(&product, &fire).await?, "duplicate: TICKET-1: testing, active\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ends_reads_as_the_page_shows_it() -> anyhow::Result<()> {
    let Some(guest) = Product::guest("noop") else { return Ok(()) };
    let product = Product::new()?;
    let graph = product.folder().join("sdlc.json");
    std::fs::write(&graph, SDLC)?;
    // The page's lease is of two minutes; the sentence tells whatever it is.
    let control_plane = product.serve_files(vec![graph], "5s").await?;
    control_plane.push("sdlc", "coding", &guest, RoutineLimits::default()).await?;
    let proxy = Proxy::start(control_plane.address()).await?;
    proxy.hold("/started");
    let mut first = product.supervise("build-box-1", proxy.url()).await?;
    control_plane.start_token("TICKET-1", "sdlc", &serde_json::json!({})).await?;
    proxy.caught().await;
    first.process.kill().await?;
    proxy.cut();
    let _second = product.supervise("build-box-2", &control_plane.url()).await?;
    control_plane.until("TICKET-1", |history: &History| history.count("task_done") == 1).await?;
    let shown = said(&product, &["token", "show", "TICKET-1", "--url", &control_plane.url()]).await?;
    // Without the time and the number of each line.
    let lines: Vec<&str> = shown.lines().filter_map(|line| line.splitn(3, "  ").nth(2)).collect();
    let told = [
        "build-box-1 took task 1 (attempt 1)",
        "task 1 failed: build-box-1 stopped answering: no heartbeat for 5 seconds",
        "task 1 is tried again (attempt 2)",
        "build-box-2 took task 1 (attempt 2)",
    ];
    assert!(lines.windows(told.len()).any(|four| four == told), "{shown}");
    Ok(())
}
