//! What is told about tokens: one with its history, all of them, and the workflow as a picture.

use anyhow::Context as _;
use jiff::tz::TimeZone;
use serde::Serialize;
use stateous_api::client::TokensQuery;
use stateous_api::{Client, Entry, Token};
use stateous_engine::Graph;
use stateous_engine::json::parse_stored;

use super::line;
use crate::Failed;
use crate::text::{Format, Out, entry_line, json_line};

/// The most children that `show` lists: the API's largest listing.
const CHILDREN: u32 = 1000;

pub(super) async fn list(client: Client, out: &mut Out) -> Result<(), Failed> {
    let mut list = out.list();
    for token in &client.tokens(&TokensQuery::default()).await? {
        list.item(token, line)?;
    }
    list.end("no tokens")
}

pub(super) async fn draw(client: Client, out: &mut Out) -> Result<(), Failed> {
    let text = client.workflow().await?;
    if out.format() == Format::Json {
        return out.line(&json_line(&text));
    }
    let graph = Graph::parse(text.get()).context("the control plane's workflow is no graph file")?;
    out.line(stateous_compiler::mermaid(&graph).trim_end())
}

/// What `show ID --json` prints.
#[derive(Serialize)]
struct Shown {
    token: Token,
    children: Vec<Token>,
    history: Vec<Entry>,
}

pub(super) async fn show(client: Client, id: String, all: bool, out: &mut Out) -> Result<(), Failed> {
    let token = client.token(&id).await?;
    let which = TokensQuery { parent: Some(id.clone()), limit: Some(CHILDREN), ..TokensQuery::default() };
    let children = client.tokens(&which).await?;
    let history = client.history(&id, all).await?;
    let shown = Shown { token, children, history };
    if out.format() == Format::Json {
        return out.line(&json_line(&shown));
    }
    out.line(&line(&shown.token))?;
    for child in &shown.children {
        out.line(&format!("  child {}", line(child)))?;
    }
    if shown.children.len() == CHILDREN as usize {
        out.line(&format!(
            "  (only the {CHILDREN} most recently moved children are shown; there can be more)"
        ))?;
    }
    let zone = TimeZone::system();
    for entry in &shown.history {
        out.line(&history_line(&id, entry, &zone)?)?;
    }
    Ok(())
}

/// An entry of a token's history as a line.
pub(super) fn history_line(id: &str, entry: &Entry, zone: &TimeZone) -> anyhow::Result<String> {
    let data = parse_stored(entry.data.get())
        .with_context(|| format!("entry {} of {id} has data that is not an object", entry.seq))?;
    Ok(entry_line(entry.seq, &entry.at, &entry.kind, &data, zone))
}
