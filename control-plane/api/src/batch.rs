//! Many messages about tasks in one request. All of it is *ours*.
//!
//! Each message travels as the exact text that its own route would get, in a string, so that the envelope can be read
//! without reading the messages. Each is answered exactly as its own route would answer it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Raw;
use crate::client::MessageKind;

/// The largest body of `POST /tasks/batch`, in bytes: 8 MiB. A single message keeps its own limit, 1 MiB.
pub const BATCH_BYTES_MAX: usize = 8 << 20;

/// Body of `POST /tasks/batch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct BatchRequest {
    /// The supervisor that speaks.
    pub supervisor: String,
    /// At most 1000; those about one task apply in this order.
    pub messages: Vec<BatchMessage>,
}

/// One message of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct BatchMessage {
    /// The task that it is about.
    pub task: u64,
    /// Which route it would go to.
    pub kind: BatchKind,
    /// The exact body that this route would get: a JSON object, as text.
    pub body: String,
}

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchKind {
    /// As `POST /tasks/{n}/started`.
    Started,
    /// As `POST /tasks/{n}/return`.
    Return,
    /// As `POST /tasks/{n}/report`.
    Report,
    /// As `POST /tasks/{n}/note`.
    Note,
    /// As `PUT /tasks/{n}/memory`.
    Memory,
}

impl From<MessageKind> for BatchKind {
    fn from(kind: MessageKind) -> Self {
        match kind {
            MessageKind::Report => Self::Report,
            MessageKind::Note => Self::Note,
            MessageKind::Memory => Self::Memory,
        }
    }
}

/// Answer of `POST /tasks/batch`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct BatchAnswer {
    /// One for each message, in the same order.
    pub results: Vec<BatchResult>,
}

/// What the message's own route would have answered.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct BatchResult {
    /// The HTTP status.
    pub status: u16,
    /// The body; absent where the route answers without one (204).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub body: Option<Raw>,
}
