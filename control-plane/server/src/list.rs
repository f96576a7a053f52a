//! JSON lists that go out piece by piece, so that one of any length never lies in memory whole.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use serde::Serialize;

use crate::refused::Refused;

/// The sender's side of a list that is on its way.
pub(crate) struct List {
    sender: Sender<Bytes, Refused>,
    opening: &'static str,
}

/// Nobody reads the list any more, or it was cut: there is nothing left to do.
#[derive(Debug)]
pub(crate) struct Gone;

impl List {
    /// A list, and the answer that it is the body of.
    pub(crate) fn new() -> (Self, Response) {
        let (sender, channel) = Channel::<Bytes, Refused>::new(2);
        let mut response = Response::new(Body::new(channel));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        (Self { sender, opening: "[" }, response)
    }

    /// Sends more items, as soon as the reader has taken those before.
    pub(crate) async fn send<T: Serialize>(&mut self, items: &[T]) -> Result<(), Gone> {
        let mut text = Vec::new();
        for item in items {
            text.extend_from_slice(std::mem::replace(&mut self.opening, ",").as_bytes());
            // Wire types are made of text, numbers and JSON text, which can always be written.
            serde_json::to_writer(&mut text, item).map_err(|_| Gone)?;
        }
        if text.is_empty() {
            return Ok(());
        }
        self.sender.send_data(Bytes::from(text)).await.map_err(|_| Gone)
    }

    /// The list is complete.
    pub(crate) async fn end(mut self) {
        let end = if self.opening == "[" { "[]" } else { "]" };
        // The reader went away at the very end, or not: both are fine.
        let _ = self.sender.send_data(Bytes::from_static(end.as_bytes())).await;
    }

    /// Cuts the connection, so that the list never looks complete.
    pub(crate) fn cut(self, why: Refused) {
        self.sender.abort(why);
    }
}
