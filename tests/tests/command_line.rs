//! What the command line prints: for people, and with `--json` for programs.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use stateous_api::ClaimRequest;
use stateous_e2e::{ControlPlane, Product, eventually};

/// Runs commands one after the other and renders them as a terminal would show them: `$`, stdout, stderr, and the exit code
/// when it is not 0. URL, folder and instants are replaced.
async fn session(
    product: &Product,
    control_plane: &ControlPlane,
    commands: &[&[&str]],
) -> anyhow::Result<String> {
    let url = control_plane.url();
    let folder = product.folder().display().to_string();
    let mut seen = String::new();
    for words in commands {
        let output = product.command().args(*words).env("STATEOUS_URL", &url).output().await?;
        let (stdout, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
        let code = match output.status.code() {
            Some(0) => String::new(),
            code => format!("exit {}\n", code.unwrap_or(-1)),
        };
        seen.push_str(&format!("$ stateous {}\n{stdout}{stderr}{code}\n", words.join(" ")));
    }
    Ok(timeless(&seen.replace(&url, "URL").replace(&folder, "FOLDER")))
}

/// The text with every instant (`2026-11-29T11:16:28.123Z`, `2026-11-29 11:16:28`, `11:16:28`) replaced.
fn timeless(text: &str) -> String {
    let form = |rest: &str, form: &str| {
        let fits = |(c, f): (char, char)| if f == '0' { c.is_ascii_digit() } else { c == f };
        rest.len() >= form.len() && rest.chars().zip(form.chars()).all(fits)
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if form(rest, "0000-00-00T00:00:00") {
            rest.find('Z').map(|z| z + 1)
        } else {
            let day = form(rest, "0000-00-00 00:00:00").then_some(19);
            day.or_else(|| form(rest, "00:00:00").then_some(8))
        };
        match skipped {
            Some(length) => {
                out.push_str("TIME");
                rest = &rest[length..];
            }
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn json_for_programs() -> anyhow::Result<()> {
    let product = Product::new()?;
    let control_plane = product.serve(&["orders"], "2m").await?;
    std::fs::write(
        product.folder().join("wrong.toml"),
        "workflow = \"w\"\n[states.a]\nstart = true\non.b = \"c\"\n",
    )?;
    let orders = Product::root().join("examples/orders/workflow.toml").display().to_string();
    let seen = session(
        &product,
        &control_plane,
        &[
            &["token", "show", "--json"],
            &["token", "start", "T-1", "{\"title\": \"a \\u009b2J pen\", \"n\": 1.000}", "--json"],
            &["token", "start", "T-1", "--json"],
            &["token", "fire", "T-1", "submitted", "--key", "k", "--json"],
            &["token", "fire", "T-1", "submitted", "--key", "k", "--json"],
            &["token", "fire", "T-1", "submitted", "--json"],
            &["token", "pause", "T-1", "--json"],
            &["token", "show", "T-1", "--json"],
            &["token", "show", "--json"],
            &["token", "show", "T-2", "--json"],
            &["token", "start", "T-2", "[]", "--json"],
            &["token", "--json", "start"],
            &["token", "show", "T-1", "--json", "--url", "http://127.0.0.1:1"],
            &["routine", "list", "--json"],
            &["compile", "wrong.toml", "--json"],
            &["compile", &orders, "--check", "--json"],
            &["compile", &orders, "--out", "orders.json", "--json"],
        ],
    )
    .await?;
    insta::assert_snapshot!(seen.replace(&Product::root().display().to_string(), "ROOT"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn words_for_people() -> anyhow::Result<()> {
    let product = Product::new()?;
    let control_plane = product.serve(&["orders"], "2m").await?;
    let mut seen = session(
        &product,
        &control_plane,
        &[
            &["token", "show"],
            &["task", "list"],
            &["supervisor", "list"],
            &["token", "start", "ORDER-1", "{\"title\": \"a pen\"}"],
            &["token", "start", "ORDER-2", "{\"title\": \"ink\"}"],
            &["token", "start", "other", "{\"title\": \"paper\"}"],
            &["token", "fire", "ORDER-2", "submitted"],
            &["token", "fire", "ORDER-2", "submitted"],
            &["token", "fire", "ORDER-9", "submitted"],
            &["token", "fire", "nobody", "submitted"],
            &["token", "show", "--prefix", "ORDER-"],
            &["token", "show", "--state", "draft", "--prefix", "o"],
            &["token", "show", "--state", "orders/review"],
            &["token", "show", "--status", "failed"],
            &["token", "show", "--status", "lost"],
            &["token", "show", "--prefix", "O", "--limit", "1"],
            &["token", "show", "ORDER-1", "--prefix", "O"],
            &["task", "list"],
            &["task", "list", "--unserved", "--state", "draft"],
            &["task", "list", "--token", "ORDER-2", "--status", "any"],
            &["task", "show", "3"],
            &["task", "show", "99"],
            &["task", "report", "1", "submitted"],
        ],
    )
    .await?;
    // A supervisor of somebody's, over the bare API.
    let claim = ClaimRequest {
        supervisor: "box".to_owned(),
        states: Some(vec!["draft".to_owned()]),
        request: None,
        max: Some(1),
        wait_ms: None,
        routines: false,
        incarnation: None,
    };
    let task = control_plane.client().claim(&claim).await?.grants.pop().map(|grant| grant.task);
    assert_eq!(task, Some(1));
    seen += &session(
        &product,
        &control_plane,
        &[
            &["supervisor", "list"],
            &["task", "show", "1"],
            &["task", "show", "1", "--json"],
            &["task", "report", "1", "reviewed", "{\"approved\": true}"],
            &["task", "report", "1", "--waiting"],
            &["task", "report", "1", "--waiting", "--supervisor", "nobody"],
            &["task", "report", "1", "--waiting", "--supervisor", "box"],
            &["task", "list", "--supervisor", "box"],
            &["task", "report", "1", "--failed", "no pen", "--no-retry", "--attempt", "2"],
            &["task", "report", "1", "--failed", "no pen", "--no-retry"],
            &["task", "report", "1", "--failed", "no pen"],
            &["task", "report", "1"],
            &["token", "fire", "ORDER-1", "submitted"],
            &["token", "retry", "ORDER-1"],
            &["token", "retry", "ORDER-1"],
            &["token", "show", "ORDER-1", "--all"],
            &["token", "wait", "ORDER-1", "--status", "active"],
            &["token", "wait", "ORDER-2", "--until-state", "draft"],
            &["token", "wait", "ORDER-1", "other", "--timeout", "1s"],
            &["token", "cancel", "other"],
            &["token", "wait", "other"],
            &["token", "wait", "other", "--json"],
            &["token", "wait", "other", "--status", "cancelled"],
            &["token", "wait", "ORDER-9"],
            &["token", "watch", "other"],
            &["token", "watch", "other", "--json"],
            &["task", "list", "--json"],
            &["supervisor", "list", "--json"],
        ],
    )
    .await?;
    insta::assert_snapshot!(seen);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_chose_port_0_is_told_which_it_became() -> anyhow::Result<()> {
    let product = Product::new()?;
    let orders = Product::root().join("examples/orders/workflow.toml").display().to_string();
    let words = ["serve", &orders, "--db", "sqlite:///zero.db", "--listen", "127.0.0.1:0", "--json"];
    let serve = Watch::start(&product, "serve", &words)?;
    serve.until("\n").await?;
    let told: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&serve.file)?)?;
    let url = told["url"].as_str().unwrap_or_default();
    assert_eq!(product.run(&["token", "show", "--url", url]).await?.1, "no tokens\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn completions_name_every_command() -> anyhow::Result<()> {
    let product = Product::new()?;
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, script, _) = product.run(&["completions", shell]).await?;
        assert_eq!(code, 0, "{shell}");
        for word in ["compile", "supervise", "completions", "--json", "cancel"] {
            let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    Ok(())
}

/// A running `token watch`, whose lines go to a file.
struct Watch {
    child: tokio::process::Child,
    file: std::path::PathBuf,
}

impl Watch {
    fn start(product: &Product, name: &str, words: &[&str]) -> anyhow::Result<Self> {
        let file = product.folder().join(name);
        let mut command = product.command();
        command.args(words).stdin(Stdio::null()).stdout(std::fs::File::create(&file)?);
        command.stderr(std::fs::File::create(file.with_extension("err"))?).kill_on_drop(true);
        Ok(Self { child: command.spawn()?, file })
    }

    /// Waits until its output holds a text.
    async fn until(&self, text: &str) -> anyhow::Result<()> {
        until(&self.file, text).await
    }
}

async fn until(file: &Path, text: &str) -> anyhow::Result<()> {
    let read = || std::fs::read_to_string(file).unwrap_or_default();
    let found = eventually(Duration::from_secs(20), async || read().contains(text).then_some(())).await;
    anyhow::ensure!(found.is_some(), "no {text:?} in {}: {}", file.display(), read());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_tells_every_line_once_over_restarts_of_the_control_plane() -> anyhow::Result<()> {
    let product = Product::new()?;
    let mut control_plane = product.serve(&["orders"], "2m").await?;
    let url = control_plane.url();
    let fire = async |words: &[&str]| {
        let words = [&["token", "fire", "T-1"], words, &["--url", &url]].concat();
        let (code, _, stderr) = product.run(&words).await?;
        anyhow::ensure!(code == 0, "{words:?}: {stderr}");
        Ok(())
    };
    let start = ["token", "start", "T-1", "{\"title\": \"a pen\"}", "--url", &url];
    assert_eq!(product.run(&start).await?.0, 0);
    let mut words = Watch::start(&product, "words", &["token", "watch", "T-1", "--url", &url])?;
    let mut all =
        Watch::start(&product, "all", &["token", "watch", "T-1", "--all", "--json", "--url", &url])?;
    let waiting = Watch::start(&product, "waiting", &["token", "wait", "T-1", "--url", &url])?;
    words.until("task 1 queued for draft").await?;
    fire(&["submitted"]).await?;
    words.until("entered review").await?;
    // It is away, and what happens before it is asked again is told too.
    control_plane.kill().await?;
    until(&words.file.with_extension("err"), "asking again until it is back").await?;
    control_plane.start(&product).await?;
    fire(&["reviewed", "{\"approved\": false}"]).await?;
    words.until("entered draft (visit 2)").await?;
    control_plane.kill().await?;
    control_plane.start(&product).await?;
    fire(&["submitted"]).await?;
    fire(&["reviewed", "{\"approved\": true}"]).await?;
    for watch in [&mut words.child, &mut all.child] {
        let ended = tokio::time::timeout(Duration::from_secs(20), watch.wait()).await??;
        assert!(ended.success(), "{ended}");
    }
    let mut waiting = waiting;
    let ended = tokio::time::timeout(Duration::from_secs(20), waiting.child.wait()).await??;
    assert!(ended.success(), "{ended}");
    assert_eq!(std::fs::read_to_string(&waiting.file)?, "T-1: review (visit 2), completed\n");

    // What `show` tells afterwards, its first line last.
    let (_, shown, _) = product.run(&["token", "show", "T-1", "--url", &url]).await?;
    let (token, history) = shown.split_once('\n').unwrap_or_default();
    assert_eq!(std::fs::read_to_string(&words.file)?, format!("{history}{token}\n"));
    let (_, shown, _) = product.run(&["token", "show", "T-1", "--all", "--json", "--url", &url]).await?;
    let shown: serde_json::Value = serde_json::from_str(&shown)?;
    let lines = std::fs::read_to_string(&all.file)?;
    let lines = lines.lines().map(serde_json::from_str).collect::<Result<Vec<serde_json::Value>, _>>()?;
    assert_eq!(serde_json::Value::Array(lines), shown["history"]);
    Ok(())
}
