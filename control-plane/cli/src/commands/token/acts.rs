//! What is done to a token: start, fire, pause, resume, cancel.

use std::path::PathBuf;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use stateous_api::{Client, FireRequest, StartRequest, Token};

use super::line;
use crate::Failed;
use crate::text::{Out, object_argument};

pub(super) async fn start(
    client: &Client,
    token: &str,
    context: Map<String, Value>,
    workflow: Option<String>,
    out: &mut Out,
) -> Result<(), Failed> {
    let start = StartRequest { token: token.to_owned(), context: Some(raw(&context)?), workflow };
    let started = client.start_token(&start).await?;
    let told = Started { created: started.created, token: &started.token };
    out.tell(&told, |told| line(told.token))
}

/// What `start --json` prints: the token, and whether this very command made it.
#[derive(Serialize)]
struct Started<'t> {
    created: bool,
    #[serde(flatten)]
    token: &'t Token,
}

pub(super) async fn fire(
    client: &Client,
    id: &str,
    event: &str,
    payload: Option<Map<String, Value>>,
    key: Option<&str>,
    out: &mut Out,
) -> Result<(), Failed> {
    let body = FireRequest { payload: payload.as_ref().map(raw).transpose()? };
    let fired = client.fire(id, event, &body, key).await?;
    let told = Fired { duplicate: fired.duplicate, token: &fired.token };
    out.tell(&told, |told| {
        let duplicate = if told.duplicate { "duplicate: " } else { "" };
        format!("{duplicate}{}", line(told.token))
    })
}

/// What `fire --json` prints: the token, and whether the key was used before.
#[derive(Serialize)]
struct Fired<'t> {
    duplicate: bool,
    #[serde(flatten)]
    token: &'t Token,
}

/// The context from the argument, with the text of each `--text` file under its key.
pub(super) fn context_of(argument: Option<&str>, texts: &[String]) -> anyhow::Result<Map<String, Value>> {
    let mut context =
        argument.map_or_else(|| Ok(Map::new()), |text| object_argument(text, "CONTEXT_JSON"))?;
    for text in texts {
        let (key, file) = text
            .split_once('=')
            .with_context(|| format!("--text takes KEY=FILE, such as log=access.log, not '{text}'"))?;
        let file = PathBuf::from(file);
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        context.insert(key.to_owned(), Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    }
    Ok(context)
}

fn raw(object: &Map<String, Value>) -> anyhow::Result<Box<RawValue>> {
    Ok(to_raw_value(object)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_join_the_context() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a=b.log");
        std::fs::write(&file, b"one\ntwo\xff").unwrap();
        let context = context_of(Some("{\"n\": 1.50}"), &[format!("log={}", file.display())]).unwrap();
        assert_eq!(serde_json::to_string(&context).unwrap(), "{\"n\":1.50,\"log\":\"one\\ntwo\u{fffd}\"}");
        let error = context_of(None, &["access.log".into()]).unwrap_err();
        assert_eq!(error.to_string(), "--text takes KEY=FILE, such as log=access.log, not 'access.log'");
    }
}
