//! Every route of the API, and what is answered beside them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use stateous_api::Code;

use crate::app::App;
use crate::door;
use crate::refused::Refused;
use crate::routes::{claims, events, routines, steering, tasks, tokens, workflow};

/// Path and methods. `{task}` is digits; any other `{…}` is one part of a path.
fn routes() -> [(&'static str, MethodRouter<Arc<App>>); 18] {
    [
        ("/tokens", get(tokens::list).post(tokens::start)),
        ("/tokens/{token}", get(tokens::show)),
        ("/tokens/{token}/history", get(tokens::history)),
        ("/tokens/{token}/events/{event}", post(events::fire)),
        ("/tokens/{token}/pause", post(steering::pause)),
        ("/tokens/{token}/resume", post(steering::resume)),
        ("/tokens/{token}/cancel", post(steering::cancel)),
        ("/workflow", get(workflow::document)),
        ("/health", get(workflow::health)),
        ("/tasks/claim", post(claims::claim)),
        ("/tasks/heartbeat", post(claims::heartbeat)),
        ("/tasks/{task}/started", post(claims::started)),
        ("/tasks/{task}/return", post(claims::give_back)),
        ("/tasks/{task}/report", post(tasks::report)),
        ("/tasks/{task}/note", post(tasks::note)),
        ("/tasks/{task}/memory", put(tasks::memory)),
        ("/routines", get(routines::list).post(routines::push)),
        ("/routines/{digest}", get(routines::component)),
    ]
}

/// The API over one control plane.
pub(crate) fn router(app: App) -> Router {
    let app = Arc::new(app);
    let mut router = Router::new();
    for (path, methods) in routes() {
        router = router.route(path, methods);
    }
    router
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&app), door::guard))
        .layer(middleware::from_fn(no_panic))
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
    let matches = |(pattern, _): &(&str, _)| {
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
    routes().iter().any(matches)
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
        for path in
            ["", "/", "/tokens/", "/tokens//history", "/tasks/seven/report", "/tasks/7", "/tokens/A/events"]
        {
            assert!(!is_route(path), "{path}");
        }
    }
}
