//! A supervisor asks for work, and gets it.
//!
//! The original's form asks for one task and is answered at once with it, or with 204. Ours says `max`: it takes many
//! tasks in one request, may wait for the first one on the server, and gets more with each grant.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{EventRecord, Raw, RoutineLimits};

/// The longest that a claim may wait on the server, in milliseconds.
pub const WAIT_MS_MAX: u64 = 60_000;

/// Body of `POST /tasks/claim`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClaimRequest {
    /// The supervisor's name.
    pub supervisor: String,
    /// The states that it serves: `<state>` of the default workflow, `<workflow>/<state>` of any other. Only with
    /// `routines` it may be absent, which is any state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub states: Option<Vec<String>>,
    /// The same id again gets the same tasks again, as long as the supervisor still holds them. So a lost answer
    /// loses no task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// *Ours*: at most so many tasks, 1 to 1000. With it, the answer is a [`ClaimAnswer`]; without it, the next two
    /// fields mean nothing and the answer is one [`PlainGrant`] or 204.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// *Ours*: how long to wait for a first task when there is none, in milliseconds; at most [`WAIT_MS_MAX`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// *Ours*: which start of the supervisor asks. What earlier starts of the same folder held is free at once, and another
    /// supervisor with the same name cannot speak for what this one gets. Only with `request`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    /// *Ours*: only tasks of states to which a component is assigned, and say in each grant which.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub routines: bool,
}

/// Which start of which supervisor's folder speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Incarnation {
    /// The folder's own id: `[A-Za-z0-9._-]{1,64}`.
    pub folder: String,
    /// 1 for the folder's first start, then one more each time.
    pub start: u64,
}

/// Answer of `POST /tasks/claim` to our form: always 200, with an empty list when no task came in time.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ClaimAnswer {
    /// The tasks, lowest id first.
    pub grants: Vec<Grant>,
    /// How long the request waited on the server before these tasks were taken, in milliseconds.
    ///
    /// The times inside the grants count from that moment. A supervisor knows only when it sent the request, so it
    /// counts them from `sent + waited_ms`, which is never later than the control plane's own count.
    pub waited_ms: u64,
}

/// A claimed task with all that its routine may read, as the original's supervisors get it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PlainGrant {
    /// The task.
    pub task: u64,
    /// Its token.
    pub token: String,
    /// The state: `<workflow>/<state>` unless it is one of the default workflow's own.
    pub state: String,
    /// The token's visit of the state.
    pub visit: u64,
    /// The attempt, counted from 1.
    pub attempt: u64,
    /// The token's context: a JSON object.
    #[schema(value_type = Object)]
    pub context: Raw,
    /// The memory of (token, state).
    #[schema(value_type = BTreeMap<String, Value>)]
    pub memory: BTreeMap<String, Raw>,
    /// The event that brought the token here.
    pub entered_by: EventRecord,
}

/// A claimed task with all that its routine may read, as our supervisors get it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Grant {
    /// The task.
    pub task: u64,
    /// Its token.
    pub token: String,
    /// The state: `<workflow>/<state>` unless it is one of the default workflow's own. See [`Grant::state_name`].
    pub state: String,
    /// The token's visit of the state.
    pub visit: u64,
    /// The attempt, counted from 1.
    pub attempt: u64,
    /// The token's context: a JSON object.
    #[schema(value_type = Object)]
    pub context: Raw,
    /// The memory of (token, state).
    #[schema(value_type = BTreeMap<String, Value>)]
    pub memory: BTreeMap<String, Raw>,
    /// The event that brought the token here.
    pub entered_by: EventRecord,
    /// *Ours*: the token's workflow.
    pub workflow: String,
    /// *Ours*: the structure of that workflow which the token was started with and keeps.
    pub structure: String,
    /// *Ours*: how long the lease lasts, in milliseconds; a heartbeat starts it anew. It counts from the moment that
    /// [`ClaimAnswer::waited_ms`] tells.
    pub lease_ms: u64,
    /// *Ours*: how long until the state's timeout, in milliseconds, if the state has one; 0 when it is due. It counts
    /// from the same moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// *Ours*: the component in force for the state; only when the claim said `routines`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routine: Option<PinnedRoutine>,
}

impl Grant {
    /// The state's name without its workflow.
    #[must_use]
    pub fn state_name(&self) -> &str {
        self.state.rsplit_once('/').map_or(&self.state, |(_, state)| state)
    }
}

/// The component that this attempt runs, whatever is assigned later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PinnedRoutine {
    /// `sha256:` and 64 hexadecimal digits: where to download it, and what to verify.
    pub digest: String,
    /// A name for people.
    pub name: String,
    /// Which assignment of this state it is, counted from 1.
    pub version: u64,
    /// Limits of the attempt; the supervisor caps them by its own.
    #[serde(default)]
    pub limits: RoutineLimits,
}
