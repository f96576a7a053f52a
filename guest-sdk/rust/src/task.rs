//! The work that an attempt was given: plain facts, read once.

use serde::de::DeserializeOwned;

use crate::Error;
use crate::host::decode;

/// As the contract's record `task`.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) token: String,
    pub(crate) id: u64,
    pub(crate) workflow: String,
    pub(crate) state: String,
    pub(crate) visit: u32,
    pub(crate) attempt: u32,
    pub(crate) entered_by: EnteredBy,
    pub(crate) now_ms: u64,
}

/// The event that brought the token into the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnteredBy {
    pub(crate) name: String,
    pub(crate) payload: Option<String>,
}

impl EnteredBy {
    /// The event's name; `__started__` in the first state.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The event's payload as a `P`. No payload reads as `{}`.
    ///
    /// # Errors
    /// [`Error::Decode`] when the payload does not fit.
    pub fn payload<P: DeserializeOwned>(&self) -> Result<P, Error> {
        decode(self.payload.as_deref().unwrap_or("{}"), || format!("the payload of event `{}`", self.name))
    }

    /// The payload as the host gave it, every digit kept.
    pub fn payload_json(&self) -> Option<&str> {
        self.payload.as_deref()
    }
}
