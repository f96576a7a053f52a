//! Requests over `wasi:http`. The one place that names WASI's bindings.

use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme,
};
use wasip2::io::streams::{OutputStream, StreamError};

use super::{HttpError, RequestParts, Response};

/// How much is read at once.
const PIECE: u64 = 64 << 10;

pub(super) fn send(request: &RequestParts) -> Result<Response, HttpError> {
    let told = |code: &ErrorCode| HttpError::new(request, spelled(code));
    let unfit = |what: &str| HttpError::new(request, format!("invalid-{what}"));
    let headers = Fields::new();
    for (name, value) in &request.headers {
        headers.append(name, value.as_bytes()).map_err(|_| unfit("header"))?;
    }
    if !request.body.is_empty() {
        let length = request.body.len().to_string();
        headers.set("content-length", &[length.into_bytes()]).map_err(|_| unfit("header"))?;
    }
    let (scheme, rest) = request.url.split_once("://").ok_or_else(|| unfit("url"))?;
    let rest = rest.split('#').next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };

    let outgoing = OutgoingRequest::new(headers);
    outgoing.set_method(&method(&request.method)).map_err(|()| unfit("method"))?;
    outgoing.set_scheme(Some(&self::scheme(scheme))).map_err(|()| unfit("url"))?;
    outgoing.set_authority(Some(authority)).map_err(|()| unfit("url"))?;
    outgoing.set_path_with_query(Some(&path)).map_err(|()| unfit("url"))?;
    // A request without a body says nothing of one.
    let body = if request.body.is_empty() { None } else { outgoing.body().ok() };
    let pending = outgoing_handler::handle(outgoing, None).map_err(|code| told(&code))?;
    if let Some(body) = body {
        // When the other side wants no more of it, the answer says why.
        if write(&body, &request.body).is_ok() {
            OutgoingBody::finish(body, None).map_err(|code| told(&code))?;
        }
    }
    let answer = loop {
        if let Some(answer) = pending.get() {
            break answer.map_err(|()| unfit("answer"))?.map_err(|code| told(&code))?;
        }
        pending.subscribe().block();
    };
    read(&answer).map_err(|error| HttpError::new(request, error))
}

fn write(body: &OutgoingBody, bytes: &[u8]) -> Result<(), ()> {
    let stream = body.write()?;
    let mut left = bytes;
    while !left.is_empty() {
        let room = room(&stream)?;
        let (now, later) = left.split_at(left.len().min(room));
        stream.write(now).map_err(drop)?;
        left = later;
    }
    stream.blocking_flush().map_err(drop)
}

fn room(stream: &OutputStream) -> Result<usize, ()> {
    loop {
        match stream.check_write().map_err(drop)? {
            0 => stream.subscribe().block(),
            room => return Ok(usize::try_from(room).unwrap_or(usize::MAX)),
        }
    }
}

fn read(answer: &IncomingResponse) -> Result<Response, String> {
    let headers = answer.headers().entries();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let headers = headers.into_iter().map(|(name, value)| (name, text(value))).collect();
    let body: IncomingBody = answer.consume().map_err(|()| "invalid-answer".to_owned())?;
    let stream = body.stream().map_err(|()| "invalid-answer".to_owned())?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(PIECE) {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => {
                let code = wasip2::http::types::http_error_code(&error);
                return Err(code.map_or_else(|| error.to_debug_string(), |code| spelled(&code)));
            }
        }
    }
    Ok(Response { status: answer.status(), headers, body: bytes })
}

fn method(text: &str) -> Method {
    match text {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "OPTIONS" => Method::Options,
        "TRACE" => Method::Trace,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn scheme(text: &str) -> Scheme {
    match text {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    }
}

/// A code as WIT spells it, for those that a routine may want to tell apart.
fn spelled(code: &ErrorCode) -> String {
    match code {
        ErrorCode::HttpRequestDenied => "HTTP-request-denied".to_owned(),
        ErrorCode::DestinationIpProhibited => "destination-IP-prohibited".to_owned(),
        ErrorCode::HttpRequestUriInvalid => "HTTP-request-URI-invalid".to_owned(),
        ErrorCode::DnsError(_) => "DNS-error".to_owned(),
        ErrorCode::ConnectionRefused => "connection-refused".to_owned(),
        ErrorCode::ConnectionTimeout => "connection-timeout".to_owned(),
        ErrorCode::ConnectionLimitReached => "connection-limit-reached".to_owned(),
        ErrorCode::TlsCertificateError => "TLS-certificate-error".to_owned(),
        ErrorCode::HttpResponseTimeout => "HTTP-response-timeout".to_owned(),
        ErrorCode::HttpRequestBodySize(_) => "HTTP-request-body-size".to_owned(),
        ErrorCode::HttpResponseBodySize(_) => "HTTP-response-body-size".to_owned(),
        ErrorCode::HttpProtocolError => "HTTP-protocol-error".to_owned(),
        other => format!("{other:?}"),
    }
}
