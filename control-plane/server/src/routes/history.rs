//! `GET /tokens/{id}/history`: the ledger of a token, whole or from an entry on, now or as it grows.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use stateous_api::{self as api, Code, WAIT_MS_MAX};
use stateous_engine::limits;
use stateous_engine::model::Entry;
use tokio::time::Instant;

use super::tokens::{existing, no_token};
use super::{Names, Query};
use crate::app::App;
use crate::list::List;
use crate::refused::Refused;
use crate::views;

/// How many entries of a history are in memory at once. One entry can be as large as a body.
const PAGE: u32 = 128;

/// What is asked of a history.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// The number of the last entry that the caller knows.
    after: u64,
    /// How many entries to send at most.
    left: u64,
    /// Whether the kinds that only we know are sent, too.
    all: bool,
}

impl Wanted {
    /// Takes what is wanted from a page that was read, and goes on behind it.
    fn take(&mut self, page: &[Entry], last: u64) -> Result<Vec<api::Entry>, Refused> {
        let wanted = page.iter().filter(|e| e.seq <= last && (self.all || e.kind.is_original()));
        let taken = usize::try_from(self.left).unwrap_or(usize::MAX);
        let told: Vec<_> = wanted.take(taken).map(views::entry).collect::<Result<_, _>>()?;
        self.left -= told.len() as u64;
        self.after = page.last().map_or(self.after, |entry| entry.seq);
        Ok(told)
    }
}

/// `GET /tokens/{id}/history?after=&limit=&wait_ms=&kinds=all`
///
/// Without fields the whole ledger. The original's clients know only its 26 kinds, so ours come with `kinds=all` only.
pub(crate) async fn history(
    State(app): State<Arc<App>>,
    path: Names,
    query: Query,
) -> Result<Response, Refused> {
    let all = match query.get("kinds") {
        None => false,
        Some("all") => true,
        Some(_) => return Err(Refused::new(Code::InvalidArgument, "'kinds' is 'all', or is not given")),
    };
    let after = query.number("after", 0, limits::TASK_ID)?.unwrap_or(0);
    let left = query.number("limit", 1, u64::from(limits::LISTING))?.unwrap_or(u64::MAX);
    let wait = Duration::from_millis(query.number("wait_ms", 0, WAIT_MS_MAX)?.unwrap_or(0));
    let token = existing(path.first())?;
    let mut wanted = Wanted { after, left, all };
    let first = if wait.is_zero() {
        page(&app, &token, wanted.after).await?
    } else {
        wait_for_entries(&app, &token, &mut wanted, wait).await?
    };
    let Some(first) = first else { return Err(no_token(&token)) };
    if first.len() < PAGE as usize {
        return Ok(views::json(StatusCode::OK, &wanted.take(&first, u64::MAX)?));
    }
    // A long history goes out page by page, and its end is what it is now: a token that moves faster than its history can
    // be read must not keep a reader for ever.
    let id = token.clone();
    let Some(view) = app.read(move |reader| reader.token(&id)).await? else { return Err(no_token(&token)) };
    let (list, response) = List::new();
    tokio::spawn(send(app, list, token, first, wanted, view.token.seq));
    Ok(response)
}

/// The first page that holds something to tell, as soon as there is one; an empty one when the token has ended, when the
/// time is over, or when the control plane stops. Each look is at the database: what woke us is only a hint.
async fn wait_for_entries(
    app: &App,
    token: &str,
    wanted: &mut Wanted,
    wait: Duration,
) -> Result<Option<Vec<Entry>>, Refused> {
    let deadline = Instant::now() + wait;
    // Before the first look: what is committed from now on wakes us.
    let mut changes = app.committer.watch(token);
    loop {
        let id = token.to_owned();
        let after = wanted.after;
        let read = app.read(move |reader| {
            // The status first: a token that had ended then has no entry that the page does not show.
            let status = reader.token(&id)?.map(|view| view.token.status);
            Ok(status.zip(reader.history(&id, after, PAGE)?))
        });
        let Some((status, page)) = read.await? else { return Ok(None) };
        let told = page.iter().any(|entry| wanted.all || entry.kind.is_original());
        if told || page.is_empty() && status.is_ended() {
            return Ok(Some(page));
        }
        if let Some(entry) = page.last() {
            // Kinds that this caller does not know: the next look begins behind them.
            wanted.after = entry.seq;
            continue;
        }
        tokio::select! {
            () = changes.changed() => {}
            () = tokio::time::sleep_until(deadline) => return Ok(Some(Vec::new())),
            () = app.stopping() => return Ok(Some(Vec::new())),
        }
    }
}

async fn page(app: &App, token: &str, after: u64) -> Result<Option<Vec<Entry>>, Refused> {
    let id = token.to_owned();
    app.read(move |reader| reader.history(&id, after, PAGE)).await
}

/// Sends what is wanted of the entries up to `last`.
async fn send(
    app: Arc<App>,
    mut list: List,
    token: String,
    first: Vec<Entry>,
    mut wanted: Wanted,
    last: u64,
) {
    let mut entries = first;
    loop {
        let sent = match wanted.take(&entries, last) {
            Ok(told) => list.send(&told).await,
            Err(refused) => return list.cut(refused),
        };
        if sent.is_err() {
            return;
        }
        if wanted.after >= last || wanted.left == 0 {
            return list.end().await;
        }
        entries = match page(&app, &token, wanted.after).await {
            Ok(found) => found.unwrap_or_default(),
            Err(refused) => return list.cut(refused),
        };
        if entries.is_empty() {
            return list.end().await;
        }
    }
}
