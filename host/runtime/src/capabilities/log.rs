//! `log`: lines for the supervisor's log. Never refused: what is too long is cut, what is too much is
//! counted.
//!
//! A panic comes this way too. On wasm32-unknown-unknown a panic message goes nowhere, so the SDK installs a
//! hook that writes `panic: …` here before the trap; the end of the attempt quotes it.

use crate::attempt::Attempt;
use crate::bindings::stateous::routine::log::{Host, Level as WitLevel};
use crate::ports::{Level, Ports};
use crate::text;

/// The most lines of one attempt that are passed on.
const LINES_MAX: u64 = 1000;
/// The most bytes of a line.
const LINE_BYTES_MAX: usize = 4 << 10;
/// The most bytes of a panic message.
const PANIC_BYTES_MAX: usize = 4 << 10;
/// How the SDK's panic hook begins.
const PANIC: &str = "panic: ";

/// What was written, as far as it matters later.
#[derive(Default)]
pub(crate) struct State {
    lines: u64,
    /// Lines that were not passed on.
    pub(crate) dropped: u64,
    /// The message of the last panic.
    pub(crate) panic: Option<String>,
}

impl State {
    /// Passes a line on, bounded and printable, or counts it.
    pub(crate) fn line(&mut self, ports: &mut dyn Ports, level: Level, line: &str) {
        if self.lines >= LINES_MAX {
            self.dropped += 1;
            return;
        }
        self.lines += 1;
        ports.log(level, &text::printable(&text::cut(line, LINE_BYTES_MAX)));
    }
}

impl Host for Attempt {
    async fn write(&mut self, level: WitLevel, text: String) -> wasmtime::Result<()> {
        self.work(text.len()).await;
        let level = match level {
            WitLevel::Debug => Level::Debug,
            WitLevel::Info => Level::Info,
            WitLevel::Warn => Level::Warn,
            WitLevel::Error => Level::Error,
        };
        if level == Level::Error
            && let Some(message) = text.strip_prefix(PANIC)
        {
            self.log.panic = Some(text::cut(message, PANIC_BYTES_MAX));
        }
        self.log.line(&mut *self.ports, level, &text);
        Ok(())
    }
}
