//! How a database breaks. A failure is the world's fault, never a lawful "no".

use std::error::Error;
use std::sync::Arc;

/// What kind of failure it is, so that the caller knows what to do without knowing the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The connection or a time limit: nobody's input is guilty. Try the same again later.
    Busy,
    /// Another transaction was in the way, and this one was undone: the same again, at once, may work.
    Collided,
    /// This statement or its data: in a batch, one input is guilty.
    Statement,
    /// Another control plane serves this database, or took it over.
    NotServing,
    /// The file or schema is not ours, is newer than this program, or is damaged.
    Unusable,
}

/// A failure with its cause.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind it is.
    pub kind: FailureKind,
    /// What we were doing and what to do about it, in one sentence.
    pub message: String,
    /// What the database said.
    #[source]
    pub source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Failure {
    /// A failure without a cause of its own.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// A failure with what the database said.
    pub fn caused(
        kind: FailureKind,
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { kind, message: message.into(), source: Some(Arc::from(source.into())) }
    }
}
