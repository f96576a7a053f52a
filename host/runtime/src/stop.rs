//! Tells one end of a run from another, and finds words for it.

use rustc_demangle::demangle;
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::attempt::Attempt;
use crate::limits::Limits;
use crate::outcome::MESSAGE_BYTES_MAX;
use crate::task::{Outcome, StopCode};
use crate::text;

/// The most bytes of the guest's last words, so that the backtrace keeps some room.
const LAST_WORDS_BYTES_MAX: usize = 5 << 10;
/// A function that stands so often in a backtrace calls itself.
const RECURSION_FRAMES: usize = 8;

/// A host call that does not return.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Halt {
    /// The capability was not granted.
    #[error("{0}")]
    Denied(String),
    /// The host cannot go on.
    #[error("{0}")]
    Broken(String),
}

/// The outcome of an attempt that ran into a trap or a host error.
pub(crate) fn stopped(error: &wasmtime::Error, attempt: &Attempt, limits: &Limits) -> Outcome {
    let (code, what) = classify(error, attempt, limits);
    let mut message = what;
    if matches!(code, StopCode::Trapped | StopCode::MemoryExceeded) {
        if let Some(words) = last_words(attempt) {
            message = format!("{message}\n{words}");
        }
        if let Some(frames) = frames(error) {
            message = format!("{message}\nbacktrace:\n{frames}");
        }
    }
    Outcome::Stopped { code, message: text::printable(&text::cut(&message, MESSAGE_BYTES_MAX)) }
}

/// The outcome of an attempt that ran longer than it may.
pub(crate) fn timed_out(limits: &Limits) -> Outcome {
    let message = format!("the routine did not end within {:?}", limits.wall);
    Outcome::Stopped { code: StopCode::TimedOut, message }
}

fn classify(error: &wasmtime::Error, attempt: &Attempt, limits: &Limits) -> (StopCode, String) {
    if let Some(halt) = error.downcast_ref::<Halt>() {
        return match halt {
            Halt::Denied(message) => (StopCode::Denied, message.clone()),
            Halt::Broken(message) => (StopCode::Host, message.clone()),
        };
    }
    if let Some(I32Exit(status)) = error.downcast_ref::<I32Exit>() {
        // How a language with a runtime of its own, such as Go, gives up when a growth was refused.
        if attempt.limiter.refused.is_some() {
            return memory_exceeded(attempt, limits);
        }
        return (StopCode::Trapped, format!("the routine called exit({status}): it must return an outcome"));
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return trapped(*trap, error, attempt, limits);
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return (StopCode::Host, format!("the supervisor has no room for another routine: {error}"));
    }
    let text = format!("{error:#}");
    // wasmtime has no type for this one; a test of ours notices if the words change.
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        let most = text::size(limits.hostcall_bytes);
        return (
            StopCode::Trapped,
            format!("the routine handed over more than {most} in one host call or in its outcome"),
        );
    }
    (StopCode::Trapped, format!("the routine broke the rules of its sandbox: {text}"))
}

fn trapped(trap: Trap, error: &wasmtime::Error, attempt: &Attempt, limits: &Limits) -> (StopCode, String) {
    match trap {
        Trap::OutOfFuel => {
            let message = format!(
                "the routine used up its fuel of {} instructions; does it loop for ever?",
                limits.fuel
            );
            (StopCode::FuelExhausted, message)
        }
        // A refused growth is no trap of its own: the guest's allocator gives up, and aborts.
        Trap::UnreachableCodeReached if attempt.limiter.refused.is_some() => memory_exceeded(attempt, limits),
        Trap::UnreachableCodeReached => (StopCode::Trapped, "the routine panicked or aborted".to_owned()),
        Trap::StackOverflow => {
            (StopCode::Trapped, "the routine's stack is full: probably too deep recursion".to_owned())
        }
        // A stack in linear memory grows down past address 0, so its overflow looks like a wild pointer.
        Trap::MemoryOutOfBounds if recursive(error) => (
            StopCode::Trapped,
            "the routine's stack is full: probably too deep recursion (memory access out of bounds)"
                .to_owned(),
        ),
        trap => (StopCode::Trapped, format!("the routine trapped: {trap}")),
    }
}

fn memory_exceeded(attempt: &Attempt, limits: &Limits) -> (StopCode, String) {
    let wanted = text::size(attempt.limiter.refused.unwrap_or_default());
    let most = text::size(limits.memory_bytes);
    (StopCode::MemoryExceeded, format!("the routine wanted {wanted} of memory; it may have {most}"))
}

/// The panic message that the SDK's hook logged, or what the guest printed last on standard error.
fn last_words(attempt: &Attempt) -> Option<String> {
    let stderr = attempt.wasi.stderr.end(LAST_WORDS_BYTES_MAX);
    let words = attempt.log.panic.clone().unwrap_or(stderr);
    (!words.is_empty()).then_some(words)
}

/// The guest's functions, the innermost first, one a line.
fn frames(error: &wasmtime::Error) -> Option<String> {
    let backtrace = error.downcast_ref::<WasmBacktrace>()?;
    let lines = backtrace.frames().iter().map(|frame| match frame.func_name() {
        Some(name) => format!("  {:#}", demangle(name)),
        None => format!("  function {}", frame.func_index()),
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    (!lines.is_empty()).then_some(lines)
}

fn recursive(error: &wasmtime::Error) -> bool {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return false };
    let mut counts = std::collections::BTreeMap::<u32, usize>::new();
    for frame in backtrace.frames() {
        *counts.entry(frame.func_index()).or_default() += 1;
    }
    counts.values().any(|count| *count >= RECURSION_FRAMES)
}
