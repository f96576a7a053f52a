//! Tokens and what is told about them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Code, Raw};

/// One token.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Its id.
    pub token: String,
    /// Where it is; an ended token keeps its last state. `__start__` before its first.
    pub state: String,
    /// `active`, `paused`, `completed`, `failed` or `cancelled`. Text, so that a status of a newer control plane can be
    /// shown too.
    pub status: String,
    /// How many times it has entered `state`.
    pub visit: u64,
    /// Its context: a JSON object.
    #[schema(value_type = Object)]
    pub context: Raw,
    /// When it entered `state`: ISO 8601, UTC, `Z`.
    pub entered_at: String,
    /// The token whose parallel state started it; only children have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// Body of `POST /tokens`.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StartRequest {
    /// The id that the token is to have.
    pub token: String,
    /// Its context: a JSON object; absent is `{}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub context: Option<Raw>,
    /// *Ours*: the workflow to follow; absent is the one that the control plane was started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
}

/// One entry of a token's history.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Entry {
    /// Its place in the history, counted from 1.
    pub seq: u64,
    /// When it was decided: ISO 8601, UTC, `Z`.
    pub at: String,
    /// What it records. Text, so that a kind of a newer control plane can be shown too.
    pub kind: String,
    /// The fields of its kind: a JSON object.
    #[schema(value_type = Object)]
    pub data: Raw,
}

/// Answer of `GET /health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// The workflow that the control plane was started with.
    pub workflow: String,
    /// The checksum of its graph file.
    pub checksum: String,
}

/// Body of every answer of 400 or more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusalBody {
    /// One sentence for people.
    pub error: String,
    /// For programs: one of the stable codes, or one that only a newer control plane knows.
    #[schema(value_type = Code)]
    pub code: String,
}
