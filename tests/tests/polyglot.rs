//! examples/polyglot: one token through five languages, with payloads and memory that hold Unicode, integers of any length
//! and nested data. Nothing is lost on the way.

use std::time::Duration;

use serde_json::Value;
use stateous_api::{RoutineLimits, StartRequest};
use stateous_e2e::{History, Product, eventually};

const DESKS: [&str; 5] = ["intake", "label", "weigh", "seal", "deliver"];

#[tokio::test(flavor = "multi_thread")]
async fn one_token_passes_through_five_languages_and_loses_nothing() -> anyhow::Result<()> {
    let product = Product::new()?;
    let example = Product::root().join("examples/polyglot");
    let mut components = Vec::new();
    for desk in DESKS {
        let Some(component) = Product::routine("polyglot", desk) else { return Ok(()) };
        components.push((desk, component));
    }
    let control_plane = product.serve(&["polyglot"], "60s").await?;
    for (desk, component) in &components {
        control_plane.push("polyglot", desk, component, RoutineLimits::default()).await?;
    }
    let _supervisor = product.supervise("warehouse", &control_plane.url()).await?;
    let parcel = std::fs::read_to_string(example.join("parcel.json"))?;
    let context = Some(serde_json::value::RawValue::from_string(parcel.trim().to_owned())?);
    let start = StartRequest { token: "PARCEL-1".into(), context, workflow: Some("polyglot".into()) };
    control_plane.client().start_token(&start).await?;

    // A supervisor compiles each component once; Python's takes a while on a busy machine.
    let ended = eventually(Duration::from_secs(300), async || {
        control_plane.history("PARCEL-1").await.ok().filter(History::ended)
    });
    let history = ended.await.ok_or_else(|| anyhow::anyhow!("the parcel did not arrive"))?;
    assert_eq!(history.kinds().last(), Some(&"completed"), "{history:#?}");

    // Every desk was interrupted once, and said so.
    let errors: Vec<String> = history
        .of("task_failed")
        .map(|data| {
            data["error"].as_str().unwrap_or_default().split(" (").next().unwrap_or_default().to_owned()
        })
        .collect();
    let expected: Vec<String> = DESKS.iter().map(|desk| format!("{desk} was interrupted")).collect();
    assert_eq!(errors, expected);

    // The golden file holds what every desk handed on and what is left in the context.
    let payloads: Vec<&Value> = history
        .of("event_accepted")
        .map(|data| &data["payload"])
        .filter(|payload| !payload.is_null())
        .collect();
    let token = control_plane.client().token("PARCEL-1").await?;
    let context: Value = serde_json::from_str(token.context.get())?;
    let notes: Vec<&Value> = history.of("note").map(|data| &data["text"]).collect();
    let arrived = serde_json::json!({"context": context, "payloads": payloads, "notes": notes});
    let golden = example.join("delivered.json");
    if std::env::var_os("STATEOUS_BLESS").is_some() {
        std::fs::write(&golden, format!("{}\n", serde_json::to_string_pretty(&arrived)?))?;
    }
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(&golden)?)?;
    assert_eq!(
        arrived, expected,
        "after a wanted change: STATEOUS_BLESS=1 cargo test --workspace --test polyglot"
    );
    Ok(())
}
