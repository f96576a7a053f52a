//! Two control planes and one database: exactly one serves, and the other takes its place when it ends.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use stateous_api::{Client, StartRequest};
use stateous_e2e::{Product, eventually};
use stateous_private_postgres::Cluster;

const PING: &str = r#"{"stateous": 1, "workflow": "ping", "states": {"here": {}}, "events": {"ping": {}, "end": {}},
  "transitions": [{"from": "__start__", "to": "here"}, {"from": "here", "to": "here", "on": "ping"},
                  {"from": "here", "to": "__end__", "on": "end"}], "schemas": {}}"#;

fn graph(product: &Product) -> anyhow::Result<Vec<PathBuf>> {
    let graph = product.folder().join("ping.json");
    std::fs::write(&graph, PING)?;
    Ok(vec![graph])
}

async fn start(client: &Client, id: &str) -> Result<(), stateous_api::ClientError> {
    let start = StartRequest { token: id.to_owned(), context: None, workflow: None };
    client.start_token(&start).await.map(drop)
}

/// A standby takes over within two seconds of its predecessor's death; a loaded machine gets more.
const TAKEN_OVER: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_serves_as_soon_as_the_other_died() -> anyhow::Result<()> {
    let product = Product::new()?;
    let graphs = graph(&product)?;
    let mut first = product.serve_files(graphs.clone(), "60s").await?;
    start(first.client(), "T-0").await?;
    for round in 1..=3 {
        let mut next = product.stand_by(graphs.clone(), "60s").await?;
        let died = Instant::now();
        first.kill().await?;
        next.serves().await?;
        anyhow::ensure!(died.elapsed() < TAKEN_OVER, "it took {:?}", died.elapsed());
        start(next.client(), &format!("T-{round}")).await?;
        // What was answered before is there.
        next.history(&format!("T-{}", round - 1)).await?;
        first = next;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_not_needed_to_be_refused() -> anyhow::Result<()> {
    let product = Product::new()?;
    let graphs = graph(&product)?;
    let _first = product.serve_files(graphs.clone(), "60s").await?;
    let Err(refused) = product.serve_files(graphs, "60s").await else { anyhow::bail!("two serve") };
    anyhow::ensure!(
        format!("{refused:#}").contains("is served by another control plane (process "),
        "{refused:#}"
    );
    Ok(())
}

/// SQLite's lock is the process's own, frozen or not; Postgres lets go of a holder that says nothing for too long.
#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_that_was_frozen_and_replaced_writes_nothing() -> anyhow::Result<()> {
    let Some(cluster) = Cluster::shared() else { return Ok(()) };
    let product = Product::on(&cluster.database())?;
    let graphs = graph(&product)?;
    let mut first = product.serve_files(graphs.clone(), "60s").await?;
    start(first.client(), "T-1").await?;
    let mut next = product.stand_by(graphs, "60s").await?;
    first.process().signal("STOP").await?;
    next.serves().await?;
    start(next.client(), "T-2").await?;

    // This request waits in the frozen one's socket, and is the first thing that it sees.
    let late = tokio::spawn({
        let client = first.client().clone();
        async move { start(&client, "T-3").await }
    });
    first.process().signal("CONT").await?;
    let status = first.process().wait(Duration::from_secs(30)).await?;
    assert_eq!(status.code(), Some(1), "{}", first.process().log());
    assert!(late.await?.is_err(), "it wrote, or said so");
    anyhow::ensure!(
        first.process().log().contains("another control plane took"),
        "{}",
        first.process().log()
    );
    assert!(next.history("T-3").await.is_err(), "it wrote");
    start(next.client(), "T-3").await?;
    Ok(())
}

/// Nobody took its place: it goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_that_was_frozen_in_peace_goes_on() -> anyhow::Result<()> {
    let Some(cluster) = Cluster::shared() else { return Ok(()) };
    let url = cluster.database();
    let product = Product::on(&url)?;
    let mut plane = product.serve_files(graph(&product)?, "60s").await?;
    start(plane.client(), "T-1").await?;
    plane.process().signal("STOP").await?;
    let database = url.rsplit('/').next().unwrap_or_default();
    let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = \
        (SELECT oid FROM pg_database WHERE datname = current_database())";
    let is_held = async |held_by: &str| (cluster.query(database, held) == held_by).then_some(());
    let let_go = eventually(Duration::from_secs(60), async || is_held("0").await).await;
    anyhow::ensure!(let_go.is_some(), "Postgres does not let go of a frozen holder");
    plane.process().signal("CONT").await?;
    let again = eventually(Duration::from_secs(30), async || start(plane.client(), "T-2").await.ok()).await;
    anyhow::ensure!(again.is_some(), "{}", plane.process().log());
    let held_again = eventually(Duration::from_secs(30), async || is_held("1").await).await;
    anyhow::ensure!(held_again.is_some(), "it serves without holding its database");
    Ok(())
}
