//! What goes wrong in a routine of any language reaches the token's history: the message, and where it was.
//!
//! What else the SDKs do alike is tested closer to the sandbox, in `host/runtime/tests/runtime/languages.rs`.

use std::time::Duration;

use serde_json::json;
use stateous_api::RoutineLimits;
use stateous_e2e::{History, Product, eventually};

/// One state a language, each with the guest of that language that does as it is told.
const GRAPH: &str = r#"{"stateous": 1, "workflow": "babel",
  "states": {"rust": {"emits": ["done"]}, "js": {"emits": ["done"]}, "python": {"emits": ["done"]},
             "c": {"emits": ["done"]}, "go": {"emits": ["done"]}},
  "events": {"done": {"payload": "Any"}},
  "transitions": [
    {"from": "__start__", "to": "rust", "when": "ctx['language'] == 'rust'"},
    {"from": "__start__", "to": "js", "when": "ctx['language'] == 'js'"},
    {"from": "__start__", "to": "python", "when": "ctx['language'] == 'python'"},
    {"from": "__start__", "to": "c", "when": "ctx['language'] == 'c'"},
    {"from": "__start__", "to": "go", "otherwise": true},
    {"from": "rust", "to": "__end__", "on": "done"}, {"from": "js", "to": "__end__", "on": "done"},
    {"from": "python", "to": "__end__", "on": "done"}, {"from": "c", "to": "__end__", "on": "done"},
    {"from": "go", "to": "__end__", "on": "done"}
  ],
  "schemas": {"Any": {"type": "object"}}}"#;

/// Each language, its guest, and what the history says of where it crashed.
const LANGUAGES: [(&str, &str, &str); 5] = [
    ("rust", "conforms", "conforms/src/lib.rs:"),
    ("js", "js-conforms", "(look.ts:7:"),
    ("python", "python-conforms", "(look.py:2)"),
    ("c", "c-conforms", "(routine.c:8)"),
    ("go", "go-conforms", "(conforms/routine.go:16)"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_in_any_language_is_in_the_history_with_its_place() -> anyhow::Result<()> {
    let product = Product::new()?;
    let graph = product.folder().join("babel.json");
    std::fs::write(&graph, GRAPH)?;
    let control_plane = product.serve_files(vec![graph], "60s").await?;
    for (language, guest, _) in LANGUAGES {
        let Some(component) = Product::guest(guest) else { return Ok(()) };
        control_plane.push("babel", language, &component, RoutineLimits::default()).await?;
    }
    let _supervisor = product.supervise("box", &control_plane.url()).await?;
    for (language, _, _) in LANGUAGES {
        for act in ["crash", "shout"] {
            let context = json!({"language": language, "do": act});
            control_plane.start_token(&format!("{language}-{act}"), "babel", &context).await?;
        }
    }
    for (language, _, place) in LANGUAGES {
        for (act, said) in [("crash", "no such order"), ("shout", "xxxxxxxx")] {
            let error = error_of(&control_plane, &format!("{language}-{act}")).await?;
            assert!(error.contains(said), "{language}: {error} does not say {said:?}");
            assert!(error.len() <= 8 << 10, "{language}: {} bytes", error.len());
            if act == "crash" {
                assert!(error.contains(place), "{language}: {error} does not say {place:?}");
            }
        }
    }
    Ok(())
}

/// The error of a token's only attempt, once it failed.
async fn error_of(control_plane: &stateous_e2e::ControlPlane, token: &str) -> anyhow::Result<String> {
    // A supervisor compiles each component once; Python's takes a while on a busy machine.
    let ended = eventually(Duration::from_secs(300), async || {
        control_plane.history(token).await.ok().filter(History::ended)
    });
    let history = ended.await.ok_or_else(|| anyhow::anyhow!("{token} did not end"))?;
    let error = history.of("task_failed").next().and_then(|data| data["error"].as_str());
    Ok(error.ok_or_else(|| anyhow::anyhow!("{token} did not fail: {history:#?}"))?.to_owned())
}
