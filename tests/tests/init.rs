//! The first minutes: `stateous init` writes what runs as it stands, and what a person goes on to write stays.

use std::path::Path;
use std::time::Duration;

use stateous_api::RoutineLimits;
use stateous_e2e::{Process, Product, eventually};

/// A folder below the repository's target folder: the guest toolchain is found from there, however it came.
fn home() -> anyhow::Result<tempfile::TempDir> {
    let target = Product::root().join("target");
    std::fs::create_dir_all(&target)?;
    Ok(tempfile::Builder::new().prefix("init-story-").tempdir_in(target)?)
}

/// Runs a command that must succeed: its stdout, with the folder written as HOME.
async fn done(product: &Product, home: &Path, words: &[&str]) -> anyhow::Result<String> {
    let output = product.command().current_dir(home).args(words).output().await?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{words:?} ended with {}: {stderr}", output.status);
    Ok(String::from_utf8(output.stdout)?.replace(&home.display().to_string(), "HOME"))
}

/// Starts `dev` and waits until every routine serves: its URL.
async fn dev(product: &Product, folder: &Path) -> anyhow::Result<(Process, String)> {
    let mut command = product.command();
    command.arg("dev").arg(folder).args(["--listen", "127.0.0.1:0"]);
    let mut dev = Process::start("dev", product.folder(), &mut command)?;
    let serving = dev.line("serving ").await?;
    let url =
        serving.split_whitespace().find(|word| word.starts_with("http://")).unwrap_or_default().to_owned();
    // A first build of the routines compiles what they depend on.
    let built =
        eventually(Duration::from_secs(240), async || dev.log().contains("try: ").then_some(())).await;
    anyhow::ensure!(built.is_some(), "the routines were not built in time: {}", dev.log());
    Ok((dev, url))
}

