//! What listings and histories can be asked, and a page of one.

/// Which tokens [`Client::tokens`] lists; by default the 100 that moved last.
#[derive(Debug, Clone, Default)]
pub struct TokensQuery {
    /// Only in this status.
    pub status: Option<String>,
    /// Only children of this token.
    pub parent: Option<String>,
    /// At most so many, 1 to 1000.
    pub limit: Option<u32>,
    /// *Ours*: only of this workflow.
    pub workflow: Option<String>,
    /// *Ours*: only in this state: `<state>` of `workflow` or of the default workflow, or `<workflow>/<state>`.
    pub state: Option<String>,
    /// *Ours*: only those whose id begins so, ASCII case aside; they come by id.
    pub prefix: Option<String>,
    /// *Ours*: where to go on, as [`Page::next`] said; empty begins at the first page, which may then end early.
    pub cursor: Option<String>,
}

/// Which tasks [`Client::tasks`] lists; by default the open ones.
#[derive(Debug, Clone, Default)]
pub struct TasksQuery {
    /// `open`, `any`, or one status: `queued`, `claimed` (which `started` ones are, too), `waiting`, `done`, …
    pub status: Option<String>,
    /// Only of this workflow.
    pub workflow: Option<String>,
    /// Only of this state: `<state>` of `workflow` or of the default workflow, or `<workflow>/<state>`.
    pub state: Option<String>,
    /// Only of this token.
    pub token: Option<String>,
    /// Only those that this supervisor holds, or held last.
    pub supervisor: Option<String>,
    /// Only queued ones of states that no supervisor asked for in the last two minutes.
    pub unserved: bool,
    /// At most so many, 1 to 1000; 100 unless given.
    pub limit: Option<u32>,
    /// Where to go on, as [`Page::next`] said.
    pub cursor: Option<String>,
}

/// A page of a listing.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// What it lists.
    pub items: Vec<T>,
    /// The cursor of the next page; `None` when this is the last. A page may be short and still have a next one.
    pub next: Option<String>,
}

/// Which part of a history [`Client::history_from`] reads; by default the whole, as it is now.
#[derive(Debug, Clone, Copy, Default)]
pub struct HistoryQuery {
    /// Only entries after the one with this number.
    pub after: u64,
    /// At most so many, 1 to 1000.
    pub limit: Option<u32>,
    /// How long to wait for a first entry when there is none, in milliseconds; at most [`WAIT_MS_MAX`](crate::WAIT_MS_MAX). A token that has
    /// ended is not waited for.
    pub wait_ms: u64,
    /// Every kind of entry, not only the original's.
    pub all: bool,
}
