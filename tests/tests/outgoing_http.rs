//! A routine that talks to the world: what it asks for and its supervisor grants goes out, with secrets that it never sees;
//! everything else is refused by name, and the log says which line would allow it.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use stateous_e2e::{ControlPlane, History, Product};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const GRAPH: &str = r#"{"stateous": 1, "workflow": "web",
  "states": {"fetch": {"emits": ["done", "refused"]}},
  "events": {"done": {"payload": "Any"}, "refused": {"payload": "Any"}},
  "transitions": [
    {"from": "__start__", "to": "fetch"},
    {"from": "fetch", "to": "__end__", "on": "done"}, {"from": "fetch", "to": "__end__", "on": "refused"}
  ],
  "schemas": {"Any": {"type": "object"}}}"#;

/// A server that says what it was asked, and sends whoever asks for `/moved` to `elsewhere`.
async fn server(elsewhere: String) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let elsewhere = elsewhere.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await?);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let answer = if head.starts_with("GET /moved ") {
                    format!(
                        "HTTP/1.1 302 Found\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    )
                } else {
                    // What was sent is told by its length: an echo would hand the secret to the routine.
                    let sent =
                        head.lines().find(|line| line.starts_with("authorization: ")).unwrap_or_default();
                    let told = format!(
                        "{} {}",
                        head.lines().next().unwrap_or_default(),
                        sent == "authorization: Bearer s3cr3t"
                    );
                    format!(
                        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{told}",
                        told.len()
                    )
                };
                client.write_all(answer.as_bytes()).await
            });
        }
    });
    Ok(port)
}

/// How a token's fetch ended: the event and its payload.
async fn fetched(control_plane: &ControlPlane, id: &str, url: &str) -> Result<(String, Value)> {
    let context = json!({"method": "GET", "url": url, "authorization": "Bearer {{secret:API_TOKEN}}"});
    control_plane.start_token(id, "web", &context).await?;
    let history = control_plane.until(id, History::ended).await?;
    let event = history.of("event_accepted").last().context("no event")?;
    Ok((event["event"].as_str().unwrap_or_default().to_owned(), event["payload"].clone()))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_both_sides_allow_goes_out_and_nothing_else() -> Result<()> {
    let Some(component) = Product::guest("fetches") else { return Ok(()) };
    let product = Product::new()?;
    let graph = product.folder().join("web.json");
    std::fs::write(&graph, GRAPH)?;
    let control_plane = product.serve_files(vec![graph], "30s").await?;
    let forbidden = server(String::new()).await?;
    let port = server(format!("http://127.0.0.1:{forbidden}/")).await?;

    // Only the ordinary command line: what the routine asks for is part of its upload.
    let push = async |rules: &[String]| {
        let mut words =
            vec!["routine", "push", component.to_str().unwrap_or_default(), "--state", "web/fetch"];
        for rule in rules {
            words.extend(["--http", rule]);
        }
        let url = control_plane.url();
        words.extend(["--url", &url]);
        product.run(&words).await
    };
    let asks = [format!("GET http://localhost:{port}/"), format!("GET http://127.0.0.1:{forbidden}/")];
    let (code, _, stderr) = push(&asks).await?;
    assert_eq!(code, 0, "{stderr}");

    let more = format!(
        "[http]\nallow = [\"GET http://localhost:{port}/\", \"http://10.0.0.1/\"]\nprivate = [\"localhost\"]\n\
         [secrets.API_TOKEN]\nenv = \"STORY_TOKEN\"\nhosts = [\"localhost\"]\n"
    );
    let url = control_plane.url();
    let mut supervisor = product.supervise_with("box", &url, &more, &[("STORY_TOKEN", "s3cr3t")]).await?;

    let (event, payload) = fetched(&control_plane, "granted", &format!("http://localhost:{port}/v1")).await?;
    assert_eq!(
        (event.as_str(), &payload),
        ("done", &json!({"status": 200, "body": "GET /v1 HTTP/1.1 true"}))
    );

    // A redirect is a request of its own, and is checked as one.
    let (event, payload) =
        fetched(&control_plane, "moved", &format!("http://localhost:{port}/moved")).await?;
    assert_eq!((event.as_str(), &payload["code"]), ("refused", &json!("HTTP-request-denied")), "{payload}");
    let line = supervisor.process.line("http_denied").await?;
    let wanted = format!("stateous.toml would say: [http] allow = [\"GET http://127.0.0.1:{forbidden}/\"]");
    assert!(line.contains(&wanted), "{line}");

    // What the supervisor grants and the routine does not ask for.
    let (event, _) = fetched(&control_plane, "unasked", "http://10.0.0.1/").await?;
    assert_eq!(event, "refused");
    supervisor.process.line("push it with --http 'GET http://10.0.0.1/'").await?;

    assert!(!supervisor.process.log().contains("s3cr3t"), "{}", supervisor.process.log());
    for id in ["granted", "moved", "unasked"] {
        let history = format!("{:?}", control_plane.history(id).await?);
        assert!(!history.contains("s3cr3t"), "{history}");
    }

    let (code, _, stderr) = push(&["GET everything".to_owned()]).await?;
    assert_ne!(code, 0);
    assert!(stderr.contains("'GET everything' is no HTTP rule: its URL has no scheme"), "{stderr}");
    Ok(())
}
