//! A fan-out: one visit of a state that starts a child for each item, and how far it is.

use std::collections::BTreeMap;

use crate::model::Status;
use crate::time::Timestamp;

/// Which fan-out: a token's visit of a state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FanOutKey {
    /// The token.
    pub token: String,
    /// The state.
    pub state: String,
    /// The visit.
    pub visit: u64,
}

/// What was done to the parent, and still has to be done to the children, a batch at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sweep {
    /// The parent stands still.
    Pause,
    /// The parent moves again.
    Resume,
    /// The parent ended or left the state.
    Cancel,
}

impl Sweep {
    /// Every sweep.
    pub const ALL: [Self; 3] = [Self::Pause, Self::Resume, Self::Cancel];

    /// The spelling in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }

    /// The sweep with this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == text)
    }
}

/// One fan-out. Its items are rows of their own, pinned when the state was entered; its row goes when the parent has left
/// the state and no child lives any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FanOut {
    /// Which one.
    pub key: FanOutKey,
    /// The top token of the family.
    pub top: String,
    /// The workflow that each child follows.
    pub workflow: String,
    /// `sha256:` and the hash of the items, as JSON text.
    pub digest: String,
    /// How many items there are.
    pub total: u64,
    /// How many of them, from the first on, have their child. A child whose id belonged to somebody else counts.
    pub created: u64,
    /// How many children completed or failed.
    pub ended: u64,
    /// The same by status, then by the state that each ended in.
    pub counts: BTreeMap<String, BTreeMap<String, u64>>,
    /// The index of the child that ended first.
    pub first_ended: Option<u64>,
    /// What the children still have to be told.
    pub sweep: Option<Sweep>,
    /// Why they are cancelled; or, without items, why there are none.
    pub reason: Option<String>,
    /// How many children the sweep has reached.
    pub swept: u64,
    /// There is something to do: children to start or to sweep, or a join that is met.
    pub pending: bool,
    /// When something was done last: who waits longest is served first.
    pub looked_at: Timestamp,
}

impl FanOut {
    /// How many children have not ended.
    #[must_use]
    pub const fn live(&self) -> u64 {
        self.created.saturating_sub(self.ended)
    }

    /// How many children completed, with or without errors.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.count_of(Status::is_completed)
    }

    /// Whether a child failed, or completed with errors.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.count_of(|status| status != Status::Completed) > 0
    }

    fn count_of(&self, which: impl Fn(Status) -> bool) -> u64 {
        let of_status = self.counts.iter().filter(|(status, _)| Status::parse(status).is_some_and(&which));
        of_status.flat_map(|(_, finals)| finals.values()).sum()
    }
}