/// Waits until a token ended: the exit code of `token wait`, and what `token show` says of the token.
async fn ended(product: &Product, url: &str, id: &str) -> anyhow::Result<(i32, String)> {
    let (code, ..) = product.run(&["token", "wait", id, "--timeout", "30s", "--url", url]).await?;
    let (_, shown, _) = product.run(&["token", "show", id, "--url", url]).await?;
    Ok((code, shown))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_starter_completes_a_token_as_it_stands() -> anyhow::Result<()> {
    if Product::routine("orders", "draft").is_none() {
        return Ok(());
    }
    let (product, home) = (Product::new()?, home()?);
    insta::assert_snapshot!(done(&product, home.path(), &["init", "workflow", "parcels"]).await?);
    let folder = home.path().join("parcels");

    let (mut dev, url) = dev(&product, &folder).await?;
    let (code, _, stderr) =
        product.run(&["token", "start", "ORDER-1", "{\"title\": \"first order\"}", "--url", &url]).await?;
    assert_eq!(code, 0, "{stderr}");
    let (code, shown) = ended(&product, &url, "ORDER-1").await?;
    assert_eq!((code, shown.lines().next()), (0, Some("ORDER-1: review, completed")), "{}", dev.log());
    assert!(shown.contains("  draft 1: Please send: first order.\n"), "{shown}");

    // A state is added: it gets a routine to write, which says so until it is written.
    let workflow = folder.join("workflow.toml");
    let text = std::fs::read_to_string(&workflow)?;
    let text = text.replace("{ to = \"END\", when", "{ to = \"send-off\", when")
        + "\n[states.send-off]\non.sent = \"END\"\n\n[events.sent]\npayload = \"Sent\"\n\n[schemas.Sent]\nparcels = \"integer\"\n";
    std::fs::write(&workflow, text)?;
    let source = folder.join("routines/draft/src/lib.rs");
    let own = std::fs::read_to_string(&source)?.replace("Please send", "Kindly send");
    std::fs::write(&source, &own)?;
    let again = ["init", "supervisor", "parcels/workflow.toml", "parcels"];
    insta::assert_snapshot!(done(&product, home.path(), &again).await?);
    assert_eq!(std::fs::read_to_string(&source)?, own, "what a person wrote stays");
    let stub = folder.join("routines/send-off/src/lib.rs");
    insta::assert_snapshot!(std::fs::read_to_string(&stub)?);

    let served = eventually(Duration::from_secs(120), async || {
        dev.log().contains("parcels/send-off: version 1 is in force").then_some(())
    });
    anyhow::ensure!(served.await.is_some(), "the new routine does not serve: {}", dev.log());
    let (code, _, stderr) =
        product.run(&["token", "start", "ORDER-2", "{\"title\": \"a pen\"}", "--url", &url]).await?;
    assert_eq!(code, 0, "{stderr}");
    let (code, shown) = ended(&product, &url, "ORDER-2").await?;
    assert_eq!((code, shown.lines().next()), (1, Some("ORDER-2: send-off, failed")), "{}", dev.log());
    let unwritten = "the routine of 'send-off' is not written yet: write routines/send-off/src/lib.rs";
    assert!(shown.contains("  draft 1: Kindly send: a pen.\n") && shown.contains(unwritten), "{shown}");

    // It is written, and the token tries again.
    let text = std::fs::read_to_string(&stub)?;
    let begin = text.find("    // Until").unwrap_or(text.len());
    let body = "    ctx.info(\"sent\");\n    Ok(Outcome::Sent(contract::Sent { parcels: 1 }))\n}\n";
    std::fs::write(&stub, format!("{}{body}", &text[..begin]))?;
    let served = eventually(Duration::from_secs(120), async || {
        dev.log().contains("parcels/send-off: version 2 is in force").then_some(())
    });
    anyhow::ensure!(served.await.is_some(), "the written routine does not serve: {}", dev.log());
    let (code, stdout, stderr) = product.run(&["token", "retry", "ORDER-2", "--url", &url]).await?;
    assert_eq!((code, stdout.as_str()), (0, "ORDER-2: send-off (visit 2), active\n"), "{stderr}");
    let (code, shown) = ended(&product, &url, "ORDER-2").await?;
    assert_eq!((code, shown.lines().next()), (0, Some("ORDER-2: send-off (visit 2), completed")));

    dev.signal("INT").await?;
    let status = dev.wait(Duration::from_secs(10)).await?;
    assert!(status.success(), "{status}: {}", dev.log());

    // The same folder, uploaded to another control plane.
    let control_plane = product.serve_files(vec![workflow], "2m").await?;
    let push = ["routine", "push", "parcels", "--url", &control_plane.url()];
    for (version, was) in [(1, ""), (1, " (nothing changed: it did so before)")] {
        let said = done(&product, home.path(), &push).await?;
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 3, "{said}");
        for (line, state) in lines.iter().zip(["draft", "review", "send-off"]) {
            let begins = format!("parcels/{state}: version {version}, {state}.wasm, sha256:");
            assert!(line.starts_with(&begins) && line.ends_with(&format!("rust 0.1.0{was}")), "{line}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_is_made_for_a_control_plane_that_serves() -> anyhow::Result<()> {
    let product = Product::new()?;
    let control_plane = product.serve(&["orders"], "2m").await?;
    let url = control_plane.url();
    let said = done(&product, product.folder(), &["init", "supervisor", &url, "box"]).await?;
    insta::assert_snapshot!(said.replace(&url, "URL"));
    let settings = std::fs::read_to_string(product.folder().join("box/stateous.toml"))?;
    assert!(settings.contains(&format!("url = \"{url}\"")), "{settings}");

    // What is served already needs nobody to write it.
    let Some(draft) = Product::routine("orders", "draft") else { return Ok(()) };
    control_plane.push("orders", "draft", &draft, RoutineLimits::default()).await?;
    let said = done(&product, product.folder(), &["init", "supervisor", &url, "half"]).await?;
    insta::assert_snapshot!(said.replace(&url, "URL"));
    let Some(review) = Product::routine("orders", "review") else { return Ok(()) };
    control_plane.push("orders", "review", &review, RoutineLimits::default()).await?;
    let said = done(&product, product.folder(), &["init", "supervisor", &url, "none"]).await?;
    insta::assert_snapshot!(said.replace(&url, "URL"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_where_something_is_wrong() -> anyhow::Result<()> {
    let product = Product::new()?;
    std::fs::create_dir(product.folder().join("there"))?;
    std::fs::write(product.folder().join("there/workflow.toml"), "# mine\n")?;
    let mut seen = String::new();
    for words in [
        &["init", "workflow", "there"][..],
        &["init", "workflow", "Orders"],
        &["init", "workflow", "orders", "--stateous-path", "/nowhere"],
        &["init", "supervisor", "missing.json", "box"],
        &["init", "supervisor", "there/workflow.toml", "box"],
        &["init", "supervisor", "http://127.0.0.1:1", "box"],
        &["init", "routine", "--lang", "rust", "--state", "draft", "nowhere"],
        &["routine", "push", "there"],
        &["routine", "push", "there", "--state", "orders/draft"],
        &["routine", "push", "there/workflow.toml"],
    ] {
        let (code, stdout, stderr) = product.run(words).await?;
        seen.push_str(&format!("$ stateous {}\nexit {code}\n{stdout}{stderr}\n", words.join(" ")));
    }
    insta::assert_snapshot!(seen);
    assert!(!product.folder().join("box").exists() && !product.folder().join("Orders").exists());
    assert!(!product.folder().join("orders").exists());
    Ok(())
}
