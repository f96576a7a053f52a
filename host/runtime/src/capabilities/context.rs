//! `context`: the token's own JSON object. Reads see the attempt's writes; writes go out with the outcome or
//! not at all.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::{Answer, answer};
use crate::attempt::Attempt;
use crate::bindings::stateous::routine::context::Host;
use crate::forms;
use crate::json::json;
use crate::ports::{PortError, Refusal, RefusalCode as Code};
use crate::stop::Halt;

/// The context as it came, and what this attempt wrote.
pub(crate) struct State {
    text: String,
    /// Made at the first read; many routines never look.
    parsed: Option<IndexMap<String, Box<RawValue>>>,
    writes: BTreeMap<String, String>,
    bytes: usize,
}

impl State {
    pub(crate) fn new(text: String) -> Self {
        Self { text, parsed: None, writes: BTreeMap::new(), bytes: 0 }
    }

    /// What the writes weigh in a report.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn into_writes(self) -> BTreeMap<String, String> {
        self.writes
    }

    /// The values as they were written down, digit for digit.
    fn parsed(&mut self) -> wasmtime::Result<&IndexMap<String, Box<RawValue>>> {
        if self.parsed.is_none() {
            let parsed = serde_json::from_str(&self.text).map_err(|e| {
                wasmtime::Error::new(Halt::Broken(format!("the token's context is not a JSON object: {e}")))
            })?;
            self.parsed = Some(parsed);
        }
        Ok(self.parsed.get_or_insert_default())
    }

    fn get(&mut self, key: &str) -> wasmtime::Result<Option<String>> {
        if let Some(written) = self.writes.get(key) {
            return Ok(Some(written.clone()));
        }
        Ok(self.parsed()?.get(key).map(|value| value.get().to_owned()))
    }

    fn all(&mut self) -> wasmtime::Result<String> {
        if self.writes.is_empty() {
            return Ok(self.text.clone());
        }
        self.parsed()?;
        let base = self.parsed.get_or_insert_default();
        let kept =
            base.iter().map(|(key, value)| (key, self.writes.get(key).map_or(value.get(), String::as_str)));
        let new = self
            .writes
            .iter()
            .filter(|(key, _)| !base.contains_key(*key))
            .map(|(key, value)| (key, value.as_str()));
        let fields =
            kept.chain(new).map(|(key, value)| format!("{}: {value}", quoted(key))).collect::<Vec<_>>();
        Ok(format!("{{{}}}", fields.join(", ")))
    }
}

impl Host for Attempt {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        self.work(self.context.text.len() * usize::from(self.context.parsed.is_none())).await;
        let value = self.context.get(&key)?;
        self.work(value.as_ref().map_or(0, String::len)).await;
        Ok(value)
    }

    async fn all(&mut self) -> wasmtime::Result<String> {
        self.work(self.context.text.len() + self.context.bytes).await;
        self.context.all()
    }

    async fn set(&mut self, key: String, value: String) -> Answer<()> {
        self.work(key.len() + value.len()).await;
        answer(set(self, key, value))
    }
}

fn set(attempt: &mut Attempt, key: String, value: String) -> Result<(), PortError> {
    forms::context_key(&key)?;
    json(&value, forms::LEVELS_IN_CONTEXT)?;
    let name = quoted(&key).len() + ": , ".len();
    let old = attempt.context.writes.get(&key).map_or(0, |old| name + old.len());
    let new = name + value.len();
    let total = attempt.outgoing_bytes() - old + new;
    if total > forms::BODY_BYTES_MAX {
        let message = format!(
            "context writes and schedules of one attempt come to {total} bytes with this one, at most {} go \
             out with an outcome: keep less in the context",
            forms::BODY_BYTES_MAX
        );
        return Err(Refusal::new(Code::TooLarge, message).into());
    }
    attempt.context.bytes = attempt.context.bytes - old + new;
    attempt.context.writes.insert(key, value);
    Ok(())
}

fn quoted(key: &str) -> String {
    serde_json::Value::from(key).to_string()
}
