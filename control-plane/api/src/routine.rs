//! Routines: components that serve states. All of it is *ours*.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The largest component that can be uploaded, in bytes: 32 MiB.
pub const COMPONENT_BYTES_MAX: usize = 32 << 20;

/// Limits of an attempt, as its uploader set them. Each is the supervisor's default when absent, and is capped by the
/// supervisor's own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct RoutineLimits {
    /// Fuel: about one unit for each WebAssembly instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// Linear memory, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Wall time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Which HTTP requests it asks to send, as lines that [`crate::HttpRule`] reads; none when there are none. The
    /// supervisor must grant each request too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<String>,
}

/// Query of `POST /routines`; the body is the component's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoutinePush {
    /// The workflow; absent is the default workflow.
    pub workflow: Option<String>,
    /// The state that the component is to serve.
    pub state: String,
    /// A name for people; absent is the state's name.
    pub name: Option<String>,
    /// Limits of its attempts.
    pub limits: RoutineLimits,
}

/// The component in force for a state: answer of `POST /routines`, and one row of `GET /routines`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoutineInForce {
    /// The workflow.
    pub workflow: String,
    /// The state.
    pub state: String,
    /// Which assignment of this state it is, counted from 1.
    pub version: u64,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// A name for people.
    pub name: String,
    /// Limits of its attempts.
    #[serde(default)]
    pub limits: RoutineLimits,
    /// The component's size in bytes.
    pub size: u64,
    /// The SDK that it was built with, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdk: Option<String>,
    /// When it was put in force: ISO 8601, UTC, `Z`.
    pub assigned_at: String,
}
