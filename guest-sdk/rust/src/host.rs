//! The seam between the SDK and its host: the contract's calls, in its own words and with JSON as text. `wasm.rs` is
//! the real host, `testing` the one for native tests.

use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Refusal};
use crate::task::Task;
use crate::{Context, Failure, IntoOutcome, Outcome, RawEvent};

/// How much a log line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For whoever looks for a bug.
    Debug,
    /// Worth reading.
    Info,
    /// Unexpected, and the routine goes on.
    Warn,
    /// Somebody should look.
    Error,
}

pub(crate) trait Host {
    fn context_all(&self) -> String;
    fn context_get(&self, key: &str) -> Option<String>;
    fn context_set(&self, key: &str, json: &str) -> Result<(), Refusal>;
    fn memory_get(&self, key: &str) -> Option<String>;
    fn memory_set(&self, key: &str, json: &str) -> Result<(), Refusal>;
    fn memory_delete(&self, key: &str) -> Result<bool, Refusal>;
    fn memory_keys(&self) -> Vec<String>;
    fn note(&self, text: &str) -> Result<(), Refusal>;
    fn schedule(&self, event: RawEvent, after: &str) -> Result<(), Refusal>;
    fn setting(&self, name: &str) -> Option<String>;
    fn settings(&self) -> Vec<String>;
    fn secrets(&self) -> Vec<String>;
    /// Only natively: in a guest a request goes to WASI straight away, so that a routine which sends none imports none.
    #[cfg(all(feature = "http", not(target_family = "wasm")))]
    fn http(&self, request: &crate::RequestParts) -> Result<crate::Response, crate::HttpError>;
    fn log(&self, level: Level, text: &str);
}

/// One attempt: the context is read, the routine runs, and what it came to is put into the contract's words.
///
/// A context that does not fit `T` fails for good: the next attempt would be given the same one.
pub(crate) fn attempt<T, O, E>(
    task: Task,
    host: Rc<dyn Host>,
    routine: impl FnOnce(&Context<T>) -> Result<O, E>,
) -> Result<Outcome, Failure>
where
    T: DeserializeOwned,
    O: IntoOutcome,
    E: Into<Failure>,
{
    let context = Context::new(task, host).map_err(Failure::fatal)?;
    let ending = routine(&context).map_err(Into::into)?;
    ending.into_outcome().map_err(Failure::fatal)
}

/// Reads JSON that the host gave; `what` names it when it does not fit.
pub(crate) fn decode<V: DeserializeOwned>(json: &str, what: impl FnOnce() -> String) -> Result<V, Error> {
    serde_json::from_str(json).map_err(|source| Error::Decode {
        what: what(),
        expected: short_type_name::<V>(),
        source,
    })
}

/// Writes a value of the routine as JSON; `what` names it when that fails.
pub(crate) fn encode<V: Serialize + ?Sized>(
    value: &V,
    what: impl FnOnce() -> String,
) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|source| Error::Encode { what: what(), source })
}

/// `Item` for `orders::draft::Item`; generic types keep their whole name.
fn short_type_name<V>() -> &'static str {
    let name = std::any::type_name::<V>();
    if name.contains('<') { name } else { name.rsplit("::").next().unwrap_or(name) }
}
