//! What goes wrong at the command line gets one clear sentence and exit code 1; a wrong command gets 2. Nothing prints a
//! backtrace.

use stateous_e2e::Product;

/// Runs a command and renders its exit code and stderr, with the story's folder written as FOLDER.
async fn told(product: &Product, words: &[&str]) -> anyhow::Result<String> {
    let (code, _, stderr) = product.run(words).await?;
    let folder = product.folder().display().to_string();
    assert!(!stderr.contains("panicked") && !stderr.contains("backtrace"), "{stderr}");
    Ok(format!("exit {code}\n{}", stderr.trim_end().replace(&folder, "FOLDER")))
}

const GRAPH: &str = r#"{"stateous": 1, "workflow": "ping", "states": {"here": {"emits": ["end"]}}, "events": {"end": {}},
  "transitions": [{"from": "__start__", "to": "here"}, {"from": "here", "to": "__end__", "on": "end"}], "schemas": {}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_not_there_or_not_what_they_should_be() -> anyhow::Result<()> {
    let product = Product::new()?;
    let write = |name: &str, text: &str| std::fs::write(product.folder().join(name), text);
    write("broken.toml", "workflow = \"orders\n")?;
    write("wrong.toml", "workflow = \"Orders\"\n[states.draft]\nstart = true\non.done = \"nowhere\"\n")?;
    write("broken.json", "{")?;
    write("other.json", "{\"a\": 1}")?;
    write("graph.json", GRAPH)?;
    write("text.wasm", "hello")?;
    write("random.db", &"not a database ".repeat(100))?;
    std::fs::create_dir(product.folder().join("bad-key"))?;
    write("bad-key/stateous.toml", "url = \"http://127.0.0.1:1\"\nslot = 4\n")?;
    std::fs::create_dir(product.folder().join("bad-url"))?;
    write("bad-url/stateous.toml", "url = \"ftp://x\"\n")?;
    let mut seen = String::new();
    for words in [
        &["compile", "missing.toml"][..],
        &["compile", "broken.toml"],
        &["compile", "wrong.toml"],
        &["serve", "missing.json"],
        &["serve", "broken.json"],
        &["serve", "other.json"],
        &["serve", "graph.json", "--db", "sqlite:///no/such/folder/x.db", "--listen", "127.0.0.1:0"],
        &["serve", "graph.json", "--db", "sqlite:///random.db", "--listen", "127.0.0.1:0"],
        &["serve", "graph.json", "--db", "mysql://x", "--listen", "127.0.0.1:0"],
        &["serve", "graph.json", "--listen", "nowhere"],
        &["serve", "graph.json", "--listen", "127.0.0.1:0", "--lease", "soon"],
        &["supervise", "missing"],
        &["supervise", "bad-key"],
        &["supervise", "bad-url"],
        &["routine", "push", "missing.wasm", "--state", "ping/here"],
        &["routine", "push", "text.wasm", "--state", "ping/here"],
        &["token", "start", "T-1", "{\"a\""],
        &["token", "start", "T-1", "[]"],
        &["token", "show", "T-1", "--url", "http://127.0.0.1:1"],
        &["token", "show", "T-1", "--url", "not a url"],
        &["dev", "missing"],
    ] {
        seen.push_str(&format!("$ stateous {}\n{}\n\n", words.join(" "), told(&product, words).await?));
    }
    insta::assert_snapshot!(seen);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_commands_exit_2() -> anyhow::Result<()> {
    let product = Product::new()?;
    for words in [
        &[][..],
        &["token"],
        &["routine"],
        &["task"],
        &["supervisor"],
        &["init"],
        &["completions", "unheard-of"],
        &["unheard-of"],
        &["serve"],
        &["serve", "--unheard-of"],
        &["token", "start"],
    ] {
        let (code, stdout, stderr) = product.run(words).await?;
        assert_eq!(code, 2, "{words:?}: {stdout}{stderr}");
    }
    let (code, stdout, _) = product.run(&["--version"]).await?;
    assert_eq!((code, stdout.starts_with("stateous ")), (0, true));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_port_one_database_one_folder() -> anyhow::Result<()> {
    let product = Product::new()?;
    let graph = product.folder().join("graph.json");
    std::fs::write(&graph, GRAPH)?;
    let control_plane = product.serve_files(vec![graph], "5s").await?;
    let address = control_plane.address().to_owned();

    let second_port =
        told(&product, &["serve", "graph.json", "--db", "sqlite:///other.db", "--listen", &address]).await?;
    assert!(second_port.starts_with("exit 1\nerror: ") && second_port.contains("in use"), "{second_port}");
    let second =
        told(&product, &["serve", "graph.json", "--db", "sqlite:///control.db", "--listen", "127.0.0.1:0"])
            .await?;
    assert!(second.starts_with("exit 1\nerror: ") && second.contains("another control plane"), "{second}");

    let _supervisor = product.supervise("box", &control_plane.url()).await?;
    let folder = product.folder().join("box").display().to_string();
    let second = told(&product, &["supervise", &folder]).await?;
    assert!(second.contains("exit 1\n") && second.contains("another supervisor"), "{second}");
    for refusal in [&second_port, &second] {
        assert_eq!(
            refusal.lines().filter(|l| l.starts_with("error: ")).count(),
            1,
            "one sentence: {refusal}"
        );
    }

    let unknown = told(&product, &["token", "show", "T-9", "--url", &control_plane.url()]).await?;
    let plain = unknown.replace(&control_plane.url(), "URL");
    assert_eq!(
        plain,
        "exit 1\nerror: the control plane at URL refused (404): there is no token 'T-9'\n\
         hint: `stateous token show --prefix T-` lists the tokens whose ids begin so"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_component_is_told_what_is_wrong_with_it() -> anyhow::Result<()> {
    let product = Product::new()?;
    let graph = product.folder().join("graph.json");
    std::fs::write(&graph, GRAPH)?;
    let control_plane = product.serve_files(vec![graph], "5s").await?;
    // An empty core module and an empty component.
    std::fs::write(product.folder().join("core.wasm"), b"\0asm\x01\0\0\0")?;
    std::fs::write(product.folder().join("component.wasm"), b"\0asm\x0d\0\x01\0")?;
    let url = control_plane.url();
    let mut seen = String::new();
    for words in [
        &["routine", "push", "core.wasm", "--state", "ping/here", "--url", &url][..],
        &["routine", "push", "component.wasm", "--state", "ping/here", "--url", &url],
        &["routine", "push", "component.wasm", "--state", "ping/nowhere", "--url", &url],
        &["routine", "push", "component.wasm", "--state", "pong/here", "--url", &url],
    ] {
        let told = told(&product, words).await?.replace(&url, "URL");
        seen.push_str(&format!("$ stateous {}\n{told}\n\n", words[..5].join(" ")));
    }
    insta::assert_snapshot!(seen);
    Ok(())
}
