//! Request bodies: read under limits before anything looks at them.
//!
//! The size is limited by the `Content-Length` and counted as it comes, the time by a deadline for the whole body. JSON is
//! read strictly by `stateous_engine::json`, which also limits nesting and digits.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use stateous_api::Code;
use stateous_engine::json::{self, Json, JsonError};
use stateous_engine::limits;

use crate::fields::Fields;
use crate::refused::Refused;

/// How long a body of JSON may take to come.
const JSON_TIME: Duration = Duration::from_secs(30);
/// How much of a body that is too large is still read, so that its sender gets to hear the answer: who is cut off while
/// it sends sees a broken connection, which looks like an outage and is tried again.
const DRAIN_BYTES: usize = 48 << 20;
/// How long that may take.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// The body as a JSON object; `{}` when it is empty or blank. `unsendable` is the code for what is JSON but cannot be
/// stored and sent again: a lone surrogate, or a number beyond all floats.
pub(crate) async fn object(request: Request, unsendable: Code) -> Result<Fields, Refused> {
    object_within(request, limits::BODY, unsendable).await
}

/// The same, at most `limit` bytes of it.
pub(crate) async fn object_within(
    request: Request,
    limit: usize,
    unsendable: Code,
) -> Result<Fields, Refused> {
    read(&bytes(request, limit, JSON_TIME).await?, unsendable)
}

/// The text of a body as a JSON object, as [`object`] reads it.
pub(crate) fn read(text: &[u8], unsendable: Code) -> Result<Fields, Refused> {
    if text.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x0b) {
        return Ok(Fields::default());
    }
    match json::parse(text) {
        Ok(Json::Object(object)) => Ok(Fields::new(object)),
        Ok(_) => Err(Refused::new(Code::InvalidBody, "the body must be a JSON object")),
        Err(error @ (JsonError::LoneSurrogate | JsonError::Infinite { .. })) => {
            Err(Refused::new(unsendable, format!("the body cannot be taken: {error}")))
        }
        Err(error) => {
            // The sentence says already that it is not JSON.
            let what = match &error {
                JsonError::Syntax { problem, line, column } => {
                    format!("{problem} at line {line}, column {column}")
                }
                other => other.to_string(),
            };
            Err(Refused::bad_request(StatusCode::BAD_REQUEST, format!("the body is not JSON: {what}")))
        }
    }
}

/// The whole body, at most `limit` bytes, all of it within `time`.
pub(crate) async fn bytes(request: Request, limit: usize, time: Duration) -> Result<Bytes, Refused> {
    let declared = declared(&request);
    let waits = request.headers().contains_key(header::EXPECT);
    let mut body = request.into_body();
    if declared.is_some_and(|length| length > limit as u64) {
        // Whoever waits for leave to send hears the answer without sending.
        if !waits {
            pass_over(body).await;
        }
        return Err(too_large(limit));
    }
    let capacity = declared.and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let mut whole = BytesMut::with_capacity(capacity);
    let read = async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| {
                Refused::bad_request(StatusCode::BAD_REQUEST, "the body ended before it was complete")
            })?;
            let Ok(data) = frame.into_data() else { continue };
            if whole.len() + data.len() > limit {
                return Ok(false);
            }
            whole.extend_from_slice(&data);
        }
        Ok(true)
    };
    match tokio::time::timeout(time, read).await {
        Ok(Ok(true)) => Ok(whole.freeze()),
        Ok(Ok(false)) => {
            pass_over(body).await;
            Err(too_large(limit))
        }
        Ok(Err(refused)) => Err(refused),
        Err(_) => {
            let message = format!("the body did not come within {} seconds", time.as_secs());
            Err(Refused::bad_request(StatusCode::REQUEST_TIMEOUT, message))
        }
    }
}

/// The refusal of a body that is larger than `limit` bytes.
pub(crate) fn too_large(limit: usize) -> Refused {
    let most = limit >> 20;
    let message = format!("the body is larger than {most} MiB, the most this API reads");
    Refused::bad_request(StatusCode::PAYLOAD_TOO_LARGE, message)
}

/// A `Content-Length`, unless the body is chunked, when it says nothing.
fn declared(request: &Request) -> Option<u64> {
    if request.headers().contains_key(header::TRANSFER_ENCODING) {
        return None;
    }
    request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// Passes over the body of a request that is refused unread.
pub(crate) async fn drain(request: Request) {
    if !request.headers().contains_key(header::EXPECT) {
        pass_over(request.into_body()).await;
    }
}

async fn pass_over(mut body: Body) {
    let read = async {
        let mut seen = 0;
        while let Some(Ok(frame)) = body.frame().await {
            seen += frame.data_ref().map_or(0, Bytes::len);
            if seen > DRAIN_BYTES {
                break;
            }
        }
    };
    // Whatever came in that time: the answer goes out now.
    let _ = tokio::time::timeout(DRAIN_TIME, read).await;
}
