//! How a run on the mock ended, with questions that fail a test when the answer is another.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Failure, Outcome};

/// How a run on the [`Mock`](super::Mock) ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The token moves.
    Event {
        /// The event's name.
        name: String,
        /// Its payload; `{}` when it has none.
        payload: Value,
    },
    /// The token stays, until somebody reports or fires.
    Waiting,
    /// The attempt failed.
    Failed(Failure),
    /// The machine died: [`Mock::kill_after_memory_writes`](super::Mock::kill_after_memory_writes).
    Killed,
}

impl Ended {
    /// The event's name.
    ///
    /// # Panics
    /// When there is no event.
    #[track_caller]
    pub fn event(&self) -> &str {
        match self {
            Self::Event { name, .. } => name,
            other => panic!("expected an event, got {other:?}"),
        }
    }

    /// The event's payload; `{}` when it has none.
    ///
    /// # Panics
    /// When there is no event.
    #[track_caller]
    pub fn payload(&self) -> &Value {
        match self {
            Self::Event { payload, .. } => payload,
            other => panic!("expected an event, got {other:?}"),
        }
    }

    /// The event's payload as a `P`.
    ///
    /// # Panics
    /// When there is no event, or its payload does not fit.
    #[track_caller]
    pub fn payload_as<P: DeserializeOwned>(&self) -> P {
        match serde_json::from_value(self.payload().clone()) {
            Ok(payload) => payload,
            Err(error) => panic!("the payload {} does not fit: {error}", self.payload()),
        }
    }

    /// The failure.
    ///
    /// # Panics
    /// When the attempt did not fail.
    #[track_caller]
    pub fn failure(&self) -> &Failure {
        match self {
            Self::Failed(failure) => failure,
            other => panic!("expected a failure, got {other:?}"),
        }
    }
}

impl From<Result<Outcome, Failure>> for Ended {
    fn from(result: Result<Outcome, Failure>) -> Self {
        match result {
            Ok(Outcome::Event(event)) => {
                let payload = event.payload.as_deref().unwrap_or("{}");
                let payload = serde_json::from_str(payload).expect("a payload that serde_json wrote");
                Self::Event { name: event.name, payload }
            }
            Ok(Outcome::Waiting) => Self::Waiting,
            Err(failure) => Self::Failed(failure),
        }
    }
}
