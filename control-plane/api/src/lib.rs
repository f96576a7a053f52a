//! What goes over the wire between the control plane and everybody else, and the client that speaks it.
//!
//! Nothing else in the workspace derives `Serialize` or `Deserialize` for the wire: a field that is not here is not sent.
//! The original's fields, spellings and codes are kept; what we added is marked *ours* and appears only when the caller
//! asks for it, so that the original's clients see what they know. Contexts, payloads and memory values travel as raw
//! JSON text ([`Raw`]): digits and key order stay as they came, and nobody parses what it only passes on.
//!
//! It leaves to others: what a refusal means and when it is given (`stateous-engine`, `stateous-server`), trying again
//! and keeping messages until they are sent (`stateous-supervisor`), and words for people (`stateous-cli`).
//!
//! Reading order: [`Code`], [`Token`], [`Grant`], [`Report`], [`RoutineInForce`], then [`Client`].

mod batch;
mod claim;
mod code;
mod event;
mod http_rule;
mod routine;
mod task;
mod token;

pub mod client;

pub use batch::{BATCH_BYTES_MAX, BatchAnswer, BatchKind, BatchMessage, BatchRequest, BatchResult};
pub use claim::{ClaimAnswer, ClaimRequest, Grant, Incarnation, PinnedRoutine, PlainGrant, WAIT_MS_MAX};
pub use client::{Client, ClientError};
pub use code::Code;
pub use event::{Duplicate, EventRecord, FireRequest};
pub use http_rule::{HTTP_RULE_BYTES_MAX, HTTP_RULES_MAX, HttpRule, HttpRuleError, is_plain_path, rule_for};
pub use routine::{COMPONENT_BYTES_MAX, RoutineInForce, RoutineLimits, RoutinePush};
pub use task::{
    Disposition, HeartbeatAnswer, HeartbeatRequest, MemoryRequest, NoteRequest, Report, ReportKind,
    ReturnRequest, Schedule, StartedRequest, Supervisor, Task,
};
pub use token::{Entry, Health, RefusalBody, StartRequest, Token};

/// Where a request goes, as [`HttpRule`] reads it.
pub use reqwest::Url;

/// JSON text that is passed on as it came: digits and key order stay.
pub type Raw = Box<serde_json::value::RawValue>;
