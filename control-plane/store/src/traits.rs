//! The narrow trait: every verb that the control plane asks of a database.

use std::collections::BTreeMap;
use std::sync::Arc;

use stateous_engine::Timestamp;
use stateous_engine::change::{Change, TokenView};
use stateous_engine::loaded::{Loaded, Wanted};
use stateous_engine::model::{Entry, FanOutKey, Incarnation, Task};

use crate::failure::Failure;
use crate::rows::{
    Assignment, ControlRow, ListedToken, RoutineLimits, TaskFilter, TaskPage, TokenFilter, TokenPage, Upload,
};

/// A database that this process holds: no other control plane serves it until this is dropped.
pub trait Store: Send + Sync + 'static {
    /// The writer. There is one, and it may be taken once.
    ///
    /// # Errors
    /// When it was taken before, or the database cannot be opened for writing.
    fn writer(&self) -> Result<Box<dyn Writer>, Failure>;

    /// Reads, each from one consistent snapshot, beside the writer.
    fn reader(&self) -> Arc<dyn Reader>;
}

/// Which queued tasks a claim may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedFilter {
    /// (workflow, state) pairs. `None`: any state.
    pub states: Option<Vec<(String, String)>>,
    /// Only states to which a component is assigned.
    pub assigned: bool,
}

impl QueuedFilter {
    /// Whether the claim asks for tasks of this state. Whether a component is assigned to it is not looked at.
    #[must_use]
    pub fn names(&self, workflow: &str, state: &str) -> bool {
        let states = self.states.as_ref();
        states.is_none_or(|states| states.iter().any(|(w, s)| w == workflow && s == state))
    }

    /// Whether one of these claims would take a task of this state. `assigned` tells whether a component is assigned to
    /// it, and is asked only when that decides.
    ///
    /// # Errors
    /// What `assigned` fails with.
    pub fn is_served<E>(
        claims: &[Self],
        workflow: &str,
        state: &str,
        assigned: impl FnOnce() -> Result<bool, E>,
    ) -> Result<bool, E> {
        let mut asking = claims.iter().filter(|claim| claim.names(workflow, state)).peekable();
        // Whoever asks only for states with a component takes none of a state without one.
        Ok(asking.peek().is_some() && (asking.any(|claim| !claim.assigned) || assigned()?))
    }
}

