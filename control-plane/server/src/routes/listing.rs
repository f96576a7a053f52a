//! `GET /tokens`: tokens by filters, page by page.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::Response;
use stateous_api::{self as api, Code};
use stateous_engine::model::Status;
use stateous_engine::{limits, names};
use stateous_store::{ListedToken, TokenFilter, TokenPlace};

use super::Query;
use crate::app::App;
use crate::cursor;
use crate::fields::is_name;
use crate::list::List;
use crate::refused::Refused;
use crate::views;

/// How many rows a listing has unless told otherwise.
pub(super) const LISTED: u64 = 100;
/// About how many bytes of contexts are in memory at once.
const BYTES: usize = 8 << 20;
/// The fields of the query that lead to the next page.
const FIELDS: [&str; 6] = ["workflow", "state", "status", "parent", "prefix", "limit"];

/// `GET /tokens`
///
/// A caller of the original gets as many tokens as it asked for, whatever their size; they go out as they are read. Who
/// turns pages, or uses a filter of ours, gets a page that may end early.
pub(crate) async fn list(State(app): State<Arc<App>>, query: Query) -> Result<Response, Refused> {
    let filter = filter(&app, &query)?;
    let ours = ["cursor", "workflow", "state", "prefix"].iter().any(|name| query.get(name).is_some());
    let mut page = app.read(move |reader| reader.tokens(&filter)).await?;
    if ours
        && !page.rest.is_empty()
        && let Some(last) = page.tokens.last()
    {
        page.next = Some(TokenPlace { entered_at: last.entered_at, id: last.id.clone() });
        page.rest.clear();
    }
    let told = told(&page.tokens)?;
    let mut response = if page.rest.is_empty() {
        views::json(StatusCode::OK, &told)
    } else {
        let (list, response) = List::new();
        tokio::spawn(send(app, list, told, page.rest));
        response
    };
    let link =
        page.next.and_then(|place| cursor::next("/tokens", &query, &FIELDS, &cursor::of_token(&place)));
    if let Some(link) = link {
        response.headers_mut().insert(header::LINK, link);
    }
    Ok(response)
}

fn filter(app: &App, query: &Query) -> Result<TokenFilter, Refused> {
    let invalid = |message: String| Refused::new(Code::InvalidArgument, message);
    let status = match query.get("status") {
        None => None,
        Some(text) => Some(Status::parse(text).ok_or_else(|| {
            invalid(format!("'status' is one of: {}", Status::ALL.map(Status::as_str).join(", ")))
        })?),
    };
    let limit = limit(query)?;
    let parent = match query.get("parent") {
        Some(text) if !is_name(text, limits::TOKEN_ID) => {
            let message = format!("'parent' is a token id of 1 to {} characters", limits::TOKEN_ID);
            return Err(invalid(message));
        }
        other => other.map(str::to_owned),
    };
    let prefix = match query.get("prefix") {
        Some(text) if !names::is_token_id(text) => {
            return Err(invalid("'prefix' is the beginning of a token id".to_owned()));
        }
        other => other.map(str::to_owned),
    };
    let (workflow, state) = place(app, query)?;
    let after = cursor::token(query)?;
    Ok(TokenFilter { status, workflow, state, parent, prefix, after, limit, bytes: BYTES })
}

/// How many rows a page has.
pub(super) fn limit(query: &Query) -> Result<u32, Refused> {
    let limit = query.number("limit", 1, u64::from(limits::LISTING))?.unwrap_or(LISTED);
    // Checked above: it is at most 1000.
    Ok(u32::try_from(limit).unwrap_or(limits::LISTING))
}

/// The workflow and state that a query names: a state is `<state>` of that workflow or of the default one, or
/// `<workflow>/<state>`, as in claims.
pub(super) fn place(app: &App, query: &Query) -> Result<(Option<String>, Option<String>), Refused> {
    let invalid = |message: String| Err(Refused::new(Code::InvalidArgument, message));
    let name = |text: &str| is_name(text, limits::NAME);
    let workflow = query.get("workflow");
    if workflow.is_some_and(|text| !name(text)) {
        return invalid(format!("'workflow' is a name of 1 to {} characters", limits::NAME));
    }
    let Some(text) = query.get("state") else { return Ok((workflow.map(str::to_owned), None)) };
    let (of, state) = match text.split_once('/') {
        Some((of, state)) => (of, state),
        None => (workflow.unwrap_or_else(|| app.default_graph().name()), text),
    };
    if !name(of) || !name(state) {
        return invalid("'state' is the name of a state, or '<workflow>/<state>'".to_owned());
    }
    if workflow.is_some_and(|workflow| workflow != of) {
        return invalid("'state' names another workflow than 'workflow' does".to_owned());
    }
    Ok((Some(of.to_owned()), Some(state.to_owned())))
}

/// Sends the tokens that were read, then the others of the page, as they are by then.
async fn send(app: Arc<App>, mut list: List, first: Vec<api::Token>, mut rest: Vec<String>) {
    if list.send(&first).await.is_err() {
        return;
    }
    drop(first);
    while !rest.is_empty() {
        let ids = std::mem::take(&mut rest);
        let read = app
            .read(move |reader| {
                let (tokens, taken) = reader.listed(&ids, BYTES)?;
                Ok((tokens, ids[taken..].to_vec()))
            })
            .await;
        let sent = match read.and_then(|(tokens, left)| Ok((told(&tokens)?, left))) {
            Ok((tokens, left)) => {
                rest = left;
                list.send(&tokens).await
            }
            Err(refused) => return list.cut(refused),
        };
        if sent.is_err() {
            return;
        }
    }
    list.end().await;
}

fn told(tokens: &[ListedToken]) -> Result<Vec<api::Token>, Refused> {
    tokens.iter().map(views::listed).collect()
}
