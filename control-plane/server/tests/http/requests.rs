//! How requests are read: paths, methods, bodies, limits, and who may knock.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::harness::{Plane, table};

#[tokio::test]
async fn paths_and_methods() {
    let plane = Plane::new().await;
    plane.token("T1").await;
    let requests = [
        ("GET", "/", ""),
        ("GET", "/nope", ""),
        ("POST", "/health", ""),
        ("OPTIONS", "/health", ""),
        ("HEAD", "/health", ""),
        ("DELETE", "/tokens", ""),
        ("POST", "/tokens/T1/stop", "{}"),
        ("GET", "/tokens/T1/pause", ""),
        ("GET", "/tokens/T1/events/done", ""),
        ("GET", "/tokens//history", ""),
        ("GET", "/tokens/a%2Fb", ""),
        ("GET", "/tokens/%00", ""),
        ("GET", "/tokens/%1B%5B31m", ""),
        ("GET", "/tokens/%FF", ""),
        ("GET", "/tasks/seven/report", ""),
        ("POST", "/tasks/seven/report", "{}"),
        ("POST", "/tasks/-1/note", r#"{"text":"x"}"#),
        ("POST", "/tasks/007/note", r#"{"text":"x"}"#),
        ("POST", "/tasks/9223372036854775807/note", r#"{"text":"x"}"#),
        ("POST", "/tasks/9223372036854775808/note", r#"{"text":"x"}"#),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
}

#[tokio::test]
async fn a_slash_at_the_end_leads_to_the_path_without_it() {
    let plane = Plane::new().await;
    let check = async |path: &str, location: Option<&str>| {
        let answer = plane.send("GET", path, "").await;
        assert_eq!(answer.status, if location.is_some() { 307 } else { 404 }, "{path}");
        assert_eq!(answer.header("location"), location, "{path}");
    };
    check("/tokens/", Some("/tokens")).await;
    check("/tokens//?limit=5", Some("/tokens?limit=5")).await;
    check("/tokens/T%201/history/", Some("/tokens/T%201/history")).await;
    check("/nope/", None).await;
    check("//tokens/", None).await;
}

#[tokio::test]
async fn bodies_are_json_objects() {
    let plane = Plane::new().await;
    let nested = |levels: usize| {
        format!(
            r#"{{"token":"D{levels}","context":{{"repo":"a","x":{}{}}}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    let digits = format!(r#"{{"token":"N","context":{{"repo":"a","x":{}}}}}"#, "9".repeat(4301));
    let (deep, deeper, abyss) = (nested(62), nested(63), "[".repeat(100_000));
    let requests = [
        ("POST", "/tokens", ""),
        ("POST", "/tokens", " \t\r\n"),
        ("POST", "/tokens", "[]"),
        ("POST", "/tokens", "null"),
        ("POST", "/tokens", "{"),
        ("POST", "/tokens", r#"{"token":"A"}x"#),
        ("POST", "/tokens", "\u{feff}{\"token\":\"BOM\",\"context\":{\"repo\":\"a\"}}"),
        ("POST", "/tokens", r#"{"token":"A","token":"B","context":{"repo":1,"repo":"last"},"other":[]}"#),
        ("POST", "/tokens", r#"{"token":"A","context":{"repo":NaN}}"#),
        ("POST", "/tokens", r#"{"token":"A","context":{"repo":"a","x":1e999}}"#),
        ("POST", "/tokens", r#"{"token":"A","context":{"repo":"\ud800"}}"#),
        ("POST", "/tokens", r#"{"token":"NUL","context":{"repo":"a\u0000b"}}"#),
        ("POST", "/tokens", &digits),
        ("POST", "/tokens", &deep),
        ("POST", "/tokens", &deeper),
        ("POST", "/tokens", &abyss),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
}

#[tokio::test]
async fn what_came_in_goes_out_digit_for_digit() {
    let plane = Plane::new().await;
    let digits = "9".repeat(400);
    let context = format!(r#"{{"branch":null,"repo":"Zürich","z":1.50,"a":{digits},"list":[1.0,-0,0.1]}}"#);
    plane.send("POST", "/tokens", &format!(r#"{{"token":"T","context":{context}}}"#)).await;
    let answer = plane.send("GET", "/tokens/T", "").await;
    assert!(answer.text().contains(&format!("\"context\":{context}")), "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn large_bodies_are_refused_and_their_senders_hear_it() {
    let plane = Plane::new().await;
    let large = vec![b' '; (1 << 20) + 1];
    let sized = plane.send_with("POST", "/tokens", &[], &large).await;
    let chunk = [format!("{:x}\r\n", large.len()).as_bytes(), &large, b"\r\n0\r\n\r\n"].concat();
    let chunked = plane.send_with("POST", "/tokens", &[("transfer-encoding", "chunked")], &chunk).await;
    let asked = [("expect", "100-continue"), ("content-length", "2000000")];
    let asked = plane.send_with("POST", "/tokens", &asked, b"").await;
    for answer in [sized, chunked, asked] {
        assert_eq!(answer.brief(), "413 bad_request: the body is larger than 1 MiB, the most this API reads");
    }
    // One byte less is read, and is blank.
    let answer = plane.send_with("POST", "/tokens", &[], &large[1..]).await;
    assert_eq!(answer.brief(), "422 invalid_token_id: 'token' is the token's id: a string");
}

#[tokio::test]
async fn pages_of_other_sites_are_kept_out() {
    let plane = Plane::new().await;
    let own = format!("http://{}", plane.address);
    let mut lines = Vec::new();
    for headers in [
        vec![("host", "evil.example")],
        vec![("host", "plane.example:80")],
        vec![("origin", "http://evil.example")],
        vec![("origin", "null")],
        vec![("origin", own.as_str())],
    ] {
        let answer = plane.send_with("GET", "/tokens", &headers, b"").await;
        let shown = format!("{headers:?}").replace(&plane.address.to_string(), "127.0.0.1:PORT");
        lines.push(format!("{shown}\n  {}", answer.brief()));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let plane = Plane::new().await;
    let host = plane.address;
    let one = |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{more}\r\n");
    let both = one("/health", "") + &one("/nope", "connection: close\r\n");
    let answer = plane.raw(both.into_bytes()).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("this API has no /nope"), "{}", answer.text());
}

#[tokio::test]
async fn bytes_that_are_no_text_are_refused() {
    let plane = Plane::new().await;
    let answer = plane.send_with("POST", "/tokens", &[], b"{\"token\":\"a\xff\"}").await;
    assert_eq!(
        answer.brief(),
        "400 bad_request: the body is not JSON: bytes that are not UTF-8 at line 1, column 12"
    );
}

#[tokio::test]
async fn head_tells_what_get_would() {
    let plane = Plane::new().await;
    plane.token("A").await;
    plane.token("B").await;
    for path in
        ["/tokens?limit=1", "/tokens/A", "/tokens/A/history", "/tasks/1", "/supervisors", "/openapi.json"]
    {
        let (get, head) = (plane.send("GET", path, "").await, plane.send("HEAD", path, "").await);
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for name in ["content-type", "content-length", "link"] {
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
        }
    }
    assert_eq!(plane.send("HEAD", "/tokens/C", "").await.status, 404);
}

#[tokio::test]
async fn nobody_is_waited_for_without_end() {
    let plane = Plane::new().await;
    // From here on time jumps to whatever is due whenever all stand still.
    tokio::time::pause();
    let check = async |sent: &str, answered: &str| {
        let mut stream = TcpStream::connect(plane.address).await.unwrap();
        stream.write_all(sent.replace("HOST", &plane.address.to_string()).as_bytes()).await.unwrap();
        let (began, mut answer) = (Instant::now(), String::new());
        stream.read_to_string(&mut answer).await.unwrap();
        let waited = began.elapsed().as_secs();
        assert!((28..=120).contains(&waited), "{waited} seconds for {sent:?}");
        assert!(answer.starts_with(answered) && answer.is_empty() == answered.is_empty(), "{answer}");
    };
    check("", "").await;
    check("GET /tokens HTTP/1.1\r\nhost: HOST\r\nx-slow: ", "").await;
    let post = "POST /tokens HTTP/1.1\r\nhost: HOST\r\n";
    check(&format!("{post}content-length: 20\r\n\r\n{{\"token\""), "HTTP/1.1 408").await;
    check(&format!("{post}transfer-encoding: chunked\r\n\r\n5\r\n{{\"tok"), "HTTP/1.1 408").await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_it_comes() {
    let plane = Plane::new().await;
    let mut stream = TcpStream::connect(plane.address).await.unwrap();
    let head = format!(
        "POST /tokens HTTP/1.1\r\nhost: {}\r\nexpect: 100-continue\r\ncontent-length: 99999999999\r\n\r\n",
        plane.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}
