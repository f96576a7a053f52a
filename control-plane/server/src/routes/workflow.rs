//! What is served: the graph file and its checksum. Neither touches the database.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use stateous_api::Health;

use crate::app::App;
use crate::views;

/// `GET /workflow`
pub(crate) async fn document(State(app): State<Arc<App>>) -> Response {
    views::json(StatusCode::OK, app.default_graph().document())
}

/// `GET /health`
pub(crate) async fn health(State(app): State<Arc<App>>) -> Response {
    let graph = app.default_graph();
    let health = Health { workflow: graph.name().to_owned(), checksum: graph.checksum().to_owned() };
    views::json(StatusCode::OK, &health)
}
