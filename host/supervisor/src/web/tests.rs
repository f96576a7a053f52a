//! Requests against a server on this machine: what goes out, what does not, and what it is told.

use std::net::SocketAddr;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http_body_util::Full;

use super::*;

/// Answers by path.
async fn server() -> SocketAddr {
    async fn answer(request: Request) -> Response {
        match request.uri().path() {
            "/moved" => (http::StatusCode::FOUND, [("location", "/else")]).into_response(),
            "/big" => vec![b'x'; 5000].into_response(),
            "/slow" => {
                let first = http_body::Frame::data(Bytes::from_static(b"x"));
                let mut frames = vec![Ok::<_, std::convert::Infallible>(first)].into_iter();
                let body = std::future::poll_fn(move |_| {
                    frames.next().map_or(std::task::Poll::Pending, |f| std::task::Poll::Ready(Some(f)))
                });
                Body::new(Trickle(Box::pin(body))).into_response()
            }
            "/never" => std::future::pending().await,
            _ => {
                let (head, body) = request.into_parts();
                let mut lines = vec![format!("{} {}", head.method, head.uri)];
                lines.extend(head.headers.iter().map(|(n, v)| format!("{n}: {}", v.to_str().unwrap())));
                let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
                lines.push(String::from_utf8(body.to_vec()).unwrap());
                lines.join(" | ").into_response()
            }
        }
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    at
}

type Next = Option<Result<http_body::Frame<Bytes>, std::convert::Infallible>>;

/// One piece, and then nothing for ever.
struct Trickle(std::pin::Pin<Box<dyn Future<Output = Next> + Send>>);

impl http_body::Body for Trickle {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Next> {
        self.0.as_mut().poll(context)
    }
}

/// A way out that grants what is said, to an attempt that asks for everything at 127.0.0.1, localhost and example.com.
fn way_out(port: u16, allow: &[&str], private: &[&str]) -> Arc<dyn Web> {
    let allow = allow.iter().map(|rule| rule.parse().unwrap()).collect();
    let private = private.iter().map(|&host| host.to_owned()).collect();
    let settings = HttpSettings { allow, private, body_bytes: 1000, requests: 5, ..HttpSettings::default() };
    let asks =
        ["http://127.0.0.1", "http://localhost", "http://[::1]", "http://name.invalid", "https://127.0.0.1"]
            .map(|host| format!("{host}:{port}/"));
    let secret = |hosts: &[&str]| Secret {
        value: "s3cr3t".to_owned(),
        hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        states: None,
    };
    let secrets =
        [("A".to_owned(), secret(&["127.0.0.1"])), ("B".to_owned(), secret(&["api.example.com"]))].into();
    let id = AttemptId { task: 1, attempt: 1, token: "T-1".to_owned() };
    Arc::new(Outgoing::new(settings)).of(id, &asks, secrets)
}

fn request(method: &str, url: &str, secret: &str, body: &'static str) -> http::Request<WebBody> {
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    let request = http::Request::builder().method(method).uri(url).header("host", "forged.example.com");
    request.header("authorization", format!("Bearer {{{{secret:{secret}}}}}")).body(body).unwrap()
}

async fn send(
    web: &Arc<dyn Web>,
    method: &str,
    url: &str,
    secret: &str,
    body: &'static str,
) -> Result<(u16, String), WebError> {
    let patience = Patience {
        first_byte: Some(Duration::from_millis(300)),
        between_bytes: Some(Duration::from_millis(200)),
        ..Patience::default()
    };
    let answer = Arc::clone(web).send(request(method, url, secret, body), patience).await?;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8(body.to_vec()).unwrap()))
}

#[tokio::test]
async fn what_is_asked_and_granted_goes_out_with_its_secret() {
    let at = server().await;
    let web = way_out(at.port(), &[&format!("POST http://{at}/v1")], &["127.0.0.1"]);
    let (status, body) = send(&web, "POST", &format!("http://{at}/v1/a?b=c"), "A", "hello").await.unwrap();
    assert_eq!(status, 200);
    assert_eq!(
        body,
        format!(
            "POST /v1/a?b=c | authorization: Bearer s3cr3t | accept: */* | host: {at} | transfer-encoding: chunked | hello"
        )
    );
}

