//! Tokens: start, list, show, and their histories.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use stateous_api::Code;
use stateous_engine::change::Answer;
use stateous_engine::json::Json;
use stateous_engine::model::{Entry, Status};
use stateous_engine::{Input, limits, names};
use stateous_store::TokenFilter;

use super::{Names, Query, other};
use crate::app::App;
use crate::body;
use crate::fields::is_name;
use crate::refused::{Refused, quote};
use crate::views;

/// How many tokens a listing names unless told otherwise.
const LISTED: u64 = 100;
/// How many entries of a history are in memory at once. One entry can be as large as a body.
const PAGE: u32 = 128;

/// `POST /tokens`
pub(crate) async fn start(State(app): State<Arc<App>>, request: Request) -> Result<Response, Refused> {
    let mut body = body::object(request, Code::InvalidContext).await?;
    let Some(Json::String(token)) = body.take("token") else {
        return Err(Refused::new(Code::InvalidTokenId, "'token' is the token's id: a string"));
    };
    let context = body.object("context", Code::InvalidContext)?.unwrap_or_default();
    let workflow = match body.take("workflow") {
        None => None,
        Some(Json::String(workflow)) => Some(workflow),
        Some(_) => {
            return Err(Refused::new(
                Code::InvalidArgument,
                "'workflow' is the name of a workflow: a string, or null",
            ));
        }
    };
    match app.submit(Input::StartToken { token, workflow, context }).await? {
        Answer::Created(view) => Ok(views::json(StatusCode::CREATED, &views::token_view(&view)?)),
        Answer::Token(view) => Ok(views::json(StatusCode::OK, &views::token_view(&view)?)),
        answer => Err(other(&answer)),
    }
}

/// `GET /tokens`
pub(crate) async fn list(State(app): State<Arc<App>>, query: Query) -> Result<Response, Refused> {
    let invalid = |message: String| Refused::new(Code::InvalidArgument, message);
    let status = match query.get("status") {
        None => None,
        Some(text) => Some(Status::parse(text).ok_or_else(|| {
            invalid(format!("'status' is one of: {}", Status::ALL.map(Status::as_str).join(", ")))
        })?),
    };
    let limit = query.number("limit", 1, u64::from(limits::LISTING))?.unwrap_or(LISTED);
    let parent = match query.get("parent") {
        Some(text) if !is_name(text, limits::TOKEN_ID) => {
            let message = format!("'parent' is a token id of 1 to {} characters", limits::TOKEN_ID);
            return Err(invalid(message));
        }
        other => other.map(str::to_owned),
    };
    // Checked above: it is at most 1000.
    let filter = TokenFilter { status, parent, limit: u32::try_from(limit).unwrap_or(limits::LISTING) };
    let found = app.read(move |reader| reader.tokens(&filter)).await?;
    let told =
        found.iter().map(|one| views::token(&one.token, &one.context)).collect::<Result<Vec<_>, _>>()?;
    Ok(views::json(StatusCode::OK, &told))
}

/// `GET /tokens/{id}`
pub(crate) async fn show(State(app): State<Arc<App>>, path: Names) -> Result<Response, Refused> {
    let token = existing(path.first())?;
    let id = token.clone();
    match app.read(move |reader| reader.token(&id)).await? {
        Some(view) => Ok(views::json(StatusCode::OK, &views::token_view(&view)?)),
        None => Err(no_token(&token)),
    }
}

/// `GET /tokens/{id}/history`: the whole ledger of a token. The original's clients know only its 26 kinds, so ours come
/// with `kinds=all` only.
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
    let token = existing(path.first())?;
    let Some(first) = page(&app, &token, 0).await? else { return Err(no_token(&token)) };
    if first.len() < PAGE as usize {
        let told = first.iter().filter(|e| all || e.kind.is_original()).map(views::entry);
        return Ok(views::json(StatusCode::OK, &told.collect::<Result<Vec<_>, _>>()?));
    }
    // A long history goes out page by page, and its end is what it is now: a token that moves faster than its history can
    // be read must not keep a reader for ever.
    let id = token.clone();
    let Some(view) = app.read(move |reader| reader.token(&id)).await? else { return Err(no_token(&token)) };
    let (sender, channel) = Channel::<Bytes, Refused>::new(2);
    tokio::spawn(send_pages(app, sender, token, first, view.token.seq, all));
    let mut response = Response::new(Body::new(channel));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

async fn page(app: &App, token: &str, after: u64) -> Result<Option<Vec<Entry>>, Refused> {
    let id = token.to_owned();
    app.read(move |reader| reader.history(&id, after, PAGE)).await
}

/// Sends entries up to `last` as one JSON list. When a page cannot be read the connection is cut, so that the list never
/// looks complete.
async fn send_pages(
    app: Arc<App>,
    mut sender: Sender<Bytes, Refused>,
    token: String,
    first: Vec<Entry>,
    last: u64,
    all: bool,
) {
    let mut entries = first;
    let mut opening = "[";
    loop {
        let mut text = String::new();
        for entry in entries.iter().filter(|e| e.seq <= last && (all || e.kind.is_original())) {
            text.push_str(opening);
            opening = ",";
            match written(entry) {
                Ok(entry) => text.push_str(&entry),
                Err(refused) => return sender.abort(refused),
            }
        }
        if !text.is_empty() && sender.send_data(Bytes::from(text)).await.is_err() {
            // The reader went away.
            return;
        }
        let after = entries.last().map_or(last, |entry| entry.seq);
        if after >= last {
            break;
        }
        entries = match page(&app, &token, after).await {
            Ok(found) => found.unwrap_or_default(),
            Err(refused) => return sender.abort(refused),
        };
    }
    let end = if opening == "[" { "[]" } else { "]" };
    // The reader went away at the very end, or not: both are fine.
    let _ = sender.send_data(Bytes::from_static(end.as_bytes())).await;
}

fn written(entry: &Entry) -> Result<String, Refused> {
    serde_json::to_string(&views::entry(entry)?)
        .map_err(|_| Refused::unexpected("an entry cannot be written as JSON"))
}

/// An id that can be a token's; anything else is not there, and the database is not asked.
pub(super) fn existing(token: String) -> Result<String, Refused> {
    if names::is_token_id(&token) { Ok(token) } else { Err(no_token(&token)) }
}

pub(super) fn no_token(token: &str) -> Refused {
    Refused::new(Code::TokenNotFound, format!("there is no token {}", quote(token)))
}
