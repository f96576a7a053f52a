//! What the command line prints: for people, and with `--json` for programs.

use stateous_e2e::{ControlPlane, Product};

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

/// The text with every instant (`2026-11-29T11:16:28.123Z`) and every time of day (`11:16:28`) replaced.
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
            form(rest, "00:00:00").then_some(8)
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
