//! What a routine may ask of its host: one WIT interface, one file, all of the same shape.
//!
//! A file has the `State` that it keeps for an attempt, the `Host` of its interface, which pays for the call
//! and answers, and one function per call that can be refused: first the form, then the bounds, then the
//! port, then the attempt's own copy.

pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod http;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod notes;
pub(crate) mod timers;

use crate::bindings::stateous::routine::types as wit;
use crate::ports::{PortError, Refusal};
use crate::stop::Halt;

/// Outer: the attempt stops. Inner: the guest hears of it.
pub(crate) type Answer<T> = wasmtime::Result<Result<T, wit::Refusal>>;

pub(crate) fn answer<T>(result: Result<T, PortError>) -> Answer<T> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(PortError::Refused(Refusal { code, message })) => {
            Ok(Err(wit::Refusal { code: code.as_str().to_owned(), message }))
        }
        Err(PortError::Denied(message)) => Err(wasmtime::Error::new(Halt::Denied(message))),
        Err(PortError::Broken(message)) => Err(wasmtime::Error::new(Halt::Broken(message))),
    }
}

impl From<Refusal> for PortError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl wit::Host for crate::attempt::Attempt {}
