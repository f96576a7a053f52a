//! Bodies that are counted: so many bytes, and so long between two pieces and in all.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use stateous_runtime::{WebBody, WebError};
use tokio::time::{Instant, Sleep, sleep_until};

/// A body under bounds.
pub(super) struct Bounded {
    inner: WebBody,
    counted: Arc<AtomicU64>,
    bytes: u64,
    bytes_max: u64,
    too_large: fn(u64) -> WebError,
    /// Only for what comes in: what goes out waits for the guest, which has its own bound.
    wait: Option<Wait>,
}

struct Wait {
    between: Duration,
    end: Instant,
    within: Duration,
    next: Pin<Box<Sleep>>,
}

impl Bounded {
    pub(super) fn outgoing(inner: WebBody, counted: Arc<AtomicU64>, bytes_max: u64) -> Self {
        Self { inner, counted, bytes: 0, bytes_max, too_large: WebError::RequestTooLarge, wait: None }
    }

    /// `end` is when the whole exchange must be over, `within` how long that was from its start.
    pub(super) fn incoming(
        inner: WebBody,
        counted: Arc<AtomicU64>,
        bytes_max: u64,
        between: Duration,
        end: Instant,
        within: Duration,
    ) -> Self {
        let next = Box::pin(sleep_until((Instant::now() + between).min(end)));
        let wait = Some(Wait { between, end, within, next });
        Self { inner, counted, bytes: 0, bytes_max, too_large: WebError::AnswerTooLarge, wait }
    }
}

impl Body for Bounded {
    type Data = Bytes;
    type Error = WebError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, WebError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) {
            let bytes = match &frame {
                Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len) as u64,
                _ => return Poll::Ready(frame),
            };
            self.bytes += bytes;
            self.counted.fetch_add(bytes, Ordering::Relaxed);
            if self.bytes > self.bytes_max {
                return Poll::Ready(Some(Err((self.too_large)(self.bytes_max))));
            }
            if let Some(wait) = &mut self.wait {
                let next = (Instant::now() + wait.between).min(wait.end);
                if next == wait.end && Instant::now() >= wait.end {
                    return Poll::Ready(Some(Err(WebError::AnswerTimeout(wait.within))));
                }
                wait.next.as_mut().reset(next);
            }
            return Poll::Ready(frame);
        }
        let Some(wait) = &mut self.wait else { return Poll::Pending };
        ready!(wait.next.as_mut().poll(context));
        let over = if Instant::now() >= wait.end { wait.within } else { wait.between };
        Poll::Ready(Some(Err(WebError::AnswerTimeout(over))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
