//! `stateous token`: start, fire, show, pause, resume and cancel tokens over the HTTP API. The output is the original's, line
//! for line.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{CommandFactory as _, Parser, Subcommand};
use jiff::tz::TimeZone;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use stateous_api::client::TokensQuery;
use stateous_api::{Client, FireRequest, StartRequest, Token};
use stateous_engine::Graph;
use stateous_engine::json::parse_stored;

use super::remote::Remote;
use crate::Failed;
use crate::text::{Out, entry_line, object_argument, token_line};

/// The most children that `show` lists: the API's largest listing.
const CHILDREN: u32 = 1000;

/// Act on tokens: start, fire, show, pause, resume, cancel.
#[derive(Parser)]
#[command(name = "stateous token")]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Subcommand)]
enum Act {
    /// Start a token. Starting one that exists shows it.
    Start {
        /// The token's id, e.g. TICKET-1.
        #[arg(value_name = "ID")]
        id: String,
        /// The token's context: a JSON object.
        #[arg(value_name = "CONTEXT_JSON")]
        context: Option<String>,
        /// The workflow to follow; without it, the one that the control plane was started with.
        #[arg(long)]
        workflow: Option<String>,
        /// Put the text of a file into the context: `--text log=access.log`. Bytes that are not UTF-8 become U+FFFD.
        #[arg(long = "text", value_name = "KEY=FILE")]
        texts: Vec<String>,
    },
    /// Fire an event on a token.
    Fire {
        /// The token's id, e.g. TICKET-1.
        #[arg(value_name = "ID")]
        id: String,
        /// The event's name.
        #[arg(value_name = "EVENT")]
        event: String,
        /// The event's payload: a JSON object.
        #[arg(value_name = "PAYLOAD_JSON")]
        payload: Option<String>,
        /// An idempotency key: the same key fires once.
        #[arg(long)]
        key: Option<String>,
    },
    /// Show a token, its children and its history. With no ID, list the tokens.
    Show {
        /// A token; leave it out to list the tokens.
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Every kind of entry, not only those that the original knows.
        #[arg(long)]
        all: bool,
        /// Draw the workflow as a Mermaid diagram.
        #[arg(long)]
        graph: bool,
    },
    /// Pause a token: it stands still, and what arrives for it is held.
    Pause {
        /// The token's id, e.g. TICKET-1.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Resume a paused token: what it held applies in the order of arrival.
    Resume {
        /// The token's id, e.g. TICKET-1.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Cancel a token: it ends for good.
    Cancel {
        /// The token's id, e.g. TICKET-1.
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failed> {
    let Args { act, remote } = args;
    match act {
        None => Err(Failed::Usage(Box::new(Args::command()))),
        Some(Act::Start { id, context, workflow, texts }) => {
            let context = context_of(context.as_deref(), &texts)?;
            remote.run(|client| start(client, id, context, workflow))
        }
        Some(Act::Fire { id, event, payload, key }) => {
            let payload = payload.map(|text| object_argument(&text, "PAYLOAD_JSON")).transpose()?;
            remote.run(|client| fire(client, id, event, payload, key))
        }
        Some(Act::Show { id: Some(_), graph: true, .. }) => {
            Err(anyhow::anyhow!("give a token ID or --graph, not both").into())
        }
        Some(Act::Show { id: None, graph: true, .. }) => remote.run(draw),
        Some(Act::Show { id: None, .. }) => remote.run(list),
        Some(Act::Show { id: Some(id), all, .. }) => remote.run(|client| show(client, id, all)),
        Some(Act::Pause { id }) => remote.run(|client| async move { told(&client.pause(&id).await?) }),
        Some(Act::Resume { id }) => remote.run(|client| async move { told(&client.resume(&id).await?) }),
        Some(Act::Cancel { id }) => remote.run(|client| async move { told(&client.cancel(&id).await?) }),
    }
}

async fn start(
    client: Client,
    token: String,
    context: Map<String, Value>,
    workflow: Option<String>,
) -> Result<(), Failed> {
    let started =
        client.start_token(&StartRequest { token, context: Some(raw(&context)?), workflow }).await?;
    Out::new().line(&line(&started.token))
}

async fn fire(
    client: Client,
    id: String,
    event: String,
    payload: Option<Map<String, Value>>,
    key: Option<String>,
) -> Result<(), Failed> {
    let body = FireRequest { payload: payload.as_ref().map(raw).transpose()? };
    let fired = client.fire(&id, &event, &body, key.as_deref()).await?;
    let duplicate = if fired.duplicate { "duplicate: " } else { "" };
    Out::new().line(&format!("{duplicate}{}", line(&fired.token)))
}

async fn list(client: Client) -> Result<(), Failed> {
    let mut out = Out::new();
    let found = client.tokens(&TokensQuery::default()).await?;
    for token in &found {
        out.line(&line(token))?;
    }
    if found.is_empty() {
        out.line("no tokens")?;
    }
    Ok(())
}

async fn draw(client: Client) -> Result<(), Failed> {
    let text = client.workflow().await?;
    let graph = Graph::parse(text.get()).context("the control plane's workflow is no graph file")?;
    Out::new().line(stateous_compiler::mermaid(&graph).trim_end())
}

async fn show(client: Client, id: String, all: bool) -> Result<(), Failed> {
    let mut out = Out::new();
    out.line(&line(&client.token(&id).await?))?;
    let which = TokensQuery { parent: Some(id.clone()), limit: Some(CHILDREN), ..TokensQuery::default() };
    let children = client.tokens(&which).await?;
    for child in &children {
        out.line(&format!("  child {}", line(child)))?;
    }
    if children.len() == CHILDREN as usize {
        out.line(&format!(
            "  (only the {CHILDREN} most recently moved children are shown; there can be more)"
        ))?;
    }
    let zone = TimeZone::system();
    for entry in client.history(&id, all).await? {
        let data = parse_stored(entry.data.get())
            .with_context(|| format!("entry {} of {id} has data that is not an object", entry.seq))?;
        out.line(&entry_line(entry.seq, &entry.at, &entry.kind, &data, &zone))?;
    }
    Ok(())
}

fn told(token: &Token) -> Result<(), Failed> {
    Out::new().line(&line(token))
}

fn line(token: &Token) -> String {
    token_line(&token.token, &token.state, token.visit, &token.status)
}

/// The context from the argument, with the text of each `--text` file under its key.
fn context_of(argument: Option<&str>, texts: &[String]) -> anyhow::Result<Map<String, Value>> {
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