/// The one connection that writes. Used by one thread; every verb but `begin` needs an open transaction.
///
/// SQL picks and locks rows, the engine decides, SQL writes.
pub trait Writer: Send {
    /// Opens a transaction that no other writer can come between.
    fn begin(&mut self) -> Result<(), Failure>;
    /// Says what else will be loaded in this transaction, about in this order. Only a hint: a store may look it up together,
    /// and one that does not takes nothing, so that nothing is made for it.
    fn ahead(&mut self, _wanted: &mut dyn Iterator<Item = Wanted>) {}
    /// Loads what a decision needs, this transaction's own writes included.
    fn load(&mut self, wanted: &Wanted) -> Result<Loaded, Failure>;
    /// Writes a decision's changes in order. A store may write them later, at the latest with the commit, as long as every
    /// verb sees them; their failure then comes later too. On a failure the transaction may only be rolled back.
    fn apply(&mut self, changes: &[Change]) -> Result<(), Failure>;
    /// Ids of queued tasks of active tokens which a claim may take, lowest id first, at most `limit`.
    fn queued_tasks(&mut self, filter: &QueuedFilter, limit: u32) -> Result<Vec<u64>, Failure>;
    /// Ids of held tasks that this supervisor got with this request id, by id.
    fn tasks_of_request(&mut self, supervisor: &str, request: &str) -> Result<Vec<u64>, Failure>;
    /// Ids of held tasks that other starts of this incarnation's folder claimed under this supervisor's name, by id.
    fn tasks_of_other_starts(
        &mut self,
        supervisor: &str,
        incarnation: &Incarnation,
    ) -> Result<Vec<u64>, Failure>;
    /// The component in force for a state.
    fn assignment(&mut self, workflow: &str, state: &str) -> Result<Option<Assignment>, Failure>;
    /// Keeps a component (once per digest) and puts it in force for a state, as the next version. Assigning the digest
    /// and limits that are in force already changes nothing. Answers what is in force.
    fn assign(
        &mut self,
        upload: &Upload,
        bytes: &[u8],
        to: NewAssignment<'_>,
        now: Timestamp,
    ) -> Result<Assignment, Failure>;
    /// Ids of held tasks whose lease ended before `now`, earliest first.
    fn expired_leases(&mut self, now: Timestamp, limit: u32) -> Result<Vec<u64>, Failure>;
    /// Ids of timers of active tokens that are due at `now`, by due time, then id.
    fn due_timers(&mut self, now: Timestamp, limit: u32) -> Result<Vec<u64>, Failure>;
    /// Fan-outs for which there is something to do, longest waiting first.
    fn pending_fan_outs(&mut self, limit: u32) -> Result<Vec<FanOutKey>, Failure>;
    /// Moves every open lease `ms` later. Answers how many.
    fn extend_leases(&mut self, ms: i64) -> Result<u64, Failure>;
    /// How many tasks are held under a lease.
    fn held_tasks(&mut self) -> Result<u64, Failure>;
    /// How many top tokens and children of fan-outs are active or paused in a workflow and structure that is none of these.
    fn live_tokens_outside(&mut self, served: &[(&str, &str)]) -> Result<u64, Failure>;
    /// The control plane's row.
    fn control(&mut self) -> Result<ControlRow, Failure>;
    /// Puts the default workflow's structure and checksum on record.
    fn record_graph(&mut self, structure: &str, checksum: &str) -> Result<(), Failure>;
    /// Makes the transaction's writes durable, together with `now` as the time at which this control plane was alive.
    /// When it returns, a power cut loses nothing. Without writes, the time may be left as it is while it is less than
    /// half a second old: a claim that finds nothing then costs no flush of the disk.
    fn commit(&mut self, now: Timestamp) -> Result<(), Failure>;
    /// Forgets the transaction's writes. Never fails: what cannot be rolled back was not committed.
    fn rollback(&mut self);
}

/// To which state a component is assigned, and how.
#[derive(Debug, Clone, Copy)]
pub struct NewAssignment<'a> {
    /// The workflow.
    pub workflow: &'a str,
    /// The state.
    pub state: &'a str,
    /// A name for people.
    pub name: &'a str,
    /// Limits of its attempts.
    pub limits: &'a RoutineLimits,
}

/// Reads beside the writer. Each call sees one snapshot of what was committed.
pub trait Reader: Send + Sync {
    /// One token.
    fn token(&self, id: &str) -> Result<Option<TokenView>, Failure>;
    /// A page of tokens. What it costs follows its limit, not the number of tokens, on the first page and on the last.
    fn tokens(&self, filter: &TokenFilter) -> Result<TokenPage, Failure>;
    /// Tokens by their ids, in the order asked for, as they are now: as many as have `bytes` bytes of context together,
    /// and at least one. An id that no token has counts as read and is left out.
    fn listed(&self, ids: &[String], bytes: usize) -> Result<(Vec<ListedToken>, usize), Failure>;
    /// One task.
    fn task(&self, id: u64) -> Result<Option<Task>, Failure>;
    /// A page of tasks, at a cost like that of [`Reader::tokens`].
    fn tasks(&self, filter: &TaskFilter) -> Result<TaskPage, Failure>;
    /// How many tasks each supervisor holds under a lease, by its name; only those that hold any.
    fn held_by_supervisor(&self) -> Result<BTreeMap<String, u64>, Failure>;
    /// A token's ledger after entry `after`, oldest first, at most `limit`; `None` when there is no such token.
    fn history(&self, id: &str, after: u64, limit: u32) -> Result<Option<Vec<Entry>>, Failure>;
    /// What is in force for each state, by workflow and state.
    fn assignments(&self) -> Result<Vec<(Assignment, Upload)>, Failure>;
    /// A component's bytes.
    fn component(&self, digest: &str) -> Result<Option<Vec<u8>>, Failure>;
    /// When the next lease ends or timer is due, so that a loop can sleep until then.
    fn next_due(&self) -> Result<Option<Timestamp>, Failure>;
}
