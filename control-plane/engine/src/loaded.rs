//! What a decision needs to see. The store loads it, locked, in the transaction that will apply the decision.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::input::Input;
use crate::model::{Held, MemoryCell, Task, Timer, Token};

/// What to load for an input. Each field names one lookup; the store makes no other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Start from this token.
    pub token: Option<String>,
    /// Start from this task and follow it to its token.
    pub task: Option<u64>,
    /// Start from this timer and follow it to its token.
    pub timer: Option<u64>,
    /// Load the context of the token. Left out where a decision cannot read it: contexts can be large.
    pub context: bool,
    /// Load the token's open tasks and pending timers: needed by whatever may move the token.
    pub open: bool,
    /// Tell the top token of the family; and when the token is paused, the place of the next event that the family holds.
    pub family: bool,
    /// Load what the family of a paused token holds: needed by whatever settles it.
    pub held: bool,
    /// Tell whether another token has the wanted id when case is ignored.
    pub folded: bool,
    /// Tell whether the token's ledger has this idempotency key.
    pub key: Option<String>,
    /// Load the whole memory of the task's (token, state): needed by a grant.
    pub memory: bool,
    /// Load one memory cell's presence and the bytes of the others: needed by a memory write.
    pub memory_key: Option<String>,
    /// Load these other tokens too, with their open tasks and pending timers, by their exact ids.
    pub members: Vec<String>,
    /// Load the contexts of these tokens.
    pub contexts: Vec<String>,
    /// Tell which of these folded ids a token has.
    pub taken: Vec<String>,
}

/// What a decision found that it must see too: the store loads it, in the same transaction, and the decision is made
/// again. Most decisions need one look; those that touch a family ask for a generation at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// These other tokens, with their open tasks and pending timers.
    Members(Vec<String>),
    /// The context of this token.
    Context(String),
    /// Which of these folded ids a token has.
    Taken(Vec<String>),
}

impl Missing {
    /// What to load.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        match self {
            Self::Members(ids) => Wanted { members: ids.clone(), ..Wanted::default() },
            Self::Context(id) => Wanted { contexts: vec![id.clone()], ..Wanted::default() },
            Self::Taken(ids) => Wanted { taken: ids.clone(), ..Wanted::default() },
        }
    }
}

impl Wanted {
    /// What [`crate::decide`] needs to see for `input`.
    #[must_use]
    pub fn for_input(input: &Input) -> Self {
        let of_task = |task: u64| Self { task: Some(task), ..Self::default() };
        match input {
            Input::StartToken { token, .. } => {
                Self { token: Some(token.clone()), context: true, folded: true, ..Self::default() }
            }
            Input::FireEvent { token, key, .. } => Self {
                token: Some(token.clone()),
                context: true,
                open: true,
                family: true,
                key: key.clone(),
                ..Self::default()
            },
            Input::PauseToken { token } | Input::RetryToken { token } => {
                Self { token: Some(token.clone()), context: true, family: true, ..Self::default() }
            }
            Input::ResumeToken { token } | Input::CancelToken { token } => Self {
                token: Some(token.clone()),
                context: true,
                open: true,
                family: true,
                held: true,
                ..Self::default()
            },
            Input::ClaimTask { task, .. } | Input::RepeatClaim { task, .. } => {
                Self { context: true, open: true, memory: true, ..of_task(*task) }
            }
            Input::StartTask { task, .. }
            | Input::ReturnTask { task, .. }
            | Input::RenewLease { task, .. }
            | Input::AddNote { task, .. } => of_task(*task),
            Input::ReportTask { task, .. }
            | Input::ExpireLease { task }
            | Input::AbandonTask { task, .. } => {
                Self { context: true, open: true, family: true, ..of_task(*task) }
            }
            Input::SetMemory { task, key, .. } => Self { memory_key: Some(key.clone()), ..of_task(*task) },
            Input::FireTimer { timer } => {
                Self { timer: Some(*timer), context: true, open: true, ..Self::default() }
            }
        }
    }
}

/// One token of the family with what belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The row.
    pub token: Token,
    /// The context as JSON text, digit for digit; empty unless it was wanted.
    pub context: Arc<str>,
    /// Tasks that are queued, claimed, started or waiting, by id; empty unless they were wanted.
    pub tasks: Vec<Task>,
    /// Pending timers, by id; empty unless they were wanted.
    pub timers: Vec<Timer>,
}

/// What the store found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    /// The token that the input is about.
    pub member: Option<Member>,
    /// The task that was asked for, in whatever status.
    pub task: Option<Task>,
    /// The timer that was asked for.
    pub timer: Option<Timer>,
    /// The top token of the family, which is the token itself unless it is a child; `None` unless it was wanted.
    pub top: Option<String>,
    /// The place of the next event that the family holds; 0 when the token is not paused.
    pub next_arrival: u64,
    /// What the family of a paused token holds, in the order of arrival.
    pub held: Vec<Held>,
    /// An existing id that equals the wanted one when ASCII case is ignored, but is not it.
    pub folded: Option<String>,
    /// The idempotency key is in the token's ledger.
    pub key_used: bool,
    /// The whole memory of the task's (token, state), by key.
    pub memory: Vec<MemoryCell>,
    /// Whether the wanted memory cell exists.
    pub memory_key_exists: bool,
    /// Bytes of keys and values of the other cells of the task's (token, state).
    pub memory_bytes_of_others: u64,
    /// Other tokens that were asked for, by id; `None` when there is no such token.
    pub members: BTreeMap<String, Option<Member>>,
    /// Contexts that were asked for, by the token's id.
    pub contexts: BTreeMap<String, Arc<str>>,
    /// Which folded ids a token has, of those that were asked for.
    pub taken: BTreeMap<String, bool>,
    /// The id that the next task gets.
    pub next_task: u64,
    /// The id that the next timer gets.
    pub next_timer: u64,
}

impl Loaded {
    /// Adds what a later look found.
    pub fn extend(&mut self, more: Self) {
        self.members.extend(more.members);
        self.contexts.extend(more.contexts);
        self.taken.extend(more.taken);
    }
}
