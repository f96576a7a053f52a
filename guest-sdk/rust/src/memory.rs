//! What a state remembers about a token.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::host::{Host, decode, encode};

/// Keys and values of one (token, state) that outlive a crash, a retry and the supervisor itself.
///
/// A value is on the supervisor's disk when [`set`](Memory::set) returns, and the next attempt finds it, on whichever
/// supervisor. A write costs a disk flush: write after a piece of work worth not repeating, not after each line.
#[derive(Clone, Copy)]
pub struct Memory<'a> {
    pub(crate) host: &'a dyn Host,
}

impl Memory<'_> {
    /// The value of a key; `None` when nothing was set.
    ///
    /// # Errors
    /// [`Error::Decode`] when the value does not fit `V`, as when an older version of the routine wrote it.
    pub fn get<V: DeserializeOwned>(&self, key: &str) -> Result<Option<V>, Error> {
        let json = self.host.memory_get(key);
        json.map(|json| decode(&json, || format!("the memory's `{key}`"))).transpose()
    }

    /// Sets a key, durably. A key has 1 to 128 characters.
    ///
    /// # Errors
    /// [`Error::Encode`] when the value is not JSON, [`Error::Refused`] when the host does not take it.
    pub fn set<V: Serialize + ?Sized>(&self, key: &str, value: &V) -> Result<(), Error> {
        let json = encode(value, || format!("the value for the memory's `{key}`"))?;
        Ok(self.host.memory_set(key, &json)?)
    }

    /// Deletes a key, durably. `false` when there was nothing to delete.
    ///
    /// # Errors
    /// [`Error::Refused`] when the host cannot keep the deletion.
    pub fn delete(&self, key: &str) -> Result<bool, Error> {
        Ok(self.host.memory_delete(key)?)
    }

    /// All keys.
    pub fn keys(&self) -> Vec<String> {
        self.host.memory_keys()
    }
}
