//! The control plane dies (SIGKILL). What it answered is there when it comes back, and supervisors notice nothing but a
//! retry.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rand::RngExt as _;
use serde_json::json;
use stateous_api::{Client, FireRequest, RoutineLimits};
use stateous_e2e::{History, Product, Proxy};
use tokio::sync::Mutex;

#[tokio::test(flavor = "multi_thread")]
async fn between_claim_and_report_it_is_back_before_the_lease_ends() -> anyhow::Result<()> {
    let product = Product::new()?;
    let Some(component) = Product::routine("log-report", "report") else { return Ok(()) };
    let mut control_plane = product.serve(&["log-report"], "60s").await?;
    control_plane.push("log-report", "report", &component, RoutineLimits::default()).await?;
    control_plane.start_token("LOG-1", "log-report", &json!({"log": "not a line\n"})).await?;
    let proxy = Proxy::start(control_plane.address()).await?;
    proxy.hold("/report");
    let _supervisor = product.supervise("box", proxy.url()).await?;
    proxy.caught().await;
    control_plane.kill().await?;
    proxy.cut();
    control_plane.start(&product).await?;
    let history = control_plane.until("LOG-1", History::ended).await?;
    assert_eq!(
        (history.count("completed"), history.count("task_claimed")),
        (1, 1),
        "attempt 1 counted: {history:#?}"
    );
    Ok(())
}

/// What the control plane answered 2xx to.
#[derive(Default)]
struct Answered {
    tokens: Mutex<Vec<String>>,
    fired: Mutex<Vec<(String, String)>>,
}

/// Starts tokens and fires keyed events on them as fast as answers come, until told to stop.
async fn load(
    client: Client,
    worker: u64,
    answered: Arc<Answered>,
    stop: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
) {
    for n in 0.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let id = format!("T-{worker}-{n}");
        let start = stateous_api::StartRequest { token: id.clone(), context: None, workflow: None };
        if client.start_token(&start).await.is_err() {
            // It is down; the next token finds it up again.
            tokio::task::yield_now().await;
            continue;
        }
        answered.tokens.lock().await.push(id.clone());
        count.fetch_add(1, Ordering::SeqCst);
        for key in ["a", "b"] {
            if client.fire(&id, "ping", &FireRequest { payload: None }, Some(key)).await.is_ok() {
                answered.fired.lock().await.push((id.clone(), key.to_owned()));
            }
        }
    }
}

const PING: &str = r#"{"stateous": 1, "workflow": "ping", "states": {"here": {}}, "events": {"ping": {}, "end": {}},
  "transitions": [{"from": "__start__", "to": "here"}, {"from": "here", "to": "here", "on": "ping"},
                  {"from": "here", "to": "__end__", "on": "end"}], "schemas": {}}"#;

/// How often it is killed.
const KILLS: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_at_any_moment_loses_no_accepted_change() -> anyhow::Result<()> {
    let product = Product::new()?;
    let graph = product.folder().join("ping.json");
    std::fs::write(&graph, PING)?;
    let mut control_plane = product.serve_files(vec![graph], "60s").await?;
    let (answered, stop, count) =
        (Arc::<Answered>::default(), Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
    let mut workers = Vec::new();
    for worker in 0..4 {
        let client = control_plane.client().clone().with_timeout(Duration::from_secs(5));
        let load = load(client, worker, Arc::clone(&answered), Arc::clone(&stop), Arc::clone(&count));
        workers.push(tokio::spawn(load));
    }
    for _ in 0..KILLS {
        // Some work first, so that each kill lands in the middle of it.
        let before = count.load(Ordering::SeqCst);
        let worked = stateous_e2e::eventually(Duration::from_secs(10), async || {
            (count.load(Ordering::SeqCst) >= before + 3).then_some(())
        });
        anyhow::ensure!(worked.await.is_some(), "no token was started between two kills");
        tokio::time::sleep(Duration::from_micros(rand::rng().random_range(0..5_000))).await;
        control_plane.kill().await?;
        control_plane.start(&product).await?;
    }
    stop.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await?;
    }

    let (tokens, fired) = (answered.tokens.lock().await, answered.fired.lock().await);
    anyhow::ensure!(tokens.len() >= 3 * KILLS, "only {} tokens were started", tokens.len());
    for id in tokens.iter() {
        let history = control_plane.history(id).await?;
        assert_eq!(history.count("started"), 1, "{id}");
        let accepted = history.of("event_accepted").filter(|data| data["event"] == "ping").count();
        let told = fired.iter().filter(|(token, _)| token == id).count();
        assert!(accepted >= told, "{id}: {told} events were answered 2xx, {accepted} are in the ledger");
        // An event whose answer was lost may have been applied, each at most once.
        assert!(accepted <= 2, "{id}: an event was applied twice");
    }
    // A key that was answered is used up: the same delivery again is a duplicate.
    for (id, key) in fired.iter().step_by(7) {
        let again =
            control_plane.client().fire(id, "ping", &FireRequest { payload: None }, Some(key)).await?;
        assert!(again.duplicate, "{id} forgot the key {key}");
    }
    Ok(())
}
