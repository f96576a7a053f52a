//! The real host: the contract's imports behind the SDK's own trait, the way in from `run`, and the panic hook.
//!
//! The one place that names the generated bindings.

use std::panic::PanicHookInfo;
use std::rc::Rc;
use std::sync::Once;

use serde::de::DeserializeOwned;

use crate::bindings::stateous::routine::{config, context, log, memory, notes, timers, types};
use crate::error::Refusal;
use crate::host::{Host, Level, attempt};
use crate::task::{EnteredBy, Task};
use crate::{Context, Failure, IntoOutcome, Outcome, RawEvent};

/// What the component's `run` does.
///
/// # Errors
/// Why the attempt failed, in the contract's words.
pub fn run<T, O, E>(
    task: types::Task,
    routine: fn(&Context<T>) -> Result<O, E>,
) -> Result<types::Outcome, types::Failure>
where
    T: DeserializeOwned,
    O: IntoOutcome,
    E: Into<Failure>,
{
    static HOOK: Once = Once::new();
    HOOK.call_once(|| std::panic::set_hook(Box::new(report_panic)));
    match attempt(Task::from(task), Rc::new(Imports), routine) {
        Ok(Outcome::Event(event)) => Ok(types::Outcome::Event(event.into())),
        Ok(Outcome::Waiting) => Ok(types::Outcome::Waiting),
        Err(failure) => {
            Err(types::Failure { message: failure.message().to_owned(), retry: failure.is_retryable() })
        }
    }
}

/// wasm32-unknown-unknown has no stderr: without this the host would see a trap and no reason.
fn report_panic(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("no message");
    let text = match panic.location() {
        Some(place) => format!("panic: {message} ({}:{})", place.file(), place.line()),
        None => format!("panic: {message}"),
    };
    log::write(log::Level::Error, &text);
}

struct Imports;

impl Host for Imports {
    fn context_all(&self) -> String {
        context::all()
    }

    fn context_get(&self, key: &str) -> Option<String> {
        context::get(key)
    }

    fn context_set(&self, key: &str, json: &str) -> Result<(), Refusal> {
        Ok(context::set(key, json)?)
    }

    fn memory_get(&self, key: &str) -> Option<String> {
        memory::get(key)
    }

    fn memory_set(&self, key: &str, json: &str) -> Result<(), Refusal> {
        Ok(memory::set(key, json)?)
    }

    fn memory_delete(&self, key: &str) -> Result<bool, Refusal> {
        Ok(memory::delete(key)?)
    }

    fn memory_keys(&self) -> Vec<String> {
        memory::keys()
    }

    fn note(&self, text: &str) -> Result<(), Refusal> {
        Ok(notes::add(text)?)
    }

    fn schedule(&self, event: RawEvent, after: &str) -> Result<(), Refusal> {
        Ok(timers::schedule(&event.into(), after)?)
    }

    fn setting(&self, name: &str) -> Option<String> {
        config::get(name)
    }

    fn settings(&self) -> Vec<String> {
        config::names()
    }

    fn secrets(&self) -> Vec<String> {
        config::secrets()
    }

    fn log(&self, level: Level, text: &str) {
        let level = match level {
            Level::Debug => log::Level::Debug,
            Level::Info => log::Level::Info,
            Level::Warn => log::Level::Warn,
            Level::Error => log::Level::Error,
        };
        log::write(level, text);
    }
}

impl From<types::Task> for Task {
    fn from(task: types::Task) -> Self {
        let entered_by = EnteredBy { name: task.entered_by.name, payload: task.entered_by.payload };
        Self {
            token: task.token,
            id: task.id,
            workflow: task.workflow,
            state: task.state,
            visit: task.visit,
            attempt: task.attempt,
            entered_by,
            now_ms: task.now_ms,
        }
    }
}

impl From<RawEvent> for types::Event {
    fn from(event: RawEvent) -> Self {
        Self { name: event.name, payload: event.payload }
    }
}

impl From<types::Refusal> for Refusal {
    fn from(refusal: types::Refusal) -> Self {
        Self::new(refusal.code.into(), refusal.message)
    }
}
