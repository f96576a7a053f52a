//! Events that are fired at a token.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Raw, Token};

/// Body of `POST /tokens/{id}/events/{event}`.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct FireRequest {
    /// The event's payload: a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Raw>,
}

/// Answer to an event whose idempotency key was used before: nothing changed. Any other event is answered with the
/// [`Token`] itself.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Duplicate {
    /// Always `true`.
    pub duplicate: bool,
    /// The token, as it is now.
    pub token: Token,
}

/// An event that happened to a token.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct EventRecord {
    /// The event's name.
    pub name: String,
    /// Its payload, if it had one: a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Raw>,
}
