//! Tokens: started and shown. Their listing and their histories have files of their own.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use stateous_api::Code;
use stateous_engine::change::Answer;
use stateous_engine::json::Json;
use stateous_engine::{Input, names};

use super::{Names, other};
use crate::app::App;
use crate::body;
use crate::refused::{Refused, quote};
use crate::views;

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

/// `GET /tokens/{id}`
pub(crate) async fn show(State(app): State<Arc<App>>, path: Names) -> Result<Response, Refused> {
    let token = existing(path.first())?;
    let id = token.clone();
    match app.read(move |reader| reader.token(&id)).await? {
        Some(view) => Ok(views::json(StatusCode::OK, &views::token_view(&view)?)),
        None => Err(no_token(&token)),
    }
}

/// An id that can be a token's; anything else is not there, and the database is not asked.
pub(super) fn existing(token: String) -> Result<String, Refused> {
    if names::is_token_id(&token) { Ok(token) } else { Err(no_token(&token)) }
}

pub(super) fn no_token(token: &str) -> Refused {
    Refused::new(Code::TokenNotFound, format!("there is no token {}", quote(token)))
}
