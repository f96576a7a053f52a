//! Pause, resume, cancel, retry. None of them has a body; one that comes is not read.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use stateous_engine::Input;
use stateous_engine::change::Answer;

use super::tokens::existing;
use super::{Names, other};
use crate::app::App;
use crate::refused::Refused;
use crate::views;

/// `POST /tokens/{id}/pause`
pub(crate) async fn pause(State(app): State<Arc<App>>, path: Names) -> Result<Response, Refused> {
    steered(&app, Input::PauseToken { token: existing(path.first())? }).await
}

/// `POST /tokens/{id}/resume`
pub(crate) async fn resume(State(app): State<Arc<App>>, path: Names) -> Result<Response, Refused> {
    steered(&app, Input::ResumeToken { token: existing(path.first())? }).await
}

/// `POST /tokens/{id}/cancel`
pub(crate) async fn cancel(State(app): State<Arc<App>>, path: Names) -> Result<Response, Refused> {
    steered(&app, Input::CancelToken { token: existing(path.first())? }).await
}

/// `POST /tokens/{id}/retry`
pub(crate) async fn retry(State(app): State<Arc<App>>, path: Names) -> Result<Response, Refused> {
    steered(&app, Input::RetryToken { token: existing(path.first())? }).await
}

async fn steered(app: &App, input: Input) -> Result<Response, Refused> {
    match app.submit(input).await? {
        Answer::Token(view) => Ok(views::json(StatusCode::OK, &views::token_view(&view)?)),
        answer => Err(other(&answer)),
    }
}
