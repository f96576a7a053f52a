//! Whoever runs the original (Python Stateous 0.2.2) can put our control plane in the place of theirs: its compiler's graph
//! files, its command line, its client and its supervisor work unchanged, and leave the history that they left before.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use stateous_api::client::TokensQuery;
use stateous_api::{Client, RoutineLimits, StartRequest};
use stateous_e2e::{ControlPlane, History, Original, OriginalControlPlane, Process, Product, eventually};
use tokio::process::Command;

/// Our control plane and the original's, both with one graph file.
async fn both(
    original: &Original,
    product: &Product,
    graph: PathBuf,
) -> anyhow::Result<(ControlPlane, OriginalControlPlane)> {
    tokio::try_join!(product.serve_files(vec![graph.clone()], "2m"), original.serve(product, &graph))
}

/// A supervisor of the original for each of the two control planes, with the same routines.
async fn supervisors(
    original: &Original,
    product: &Product,
    (ours, theirs): (&Client, &Client),
    routines: &str,
) -> anyhow::Result<(Process, Process)> {
    tokio::try_join!(
        original.supervise(product, "box-of-ours", ours.url(), routines, &[]),
        original.supervise(product, "box-of-theirs", theirs.url(), routines, &[])
    )
}

async fn start(client: &Client, id: &str, context: &Value) -> anyhow::Result<()> {
    let context = Some(serde_json::value::to_raw_value(context)?);
    client.start_token(&StartRequest { token: id.into(), context, workflow: None }).await?;
    Ok(())
}

/// Waits until a token's history holds what is asked for, and gives it back as the original's clients see it, without times.
async fn until(client: &Client, id: &str, holds: impl Fn(&History) -> bool) -> anyhow::Result<History> {
    let mut last = None;
    let found = eventually(Duration::from_secs(30), async || {
        last = History::of_token(client, id, false).await.ok();
        last.as_ref().filter(|history| holds(history)).cloned()
    })
    .await;
    let mut history = found.with_context(|| {
        format!("{}: the history of {id} did not come to hold it: {last:#?}", client.url())
    })?;
    for (_, data) in &mut history.0 {
        if let Some(due_at) = data.get_mut("due_at") {
            *due_at = json!("TIME");
        }
        // Whoever served it, and but for what is ours alone.
        if let Some(supervisor) = data.get_mut("supervisor") {
            *supervisor = json!("box");
        }
        for branch in
            data.pointer_mut("/payload/branches").and_then(Value::as_array_mut).into_iter().flatten()
        {
            branch.as_object_mut().map(|branch| branch.remove("ended_by"));
        }
    }
    Ok(history)
}

