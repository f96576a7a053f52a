//! `stateous dev`: one process that serves a folder and takes what is saved.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use stateous_api::{Client, StartRequest};
use stateous_e2e::{Process, Product, eventually};

/// A copy of `examples/orders` with its sources, below the repository's target folder: the guest toolchain is found from
/// there, however it came.
fn orders() -> anyhow::Result<(tempfile::TempDir, PathBuf)> {
    let root = Product::root();
    std::fs::create_dir_all(root.join("target"))?;
    let home = tempfile::Builder::new().prefix("dev-story-").tempdir_in(root.join("target"))?;
    let folder = home.path().join("orders");
    copy(&root.join("examples/orders/workflow.toml"), &folder.join("workflow.toml"))?;
    for file in ["Cargo.toml", "Cargo.lock"] {
        copy(&root.join("examples/orders/routines").join(file), &folder.join("routines").join(file))?;
    }
    for state in ["draft", "review"] {
        let (from, to) =
            (root.join("examples/orders/routines").join(state), folder.join("routines").join(state));
        copy(&from.join("src/lib.rs"), &to.join("src/lib.rs"))?;
        // The SDK is where it was.
        let manifest = std::fs::read_to_string(from.join("Cargo.toml"))?;
        let sdk = root.join("guest-sdk").display().to_string();
        std::fs::write(to.join("Cargo.toml"), manifest.replace("../../../../guest-sdk", &sdk))?;
    }
    Ok((home, folder))
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to.parent().unwrap_or(to))?;
    std::fs::copy(from, to)?;
    Ok(())
}

/// Starts a token and waits for its draft.
async fn draft_of(client: &Client, id: &str) -> anyhow::Result<String> {
    let context = serde_json::value::to_raw_value(&json!({"title": "an order that is approved at once"}))?;
    let start = StartRequest { token: id.to_owned(), context: Some(context), workflow: None };
    client.start_token(&start).await?;
    let ended = eventually(Duration::from_secs(20), async || {
        let token = client.token(id).await.ok()?;
        (token.status == "completed").then_some(token)
    });
    let token = ended.await.ok_or_else(|| anyhow::anyhow!("{id} did not complete"))?;
    let context: serde_json::Value = serde_json::from_str(token.context.get())?;
    Ok(context["draft"].as_str().unwrap_or_default().to_owned())
}

/// Waits for a line of the log after `seen` bytes of it.
async fn line_after(process: &Process, seen: usize, text: &str) -> anyhow::Result<()> {
    // A first build of the routines compiles what they depend on.
    let found = eventually(Duration::from_secs(120), async || {
        process.log().get(seen..).is_some_and(|log| log.contains(text)).then_some(())
    });
    found.await.ok_or_else(|| anyhow::anyhow!("no {text:?} in time: {}", process.log()))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_runs_and_what_does_not_build_changes_nothing() -> anyhow::Result<()> {
    if Product::routine("orders", "draft").is_none() {
        return Ok(());
    }
    let product = Product::new()?;
    let (_home, folder) = orders()?;
    let mut command = product.command();
    command.arg("dev").arg(&folder).args(["--listen", "127.0.0.1:0"]);
    let mut dev = Process::start("dev", product.folder(), &mut command)?;
    let serving = dev.line("serving orders on http://").await?;
    let url =
        serving.split_whitespace().find(|word| word.starts_with("http://")).unwrap_or_default().to_owned();
    let client = Client::new(&url)?;
    line_after(&dev, 0, "try: ").await?;
    assert_eq!(draft_of(&client, "A").await?, "Please order: an order that is approved at once.");

    let source = folder.join("routines/draft/src/lib.rs");
    let text = std::fs::read_to_string(&source)?;
    let seen = dev.log().len();
    std::fs::write(&source, text.replace("Please order:", "Kindly order:"))?;
    line_after(&dev, seen, "orders/draft: version 2 is in force").await?;
    assert_eq!(draft_of(&client, "B").await?, "Kindly order: an order that is approved at once.");

    let seen = dev.log().len();
    std::fs::write(&source, "this is no Rust")?;
    line_after(&dev, seen, "does not build; see above; what served before goes on").await?;
    let workflow = folder.join("workflow.toml");
    let good = std::fs::read_to_string(&workflow)?;
    let seen = dev.log().len();
    std::fs::write(&workflow, good.replace("\"review\"", "\"reviews\""))?;
    line_after(&dev, seen, "does not compile: 2 mistakes; the old graph goes on").await?;
    assert_eq!(draft_of(&client, "C").await?, "Kindly order: an order that is approved at once.");

    dev.signal("INT").await?;
    let status = dev.wait(Duration::from_secs(10)).await?;
    assert!(status.success(), "{status}: {}", dev.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_routine_of_another_language_is_built_and_watched_too() -> anyhow::Result<()> {
    if Product::guest("c-example").is_none() {
        return Ok(());
    }
    let product = Product::new()?;
    let root = Product::root();
    let home = tempfile::Builder::new().prefix("dev-story-").tempdir_in(root.join("target"))?;
    let folder = home.path().join("drafts");
    let source = folder.join("routines/draft/routine.c");
    copy(&root.join("guest-sdk/c/example/routine.c"), &source)?;
    std::fs::write(
        folder.join("workflow.toml"),
        "workflow = \"drafts\"\ncontext = \"Item\"\n\n[states.draft]\nstart = true\non.submitted = \"END\"\n\
         on.needs-work = \"END\"\n\n[events.needs-work]\npayload = \"Why\"\n\n[schemas.Item]\ntitle = \"string\"\n\n\
         [schemas.Why]\nbecause = \"string\"\n",
    )?;
    let mut command = product.command();
    command.arg("dev").arg(&folder).args(["--listen", "127.0.0.1:0"]);
    let mut dev = Process::start("dev", product.folder(), &mut command)?;
    let serving = dev.line("serving drafts on http://").await?;
    let url =
        serving.split_whitespace().find(|word| word.starts_with("http://")).unwrap_or_default().to_owned();
    let client = Client::new(&url)?;
    line_after(&dev, 0, "try: ").await?;
    assert_eq!(draft_of(&client, "A").await?, "Please order: an order that is approved at once.");

    let text = std::fs::read_to_string(&source)?;
    let seen = dev.log().len();
    std::fs::write(&source, text.replace("Please order:", "Kindly order:"))?;
    line_after(&dev, seen, "drafts/draft: version 2 is in force").await?;
    assert_eq!(draft_of(&client, "B").await?, "Kindly order: an order that is approved at once.");

    let seen = dev.log().len();
    std::fs::write(&source, "this is no C")?;
    line_after(&dev, seen, "does not build; see above; what served before goes on").await?;
    assert_eq!(draft_of(&client, "C").await?, "Kindly order: an order that is approved at once.");
    Ok(())
}