#[tokio::test]
async fn what_is_not_allowed_says_which_line_would_allow_it() {
    let at = server().await;
    let port = at.port();
    let check = async |allow: &str, private: &[&str], url: &str, secret: &str, wanted: &str| {
        let web = way_out(port, &[allow], private);
        let error = send(&web, "GET", url, secret, "").await.unwrap_err();
        assert_eq!(format!("{}: {error}", error.code()), wanted);
    };
    check(
        "http://127.0.0.1/",
        &["127.0.0.1"],
        "https://api.example.com/v1?key=1",
        "A",
        "http_denied: GET https://api.example.com/v1 is not among what the routine asks for; push it with --http \
         'GET https://api.example.com/v1'",
    )
    .await;
    let url = format!("http://127.0.0.1:{port}/v1");
    check(
        &format!("POST {url}"),
        &["127.0.0.1"],
        &url,
        "A",
        &format!("http_denied: GET {url} is not granted here; stateous.toml would say: [http] allow = [\"GET {url}\"]"),
    )
    .await;
    check(
        &url,
        &["127.0.0.1"],
        &url,
        "NONE",
        &format!(
            "http_denied: GET {url}: there is no secret `NONE` for it; stateous.toml would say: [secrets.NONE] env = \
             \"NONE\", hosts = [\"127.0.0.1\"]"
        ),
    )
    .await;
    check(
        &url,
        &["127.0.0.1"],
        &url,
        "B",
        &format!(
            "http_denied: GET {url}: the secret `B` is not granted to 127.0.0.1; stateous.toml would say: [secrets.B] \
             hosts = [\"127.0.0.1\"]"
        ),
    )
    .await;
    let web = way_out(port, &[&format!("http://127.0.0.1:{port}/")], &["127.0.0.1"]);
    let tunnel = send(&web, "CONNECT", &format!("http://127.0.0.1:{port}/x"), "A", "").await.unwrap_err();
    assert_eq!(tunnel.to_string(), "CONNECT 127.0.0.1/x is not sent: there are no tunnels");
    check(
        &format!("http://127.0.0.1:{port}/"),
        &["127.0.0.1"],
        &format!("http://127.0.0.1:{port}/v1/%2e%2E/admin"),
        "A",
        "http_invalid_url: GET 127.0.0.1/v1/%2e%2E/admin: a path with `.` or `..`, a backslash or NUL is not sent",
    )
    .await;
}

#[tokio::test]
async fn private_addresses_are_not_reached_by_any_name() {
    let at = server().await;
    let port = at.port();
    let plain = |url: &str| {
        let body = Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync();
        http::Request::builder().uri(url).body(body).unwrap()
    };
    for host in ["127.0.0.1", "[::1]", "localhost", "2130706433"] {
        let grant = format!("http://{host}:{port}/");
        let web = way_out(port, &[&grant], &[]);
        let error =
            web.send(plain(&format!("http://{host}:{port}/")), Patience::default()).await.unwrap_err();
        assert_eq!(error.code(), "http_address_denied", "{error}");
        assert!(
            error
                .to_string()
                .contains("which is no public address; stateous.toml would say: [http] private = [")
        );
    }
    // Named by the owner, it is reached: the name resolves, and what was resolved is connected to.
    let web = way_out(port, &[&format!("http://localhost:{port}/")], &["localhost"]);
    let answer = web.send(plain(&format!("http://localhost:{port}/")), Patience::default()).await.unwrap();
    assert_eq!(answer.status(), 200);

    let web = way_out(port, &[&format!("http://name.invalid:{port}/")], &[]);
    let error =
        web.send(plain(&format!("http://name.invalid:{port}/")), Patience::default()).await.unwrap_err();
    assert_eq!(error.code(), "http_dns", "{error}");
}

#[tokio::test]
async fn redirects_are_answers_and_bounds_hold_both_ways() {
    let at = server().await;
    let allow = format!("http://{at}/");
    let web = way_out(at.port(), &[&allow], &["127.0.0.1"]);
    let url = |path: &str| format!("http://{at}{path}");
    assert_eq!(send(&web, "GET", &url("/moved"), "A", "").await.unwrap(), (302, String::new()));
    let code = |answer: Result<_, WebError>| answer.unwrap_err().code();
    assert_eq!(code(send(&web, "GET", &url("/big"), "A", "").await), "http_answer_too_large");
    let big: &'static str = Box::leak("x".repeat(1001).into_boxed_str());
    assert_eq!(code(send(&web, "POST", &url("/"), "A", big).await), "http_request_too_large");
    assert_eq!(code(send(&web, "GET", &url("/slow"), "A", "").await), "http_timeout");
    assert_eq!(code(send(&web, "GET", &url("/never"), "A", "").await), "http_timeout");
    assert_eq!(code(send(&web, "GET", &url("/"), "A", "").await), "http_too_many");

    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let web = way_out(free.port(), &[&format!("http://{free}/")], &["127.0.0.1"]);
    assert_eq!(code(send(&web, "GET", &format!("http://{free}/"), "A", "").await), "http_unreachable");
}

#[tokio::test]
async fn who_cannot_prove_who_it_is_gets_nothing() {
    // It speaks no TLS at all, so it proves nothing.
    let at = server().await;
    let web = way_out(at.port(), &[&format!("https://{at}/")], &["127.0.0.1"]);
    let error = send(&web, "GET", &format!("https://{at}/"), "A", "").await.unwrap_err();
    assert_eq!(error.code(), "http_tls", "{error}");
}
