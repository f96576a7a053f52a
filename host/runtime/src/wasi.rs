//! WASI with nothing granted: no file, no socket, no variable, no argument. Clocks and random numbers work;
//! what the guest prints is kept, up to a bound, and never stops it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxView, WasiView, async_trait};

use crate::attempt::Attempt;

/// The most random bytes in one call; wasmtime's own bound is 64 MiB.
const RANDOM_BYTES_MAX: u64 = 64 << 10;
/// Handles that a guest may hold at once; wasmtime's own bound is none.
const HANDLES_MAX: usize = 1000;
/// What is kept of the beginning and of the end of a stream.
const HEAD_BYTES: usize = 56 << 10;
const TAIL_BYTES: usize = 8 << 10;

/// The WASI half of an attempt.
pub(crate) struct Wasi {
    pub(crate) table: ResourceTable,
    ctx: WasiCtx,
    pub(crate) stdout: Printed,
    pub(crate) stderr: Printed,
}

impl Wasi {
    pub(crate) fn new() -> Self {
        let (stdout, stderr) = (Printed::default(), Printed::default());
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES_MAX);
        let ctx = WasiCtx::builder()
            .stdout(stdout.clone())
            .stderr(stderr.clone())
            .max_random_size(RANDOM_BYTES_MAX)
            .build();
        Self { table, ctx, stdout, stderr }
    }
}

impl WasiView for Attempt {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi.ctx, table: &mut self.wasi.table }
    }
}

/// What a guest printed on one stream: the beginning and the end, and how much is missing between.
#[derive(Clone, Default)]
pub(crate) struct Printed(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Printed {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, bytes: &[u8]) {
        let kept = &mut *self.kept();
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - kept.head.len()));
        kept.head.extend_from_slice(first);
        kept.tail.extend(&rest[rest.len().saturating_sub(TAIL_BYTES)..]);
        kept.dropped += rest.len().saturating_sub(TAIL_BYTES) as u64;
        let over = kept.tail.len().saturating_sub(TAIL_BYTES);
        kept.tail.drain(..over);
        kept.dropped += over as u64;
    }

    /// All that was kept, with a line that says what is missing.
    pub(crate) fn text(&self) -> String {
        let kept = &mut *self.kept();
        let mut text = String::from_utf8_lossy(&kept.head).into_owned();
        if kept.dropped > 0 {
            text.push_str(&format!("\n… {} bytes left out …\n", kept.dropped));
        }
        text.push_str(&String::from_utf8_lossy(kept.tail.make_contiguous()));
        text
    }

    /// The end of it: at most `max` bytes, from the beginning of a line if one fits.
    pub(crate) fn end(&self, max: usize) -> String {
        let text = self.text();
        let text = text.trim_end();
        if text.len() <= max {
            return text.to_owned();
        }
        let end = &text[text.ceil_char_boundary(text.len() - max)..];
        end.split_once('\n').map_or(end, |(_, lines)| lines).to_owned()
    }
}

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    /// For WASI versions that we do not link.
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for Printed {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for Printed {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_keeps_its_beginning_and_its_end() {
        let printed = Printed::default();
        for i in 0..100_000 {
            printed.push(format!("line {i}\n").as_bytes());
        }
        let text = printed.text();
        assert!(text.starts_with("line 0\nline 1\n"));
        assert!(text.ends_with("line 99999\n"));
        assert!(text.contains(" bytes left out …"));
        assert!(text.len() < HEAD_BYTES + TAIL_BYTES + 64);
        assert_eq!(printed.end(25), "line 99998\nline 99999");
    }

    #[test]
    fn one_huge_write_is_bounded_too() {
        let printed = Printed::default();
        printed.push(&vec![b'x'; 1 << 20]);
        assert!(printed.text().len() < HEAD_BYTES + TAIL_BYTES + 64);
    }
}
