//! `/healthz` and `/metrics`: for whoever keeps the control plane running. They are no part of the API.
//!
//! It owns what is counted about requests. What the committer counts is the store's, and who is alive is `supervisors`'.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use stateous_store::Upkeep;

use crate::app::App;

/// A database that does not take a transaction for so long is not well.
const WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    method: &'static str,
    /// As the routes are written, `/tokens/{token}`; `other` where there is none.
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Waited {
    route: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Written {
    kind: &'static str,
}

/// What is counted about requests.
#[derive(Debug)]
pub(crate) struct Counted {
    requests: Family<Asked, Counter>,
    seconds: Family<Waited, Histogram, fn() -> Histogram>,
}

impl Default for Counted {
    fn default() -> Self {
        // 0.5 ms to about 2 minutes: a claim may wait for a minute.
        let buckets: fn() -> Histogram = || Histogram::new(exponential_buckets(0.0005, 4.0, 10));
        Self { requests: Family::default(), seconds: Family::new_with_constructor(buckets) }
    }
}

/// The middleware that counts.
pub(crate) async fn count(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(|| "other".to_owned(), |path| path.as_str().to_owned());
    let method = match request.method().as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        _ => "other",
    };
    let began = Instant::now();
    let answer = next.run(request).await;
    let status = answer.status().as_u16();
    app.counted.requests.get_or_create(&Asked { method, route: route.clone(), status }).inc();
    app.counted.seconds.get_or_create(&Waited { route }).observe(began.elapsed().as_secs_f64());
    answer
}

/// `GET /healthz`: 200 while the database takes transactions, else 503. An empty transaction goes through the writer as any
/// other does, so a writer that stands still is found out.
pub(crate) async fn healthz(State(app): State<Arc<App>>) -> Response {
    let beat = tokio::time::timeout(WITHIN, app.committer.upkeep(Upkeep::FireTimers, 0)).await;
    let (status, why) = match beat {
        Ok(Ok(_)) => (StatusCode::OK, "the database takes transactions".to_owned()),
        Ok(Err(failure)) => (StatusCode::SERVICE_UNAVAILABLE, failure.to_string()),
        Err(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("the database took no transaction within {} s", WITHIN.as_secs()),
        ),
    };
    let body = serde_json::json!({"healthy": status == StatusCode::OK, "why": why});
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// `GET /metrics`, in Prometheus's text form.
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let mut registry = Registry::with_prefix("stateous");
    registry.register("http_requests", "Requests that were answered", app.counted.requests.clone());
    registry.register("http_request_seconds", "How long answers took", app.counted.seconds.clone());
    registry.register_collector(Box::new(Now(Arc::clone(&app))));
    let mut text = String::new();
    // Writing into a text does not fail.
    let _ = encode(&mut text, &registry);
    const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, TEXT)], text).into_response()
}

/// What is read at the moment of a scrape.
struct Now(Arc<App>);

impl std::fmt::Debug for Now {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Now").finish_non_exhaustive()
    }
}

impl Collector for Now {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let Self(app) = self;
        let tally = app.committer.tally();
        let entries = Family::<Written, Counter>::default();
        for (kind, count) in tally.entries() {
            entries.get_or_create(&Written { kind: kind.as_str() }).inc_by(count);
        }
        let about = "Ledger entries that were written since this control plane started";
        entries.encode(encoder.encode_descriptor("ledger_entries", about, None, entries.metric_type())?)?;
        for (name, about, count) in [
            ("commits", "Transactions that were committed", tally.commits()),
            ("committed_jobs", "Inputs, claims and heartbeats that transactions answered", tally.jobs()),
            ("commit_failures", "Transactions that the database did not take", tally.failures()),
        ] {
            let counter = ConstCounter::new(count);
            counter.encode(encoder.encode_descriptor(name, about, None, counter.metric_type())?)?;
        }
        let alive = i64::try_from(app.supervisors.listed(app.clock.now()).len()).unwrap_or(i64::MAX);
        let alive = ConstGauge::new(alive);
        let about = "Supervisors that were heard of in the last ten minutes";
        alive.encode(encoder.encode_descriptor("supervisors", about, None, alive.metric_type())?)
    }
}