/// Waits for the same on both sides, and compares the histories.
async fn same_history(
    (ours, theirs): (&Client, &Client),
    id: &str,
    holds: impl Fn(&History) -> bool,
) -> anyhow::Result<History> {
    let (ours, theirs) = tokio::try_join!(until(ours, id, &holds), until(theirs, id, &holds))?;
    // Kind for kind and data for data.
    same_lines(&written(&ours), &written(&theirs));
    Ok(ours)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_starter_of_the_original_runs_as_it_stands() -> anyhow::Result<()> {
    let Some(original) = Original::find()? else { return Ok(()) };
    let product = Product::new()?;
    original.done(&product, &["init", "workflow", "orders"]).await?;
    let graph = product.folder().join("orders/build/orders.json");
    let file = std::fs::read_to_string(&graph)?;
    let (ours, theirs) = both(&original, &product, graph).await?;
    let clients = (ours.client(), theirs.client());

    let (served, as_theirs) = tokio::try_join!(clients.0.workflow(), clients.1.workflow())?;
    assert_eq!(served.get(), as_theirs.get(), "byte for byte");
    let (served, file): (Value, Value) = (serde_json::from_str(served.get())?, serde_json::from_str(&file)?);
    assert_eq!(served, file);
    let (health, as_theirs) = tokio::try_join!(clients.0.health(), clients.1.health())?;
    assert_eq!(health, as_theirs, "the same workflow and checksum");

    let _supervisors = supervisors(&original, &product, clients, "starter-routines").await?;
    let contract = |name: &str| std::fs::read_to_string(product.folder().join(name).join("contract.py"));
    assert_eq!(contract("box-of-ours")?, contract("box-of-theirs")?);
    for client in [clients.0, clients.1] {
        start(client, "ORDER-1", &json!({"title": "first order"})).await?;
    }
    let history = same_history(clients, "ORDER-1", History::ended).await?;
    assert_eq!(history.kinds().last(), Some(&"completed"), "{history:#?}");
    let context = |token: stateous_api::Token| token.context.get().to_owned();
    let (ours, theirs) = tokio::try_join!(clients.0.token("ORDER-1"), clients.1.token("ORDER-1"))?;
    assert_eq!(context(ours), context(theirs));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn routines_of_every_kind_leave_the_same_history() -> anyhow::Result<()> {
    let Some(original) = Original::find()? else { return Ok(()) };
    let product = Product::new()?;
    let graph = original.compile(&product, "parcels").await?;
    let (ours, theirs) = both(&original, &product, graph).await?;
    let clients = (ours.client(), theirs.client());
    let _supervisors = supervisors(&original, &product, clients, "parcels-routines").await?;
    for client in [clients.0, clients.1] {
        start(client, "P-1", &json!({"to": "Zoë"})).await?;
    }
    // One attempt fails, the next weighs; packing waits for its timer, delivery for a report from outside: at first nobody
    // signs.
    for (visit, (payload, told)) in
        [("{}", "deliver active visit 2\n"), (r#"{"signed_by": "Ada"}"#, "deliver completed visit 2\n")]
            .into_iter()
            .enumerate()
    {
        same_history(clients, "P-1", |history| history.count("task_waiting") == 2 + visit).await?;
        let report = async |client: &Client| {
            original.script(&product, "report.py", &[client.url(), "P-1", "delivered", payload]).await
        };
        let (ours, theirs) = tokio::try_join!(report(clients.0), report(clients.1))?;
        assert_eq!((ours.as_str(), theirs.as_str()), (told, told));
    }
    let history = same_history(clients, "P-1", History::ended).await?;
    insta::assert_snapshot!(written(&history));
    same_shown(&original, &product, &["token", "show", "P-1", "--url", clients.0.url()]).await
}

/// On our control plane, a supervisor of the original and one of ours share a workflow: each serves a child and a state of the
/// parent. On the original's, one Python supervisor does it all.
#[tokio::test(flavor = "multi_thread")]
async fn our_supervisor_works_beside_theirs_on_one_token() -> anyhow::Result<()> {
    let (Some(original), Some(guest)) = (Original::find()?, Product::guest("remembers")) else {
        return Ok(());
    };
    let product = Product::new()?;
    let graph = original.compile(&product, "release").await?;
    let (ours, theirs) = both(&original, &product, graph).await?;
    let clients = (ours.client(), theirs.client());
    for (workflow, state) in [("audit", "look"), ("release", "ship")] {
        ours.push(workflow, state, &guest, RoutineLimits::default()).await?;
    }
    let with = |name: &'static str, url, without: &'static [&'static str]| {
        original.supervise(&product, name, url, "release-routines", without)
    };
    let _supervisors = tokio::try_join!(
        with("python-box", clients.0.url(), &["audit_look.py", "ship.py"]),
        product.supervise("wasm-box", clients.0.url()),
        with("box-of-theirs", clients.1.url(), &[]),
    )?;
    for client in [clients.0, clients.1] {
        start(client, "R-1", &json!({"title": "Größe 4"})).await?;
    }
    for id in ["R-1", "R-1.checks.1.lint", "R-1.checks.1.audit"] {
        let history = same_history(clients, id, History::ended).await?;
        assert_eq!(history.kinds().last(), Some(&"completed"), "{history:#?}");
        same_shown(&original, &product, &["token", "show", id, "--url", clients.0.url()]).await?;
    }
    let served = History::of_token(clients.0, "R-1", false).await?;
    let by: Vec<_> = served.of("task_claimed").map(|data| data["supervisor"].clone()).collect();
    assert_eq!(by, ["box", "wasm-box"], "one task each");
    let children = async |client: &Client| {
        client.tokens(&TokensQuery { parent: Some("R-1".into()), ..TokensQuery::default() }).await
    };
    let (ours, theirs) = tokio::try_join!(children(clients.0), children(clients.1))?;
    assert_eq!(ours.len(), 2);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!((&ours.token, ours.context.get()), (&theirs.token, theirs.context.get()));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_the_original_is_told_the_same() -> anyhow::Result<()> {
    let Some(original) = Original::find()? else { return Ok(()) };
    let product = Product::new()?;
    let graph = original.compile(&product, "parcels").await?;
    let (ours, theirs) = both(&original, &product, graph).await?;
    let (ours_url, theirs_url) = ([ours.client().url()], [theirs.client().url()]);
    let (ours, theirs) = tokio::try_join!(
        original.script(&product, "client.py", &ours_url),
        original.script(&product, "client.py", &theirs_url)
    )?;
    same_lines(&ours, &theirs);
    insta::assert_snapshot!(ours);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_lines_of_both_say_the_same() -> anyhow::Result<()> {
    let Some(original) = Original::find()? else { return Ok(()) };
    let product = Product::new()?;
    let graph = original.compile(&product, "parcels").await?;
    let control_plane = product.serve_files(vec![graph], "2m").await?;
    let url = control_plane.url();
    // Each acts on a token of its own.
    let said = async |command: &dyn Fn() -> Command, id: &str| -> anyhow::Result<String> {
        let mut said = String::new();
        for words in COMMANDS {
            let words = words.replace("ID", id);
            let output = command().arg("token").args(words.split(' ')).args(["--url", &url]).output().await?;
            let (stdout, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
            // What to do next is said by ours alone.
            let stderr: String =
                stderr.lines().filter(|l| !l.starts_with("hint: ")).map(|l| format!("{l}\n")).collect();
            let text = format!("$ {words}\n{stdout}{stderr}");
            said.push_str(&text.replace(id, "ID").replace(&url, "URL"));
        }
        Ok(said)
    };
    let (ours, theirs) = (|| product.command(), || original.command(&product));
    let by_ours = said(&ours, "OURS-1").await?;
    let by_theirs = said(&theirs, "THEIRS-1").await?;
    same_lines(&by_ours, &by_theirs);
    insta::assert_snapshot!(by_ours);

    for id in ["OURS-1", "THEIRS-1"] {
        same_shown(&original, &product, &["token", "show", id, "--url", &url]).await?;
    }
    same_shown(&original, &product, &["token", "show", "--url", &url]).await?;
    same_shown(&original, &product, &["token", "show", "--graph", "--url", &url]).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn our_command_line_works_with_the_control_plane_of_the_original() -> anyhow::Result<()> {
    let Some(original) = Original::find()? else { return Ok(()) };
    let product = Product::new()?;
    let graph = original.compile(&product, "parcels").await?;
    let theirs = original.serve(&product, &graph).await?;
    let url = theirs.client().url().to_owned();
    let ours = async |words: &[&str]| product.run(&[&["token"], words, &["--url", &url]].concat()).await;
    let (_, started, _) = ours(&["start", "P-1", r#"{"to":"Zoë"}"#]).await?;
    assert_eq!(started, "P-1: weigh, active\n");
    let watch = product.command().args(["token", "watch", "P-1", "--url", &url]).kill_on_drop(true).output();
    let act = async {
        for (words, told) in [
            (&["fire", "P-1", "weighed", r#"{"grams":900}"#][..], "P-1: pack, active\n"),
            (&["wait", "P-1", "--until-state", "pack"], "P-1: pack, active\n"),
            (&["show"], "P-1: pack, active\n"),
            (&["cancel", "P-1"], "P-1: pack, cancelled\n"),
            (&["wait", "P-1", "--status", "cancelled"], "P-1: pack, cancelled\n"),
        ] {
            assert_eq!(ours(words).await?.1, told, "{words:?}");
        }
        let (code, _, stderr) = ours(&["retry", "P-1"]).await?;
        assert_eq!((code, stderr.contains("refused (404)")), (1, true), "{stderr}");
        anyhow::Ok(())
    };
    let (watched, acted) = tokio::join!(watch, act);
    acted?;
    // The history, then the token's line; the original tells them the other way round.
    let watched = String::from_utf8(watched?.stdout)?;
    let shown = original.done(&product, &["token", "show", "P-1", "--url", &url]).await?;
    let (token, history) = shown.split_once('\n').unwrap_or_default();
    same_lines(&watched, &format!("{history}{token}\n"));
    Ok(())
}

/// What both command lines show of our control plane, line by line.
async fn same_shown(original: &Original, product: &Product, words: &[&str]) -> anyhow::Result<()> {
    let theirs = original.done(product, words).await?;
    let (code, ours, stderr) = product.run(words).await?;
    assert_eq!((code, stderr.as_str()), (0, ""), "{words:?}");
    same_lines(&ours, &theirs);
    Ok(())
}

/// A history as a snapshot keeps it.
fn written(history: &History) -> String {
    history.0.iter().map(|(kind, data)| format!("{kind} {data}\n")).collect()
}

/// Compares two outputs line by line, so that the first line that differs is the message.
fn same_lines(ours: &str, theirs: &str) {
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{ours}\n\n{theirs}");
}

/// What each command line is told to do; the token's history holds a line of each kind that needs no supervisor.
const COMMANDS: &[&str] = &[
    r#"start ID {"to":"Zoë"}"#,
    r#"fire ID weighed {"grams":900} --key delivery-1"#,
    r#"fire ID weighed {"grams":900} --key delivery-1"#,
    "fire ID delivered",
    "pause ID",
    "fire ID packed",
    "resume ID",
    "cancel ID",
    "pause ID",
    "show ID-unknown",
    "start ID {}",
];
