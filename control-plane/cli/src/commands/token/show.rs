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
use crate::commands::pages::Extent;
use crate::text::{Format, Out, entry_line, json_line};

/// The most children that `show` lists: the API's largest listing.
const CHILDREN: u32 = 1000;

/// Which tokens are listed.
#[derive(clap::Args, Debug, Clone)]
pub(super) struct Which {
    /// Only tokens in this status: active, paused, completed, failed, cancelled.
    #[arg(long)]
    status: Option<String>,
    /// Only tokens of this workflow.
    #[arg(long)]
    workflow: Option<String>,
    /// Only tokens in this state: STATE, or WORKFLOW/STATE.
    #[arg(long)]
    state: Option<String>,
    /// Only tokens whose id begins so; they come by id.
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Only children of this token.
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
}

impl Which {
    /// Whether no filter was given.
    pub(super) fn is_all(&self) -> bool {
        let Self { status, workflow, state, prefix, parent } = self;
        [status, workflow, state, prefix, parent].iter().all(|filter| filter.is_none())
    }
}

pub(super) async fn list(
    client: &Client,
    which: &Which,
    extent: Extent,
    out: &mut Out,
) -> Result<(), Failed> {
    let page = async |cursor: String, limit: u32| {
        let query = TokensQuery {
            status: which.status.clone(),
            workflow: which.workflow.clone(),
            state: which.state.clone(),
            prefix: which.prefix.clone(),
            parent: which.parent.clone(),
            limit: Some(limit),
            cursor: Some(cursor),
        };
        client.tokens_page(&query).await
    };
    let mut list = out.list();
    extent.read(page, |tokens| tokens.iter().try_for_each(|token| list.item(token, line))).await?;
    list.end("no tokens")
}

pub(super) async fn draw(client: &Client, out: &mut Out) -> Result<(), Failed> {
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

pub(super) async fn show(client: &Client, id: &str, all: bool, out: &mut Out) -> Result<(), Failed> {
    let token = client.token(id).await?;
    let which = TokensQuery { parent: Some(id.to_owned()), limit: Some(CHILDREN), ..TokensQuery::default() };
    let children = client.tokens(&which).await?;
    let history = client.history(id, all).await?;
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
        out.line(&history_line(id, entry, &zone)?)?;
    }
    Ok(())
}

/// An entry of a token's history as a line.
pub(super) fn history_line(id: &str, entry: &Entry, zone: &TimeZone) -> anyhow::Result<String> {
    let data = parse_stored(entry.data.get())
        .with_context(|| format!("entry {} of {id} has data that is not an object", entry.seq))?;
    Ok(entry_line(entry.seq, &entry.at, &entry.kind, &data, zone))
}
