//! Every route of the API, and what is answered beside them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::task::Poll;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use stateous_api::Code;

use crate::app::App;
use crate::door;
use crate::openapi;
use crate::operations;
use crate::refused::Refused;
use crate::routes::{
    batch, claims, events, history, listing, messages, routines, steering, tokens, work, workflow,
};

/// A method of a path, and what answers it. `HEAD` is answered wherever `GET` is.
type Route = (Method, &'static str, MethodRouter<Arc<App>>);

/// Every route. `{task}` is digits; any other `{…}` is one part of a path.
fn routes() -> Vec<Route> {
    vec![
        route(Method::GET, "/tokens", listing::list),
        route(Method::POST, "/tokens", tokens::start),
        route(Method::GET, "/tokens/{token}", tokens::show),
        route(Method::GET, "/tokens/{token}/history", history::history),
        route(Method::POST, "/tokens/{token}/events/{event}", events::fire),
        route(Method::POST, "/tokens/{token}/pause", steering::pause),
        route(Method::POST, "/tokens/{token}/resume", steering::resume),
        route(Method::POST, "/tokens/{token}/cancel", steering::cancel),
        route(Method::POST, "/tokens/{token}/retry", steering::retry),
        route(Method::GET, "/openapi.json", openapi::document),
        route(Method::GET, "/workflow", workflow::document),
        route(Method::GET, "/health", workflow::health),
        route(Method::POST, "/tasks/claim", claims::claim),
        route(Method::POST, "/tasks/heartbeat", claims::heartbeat),
        route(Method::POST, "/tasks/batch", batch::batch),
        route(Method::POST, "/tasks/{task}/started", messages::started),
        route(Method::POST, "/tasks/{task}/return", messages::give_back),
        route(Method::POST, "/tasks/{task}/report", messages::report),
        route(Method::POST, "/tasks/{task}/note", messages::note),
        route(Method::PUT, "/tasks/{task}/memory", messages::memory),
        route(Method::GET, "/tasks", work::tasks),
        route(Method::GET, "/tasks/{task}", work::task),
        route(Method::GET, "/supervisors", work::supervisors),
        route(Method::GET, "/routines", routines::list),
        route(Method::POST, "/routines", routines::push),
        route(Method::GET, "/routines/{digest}", routines::component),
    ]
}

fn route<H, T>(method: Method, path: &'static str, handler: H) -> Route
where
    H: Handler<T, Arc<App>>,
    T: 'static,
{
    let filter =
        MethodFilter::try_from(method.clone()).expect("the table has only methods that HTTP itself knows");
    (method, path, on(filter, handler))
}

/// The API over one control plane.
pub(crate) fn router(app: App) -> Router {
    let app = Arc::new(app);
    let mut router = Router::new();
    for (_, path, methods) in routes() {
        router = router.route(path, methods);
    }
    router
        // For operators; no part of the API.
        .route("/healthz", on(MethodFilter::GET, operations::healthz))
        .route("/metrics", on(MethodFilter::GET, operations::metrics))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&app), door::guard))
        .layer(middleware::from_fn(no_panic))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), operations::count))
        .with_state(app)
}

/// No such path. One that differs from a route only by slashes at its end is sent there; the address is relative, so that
/// nobody's `Host` header decides where it leads.
async fn no_route(request: Request) -> Response {
    let path = request.uri().path();
    let bare = path.trim_end_matches('/');
    if bare != path && is_route(bare) {
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        if let Ok(location) = HeaderValue::from_str(&format!("{bare}{query}")) {
            return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, location)]).into_response();
        }
    }
    Refused::no_path(path).into_response()
}

async fn no_method(request: Request) -> Refused {
    let path = request.uri().path();
    if !is_route(path) {
        return Refused::no_path(path);
    }
    Refused::new(Code::MethodNotAllowed, format!("{path} does not take {}", request.method()))
}

fn is_route(path: &str) -> bool {
    static PATHS: LazyLock<Vec<&str>> = LazyLock::new(|| routes().iter().map(|(_, path, _)| *path).collect());
    let matches = |pattern: &&str| {
        let (mut wanted, mut found) = (pattern.split('/'), path.split('/'));
        loop {
            match (wanted.next(), found.next()) {
                (None, None) => return true,
                (Some("{task}"), Some(part))
                    if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) => {}
                (Some("{task}"), _) => return false,
                (Some(any), Some(part)) if any.starts_with('{') && !part.is_empty() => {}
                (Some(wanted), Some(part)) if wanted == part => {}
                _ => return false,
            }
        }
    };
    PATHS.iter().any(matches)
}

/// A panic in a handler is a bug of ours: this request fails, its neighbours go on.
async fn no_panic(request: Request, next: Next) -> Response {
    let mut response = Box::pin(next.run(request));
    std::future::poll_fn(move |context| {
        catch_unwind(AssertUnwindSafe(|| response.as_mut().poll(context)))
            .unwrap_or_else(|panic| Poll::Ready(Refused::unexpected(&text(panic.as_ref())).into_response()))
    })
    .await
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a handler panicked: {}", text.unwrap_or("no words"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_known_by_their_parts() {
        for path in
            ["/tokens", "/tokens/A", "/tokens/A/events/go", "/tasks/claim", "/tasks/7/report", "/routines/x"]
        {
            assert!(is_route(path), "{path}");
        }
        for path in [
            "",
            "/",
            "/tokens/",
            "/tokens//history",
            "/tasks/seven/report",
            "/tasks/seven",
            "/tokens/A/events",
        ] {
            assert!(!is_route(path), "{path}");
        }
    }

    #[test]
    fn the_document_and_the_router_have_the_same_routes() {
        let sorted = |mut routes: Vec<(Method, &'static str)>| {
            routes.sort_by_key(|(method, path)| (*path, method.to_string()));
            routes
        };
        let served = routes().into_iter().map(|(method, path, _)| (method, path)).collect();
        assert_eq!(sorted(openapi::documented()), sorted(served));
    }
}
