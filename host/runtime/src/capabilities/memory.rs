//! `memory`: key and value pairs of this (token, state) that outlive the attempt. The port makes each write
//! durable; the attempt's own copy answers the reads.

use std::collections::BTreeMap;

use super::{Answer, answer};
use crate::attempt::Attempt;
use crate::bindings::stateous::routine::memory::Host;
use crate::forms;
use crate::json::json;
use crate::ports::{PortError, Refusal, RefusalCode as Code};
use crate::text;

/// The most bytes of one (token, state), keys and values together.
const TOTAL_BYTES_MAX: usize = 16 << 20;

/// The memory as the guest sees it.
pub(crate) struct State {
    values: BTreeMap<String, String>,
    key_bytes: usize,
    value_bytes: usize,
}

impl State {
    pub(crate) fn new(values: BTreeMap<String, String>) -> Self {
        let key_bytes = values.keys().map(String::len).sum();
        let value_bytes = values.values().map(String::len).sum();
        Self { values, key_bytes, value_bytes }
    }
}

impl Host for Attempt {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        let value = self.memory.values.get(&key).cloned();
        self.work(value.as_ref().map_or(0, String::len)).await;
        Ok(value)
    }

    async fn set(&mut self, key: String, value: String) -> Answer<()> {
        self.work(key.len() + value.len()).await;
        answer(set(self, key, value).await)
    }

    async fn delete(&mut self, key: String) -> Answer<bool> {
        self.work(0).await;
        answer(delete(self, &key).await)
    }

    async fn keys(&mut self) -> wasmtime::Result<Vec<String>> {
        // A list costs an allocation for each of its items.
        self.work(self.memory.key_bytes + 64 * self.memory.values.len()).await;
        Ok(self.memory.values.keys().cloned().collect())
    }
}

async fn set(attempt: &mut Attempt, key: String, value: String) -> Result<(), PortError> {
    forms::memory_key(&key)?;
    if value.len() > forms::BODY_BYTES_MAX {
        let message = format!(
            "the value of `{}` has {} bytes, at most {} are kept: split it over several keys",
            text::printable(&key),
            value.len(),
            forms::BODY_BYTES_MAX
        );
        return Err(Refusal::new(Code::TooLarge, message).into());
    }
    json(&value, forms::LEVELS_IN_BODY)?;
    if value.trim() == "null" {
        // On the wire a null deletes, so keeping one would lose it.
        let message =
            format!("null cannot be kept in the memory: delete `{}` instead", text::printable(&key));
        return Err(Refusal::new(Code::InvalidJson, message).into());
    }
    let memory = &attempt.memory;
    let (old_key, old_value) = memory.values.get(&key).map_or((0, 0), |old| (key.len(), old.len()));
    let key_bytes = memory.key_bytes - old_key + key.len();
    let value_bytes = memory.value_bytes - old_value + value.len();
    let total = key_bytes + value_bytes;
    if total > TOTAL_BYTES_MAX {
        let message = format!(
            "the memory of this state would have {total} bytes, at most {} are kept: delete what is no \
             longer needed",
            text::size(TOTAL_BYTES_MAX as u64)
        );
        return Err(Refusal::new(Code::TooLarge, message).into());
    }

    attempt.ports.set_memory(&key, &value).await?;
    attempt.memory.key_bytes = key_bytes;
    attempt.memory.value_bytes = value_bytes;
    attempt.memory.values.insert(key, value);
    Ok(())
}

async fn delete(attempt: &mut Attempt, key: &str) -> Result<bool, PortError> {
    if !attempt.memory.values.contains_key(key) {
        return Ok(false);
    }
    attempt.ports.delete_memory(key).await?;
    if let Some(old) = attempt.memory.values.remove(key) {
        attempt.memory.key_bytes -= key.len();
        attempt.memory.value_bytes -= old.len();
    }
    Ok(true)
}
