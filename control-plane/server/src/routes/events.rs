//! Events from outside.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use stateous_api::{Code, Duplicate};
use stateous_engine::change::Answer;
use stateous_engine::{Input, limits, names};

use super::tokens::no_token;
use super::{Names, other};
use crate::app::App;
use crate::body;
use crate::refused::Refused;
use crate::views;

/// `POST /tokens/{id}/events/{event}`
pub(crate) async fn fire(
    State(app): State<Arc<App>>,
    path: Names,
    request: Request,
) -> Result<Response, Refused> {
    let (token, event) = path.two();
    let key = key(request.headers())?;
    let payload =
        body::object(request, Code::InvalidPayload).await?.object("payload", Code::InvalidPayload)?;
    if !names::is_token_id(&token) {
        return Err(no_token(&token));
    }
    match app.submit(Input::FireEvent { token, event, payload, key }).await? {
        Answer::Token(view) => Ok(views::json(StatusCode::OK, &views::token_view(&view)?)),
        Answer::Duplicate(view) => {
            let body = Duplicate { duplicate: true, token: views::token_view(&view)? };
            Ok(views::json(StatusCode::OK, &body))
        }
        answer => Err(other(&answer)),
    }
}

/// The idempotency key. UTF-8, else Latin-1, in which old clients write headers.
fn key(headers: &HeaderMap) -> Result<Option<String>, Refused> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let invalid = |message: String| Err(Refused::new(Code::InvalidPayload, message));
    let key = match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => value.as_bytes().iter().copied().map(char::from).collect(),
    };
    if key.is_empty() || key.chars().nth(limits::KEY).is_some() {
        return invalid(format!("an idempotency key has 1 to {} characters", limits::KEY));
    }
    if key.chars().any(|c| c < ' ' || c == '\u{7f}') {
        return invalid("an idempotency key has no control characters".to_owned());
    }
    Ok(Some(key))
}
