//! `/healthz` and `/metrics` of a supervisor, on an address of its own: only where `listen` in `stateous.toml` says so.
//!
//! It owns what is counted and how progress is judged. It changes nothing.

mod metrics;
mod progress;

use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tracing::info;

use std::sync::Arc;

pub(crate) use metrics::{Metrics, Now};
pub(crate) use progress::Progress;

use crate::supervisor::Supervisor;

/// Listens, or says why it cannot.
pub(crate) async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Answers until the set is dropped.
pub(crate) fn answer(listener: TcpListener, supervisor: Arc<Supervisor>) -> JoinSet<()> {
    let mut serving = JoinSet::new();
    if let Ok(address) = listener.local_addr() {
        info!(address = %address, "http://{address}/healthz and /metrics tell how this supervisor gets on");
    }
    let app = Router::new()
        .route("/healthz", get(healthz))
        .route("/metrics", get(metrics_text))
        .with_state(supervisor);
    serving.spawn(async move {
        // It ends with the supervisor; a connection that fails is its client's to open again.
        let _ = axum::serve(listener, app).await;
    });
    serving
}

async fn healthz(State(supervisor): State<Arc<Supervisor>>) -> Response {
    let health = supervisor.progress.health();
    let status = if health.healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = serde_json::json!({"healthy": health.healthy, "why": health.why});
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

async fn metrics_text(State(supervisor): State<Arc<Supervisor>>) -> Response {
    let now = Now {
        slots: supervisor.slots,
        held: Arc::clone(&supervisor.held),
        outbox: supervisor.outbox.clone(),
        out: Arc::clone(&supervisor.out),
        progress: Arc::clone(&supervisor.progress),
    };
    const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, TEXT)], supervisor.metrics.text(now)).into_response()
}
