//! What everything that runs in one supervisor shares.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use stateous_api::{Client, ClientError, Incarnation};

use crate::clock::Clock;
use crate::lease::Held;
use crate::operations::{Metrics, Progress};
use crate::outbox::{Kind, NewMessage, Outbox};
use crate::reach::Reach;
use crate::web::{Outgoing, Secrets};

/// One running supervisor.
pub(crate) struct Supervisor {
    pub(crate) name: String,
    /// Which start of which folder this is.
    pub(crate) incarnation: Incarnation,
    pub(crate) client: Client,
    pub(crate) reach: Arc<Reach>,
    pub(crate) outbox: Outbox,
    pub(crate) held: Arc<Held>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) out: Arc<Outgoing>,
    pub(crate) slots: usize,
    pub(crate) metrics: Metrics,
    pub(crate) progress: Arc<Progress>,
    /// What routines may read.
    pub(crate) settings: BTreeMap<String, String>,
    /// What routines may use in headers.
    pub(crate) secrets: Secrets,
    /// Components of this machine that run in place of uploaded ones, by `<workflow>/<state>`.
    pub(crate) local: BTreeMap<String, PathBuf>,
}

/// Which attempt of which task: enough to write messages about it and to name it in log lines.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct AttemptId {
    pub(crate) task: u64,
    pub(crate) attempt: u64,
    pub(crate) token: String,
}

impl AttemptId {
    /// A message of this attempt.
    pub(crate) fn message(&self, kind: Kind, body: String, now_ms: u64) -> NewMessage {
        let (task, attempt, token) = (self.task, self.attempt, self.token.clone());
        NewMessage { task, attempt, token, kind, body: body.into(), created_at_ms: now_ms }
    }

    /// The attempt that wrote a message.
    pub(crate) fn of(new: &NewMessage) -> Self {
        Self { task: new.task, attempt: new.attempt, token: new.token.clone() }
    }
}

/// What the control plane said, as it is repeated to people.
pub(crate) fn sentence(error: &ClientError) -> String {
    match error {
        ClientError::Refused { message, .. } => message.clone(),
        other => other.to_string(),
    }
}
