//! The database goes away under a control plane, and comes back. Requests are told, nothing that was answered is missing,
//! people are told once each, and nobody has to help.

use std::time::{Duration, Instant};

use stateous_api::{Client, ClientError, Code, StartRequest};
use stateous_e2e::{ControlPlane, Product, eventually};
use stateous_private_postgres::Cluster;

const PING: &str = r#"{"stateous": 1, "workflow": "ping", "states": {"here": {}}, "events": {"end": {}},
  "transitions": [{"from": "__start__", "to": "here"}, {"from": "here", "to": "__end__", "on": "end"}], "schemas": {}}"#;
const PATIENCE: Duration = Duration::from_secs(60);

async fn start(client: &Client, id: &str) -> Result<(), ClientError> {
    let start = StartRequest { token: id.to_owned(), context: None, workflow: None };
    client.start_token(&start).await.map(drop)
}

/// Starts one token after the other until one is refused, and answers how it was refused.
async fn until_refused(plane: &ControlPlane, taken: &mut Vec<String>) -> anyhow::Result<ClientError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let id = format!("T-{}", taken.len());
        match start(plane.client(), &id).await {
            Ok(()) => taken.push(id),
            Err(refused) => return Ok(refused),
        }
        anyhow::ensure!(Instant::now() < deadline, "nothing is refused without a database");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_killed_and_comes_back() -> anyhow::Result<()> {
    let Some(cluster) = Cluster::own() else { return Ok(()) };
    let product = Product::on(&cluster.database())?;
    let graph = product.folder().join("ping.json");
    std::fs::write(&graph, PING)?;
    let mut plane = product.serve_files(vec![graph], "60s").await?;
    let mut taken = Vec::new();
    for round in 1..=2 {
        for _ in 0..10 {
            let id = format!("T-{}", taken.len());
            start(plane.client(), &id).await?;
            taken.push(id);
        }
        cluster.kill();
        let refused = until_refused(&plane, &mut taken).await?;
        assert_eq!(refused.code(), Some(Code::DatabaseBusy), "{refused}");
        cluster.start_again()?;
        let next = format!("T-{}", taken.len());
        let back = eventually(PATIENCE, async || start(plane.client(), &next).await.ok()).await;
        anyhow::ensure!(back.is_some(), "{}", plane.process().log());
        taken.push(next);
        let log = plane.process().log();
        let told = |text: &str| log.lines().filter(|line| line.contains(text)).count();
        assert_eq!((told("Nothing was written"), told("takes changes again")), (round, round), "{log}");
    }
    for id in &taken {
        plane.history(id).await?;
    }
    Ok(())
}
