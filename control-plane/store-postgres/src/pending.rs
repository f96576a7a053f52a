//! Changes of the open transaction that are not written yet.
//!
//! A decision's changes wait here until somebody in the same transaction has to see them, at the latest for the commit;
//! then `apply` writes them with one statement a table, however many decisions they come from. Of a row that changes
//! several times only the last form is written. What a decision sees is nevertheless what was decided before it:
//! [`Touched::touches`] tells when a lookup could miss something, and then everything is written and looked up again.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use stateous_engine::change::Change;
use stateous_engine::loaded::{Loaded, Wanted};
use stateous_engine::model::{Entry, Held, Task, Timer, Token};

/// What is to be done to a row.
#[derive(Debug)]
pub(crate) enum Write<T> {
    Insert(T),
    Update(T),
    Delete,
}

/// Rows that wait, by their keys.
pub(crate) type Rows<K, T> = BTreeMap<K, Write<T>>;

/// A memory cell's token, state and key.
pub(crate) type CellKey = (String, String, String);

/// What waits to be written.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) tokens: Rows<String, Token>,
    pub(crate) contexts: Rows<String, Arc<str>>,
    pub(crate) tasks: Rows<u64, Task>,
    pub(crate) timers: Rows<u64, Timer>,
    pub(crate) held: Rows<(String, u64), Held>,
    /// Tokens whose memory goes, before anything of `cells` is written.
    pub(crate) wiped: BTreeSet<String>,
    /// Values of memory cells; `None` deletes.
    pub(crate) cells: BTreeMap<CellKey, Option<Arc<str>>>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) touched: Touched,
}

/// What changes are about.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    families: HashSet<String>,
    tasks: HashSet<u64>,
    timers: HashSet<u64>,
}

impl Pending {
    /// Takes a change in. The answer is `false` when it goes on from a row that must be written first: then nothing was
    /// taken.
    #[must_use]
    pub(crate) fn add(&mut self, change: &Change) -> bool {
        let taken = match change {
            Change::InsertToken { token, context } => {
                !self.contexts.contains_key(&token.id)
                    && merge(&mut self.tokens, token.id.clone(), Write::Insert(token.clone()))
                    && merge(&mut self.contexts, token.id.clone(), Write::Insert(Arc::clone(context)))
            }
            Change::UpdateToken(token) => {
                merge(&mut self.tokens, token.id.clone(), Write::Update(token.clone()))
            }
            Change::PutContext { token, context } => {
                merge(&mut self.contexts, token.clone(), Write::Update(Arc::clone(context)))
            }
            Change::InsertTask(task) => merge(&mut self.tasks, task.id, Write::Insert(task.clone())),
            Change::UpdateTask(task) => merge(&mut self.tasks, task.id, Write::Update(task.clone())),
            Change::InsertTimer(timer) => merge(&mut self.timers, timer.id, Write::Insert(timer.clone())),
            Change::UpdateTimer(timer) => merge(&mut self.timers, timer.id, Write::Update(timer.clone())),
            Change::DeleteTimer(id) => merge(&mut self.timers, *id, Write::Delete),
            Change::InsertHeld(held) => {
                merge(&mut self.held, (held.top.clone(), held.arrival), Write::Insert(held.clone()))
            }
            Change::DeleteHeld { top, arrival } => {
                merge(&mut self.held, (top.clone(), *arrival), Write::Delete)
            }
            Change::PutMemory { token, state, cell } => {
                let key = (token.clone(), state.clone(), cell.key.clone());
                self.cells.insert(key, Some(Arc::clone(&cell.value)));
                true
            }
            Change::DeleteMemory { token, state, key } => {
                self.cells.insert((token.clone(), state.clone(), key.clone()), None);
                true
            }
            Change::DeleteAllMemory { token } => {
                self.cells.retain(|(owner, ..), _| owner != token);
                self.wiped.insert(token.clone());
                true
            }
            Change::Append(entry) => {
                self.entries.push(entry.clone());
                true
            }
        };
        if taken {
            self.touched.add(change);
        }
        taken
    }

    /// Held tasks of a request, by id, of which `found` are written.
    pub(crate) fn with_request(&self, mut found: Vec<u64>, supervisor: &str, request: &str) -> Vec<u64> {
        found.retain(|id| !self.tasks.contains_key(id));
        let of_request = |task: &&Task| {
            let by = (task.claimed_by.as_deref(), task.request.as_deref());
            task.status.is_held() && by == (Some(supervisor), Some(request))
        };
        let waiting = self.tasks.values().filter_map(|write| match write {
            Write::Insert(task) | Write::Update(task) => Some(task),
            Write::Delete => None,
        });
        found.extend(waiting.filter(of_request).map(|task| task.id));
        found.sort_unstable();
        found
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { tokens, contexts, tasks, timers, held, wiped, cells, entries, touched: _ } = self;
        let rows = tokens.len() + contexts.len() + tasks.len() + timers.len() + held.len();
        rows + wiped.len() + cells.len() + entries.len() == 0
    }
}

impl Touched {
    /// Adds what a change is about.
    pub(crate) fn add(&mut self, change: &Change) {
        self.families.extend(owners(change).into_iter().flatten().map(family));
        match change {
            Change::InsertTask(task) | Change::UpdateTask(task) => drop(self.tasks.insert(task.id)),
            Change::InsertTimer(timer) | Change::UpdateTimer(timer) => drop(self.timers.insert(timer.id)),
            Change::DeleteTimer(id) => drop(self.timers.insert(*id)),
            _ => {}
        }
    }

    /// Whether what was loaded could be other than it is, now that these changes were decided.
    pub(crate) fn touches(&self, wanted: &Wanted, loaded: &Loaded) -> bool {
        if self.families.is_empty() && self.timers.is_empty() {
            return false;
        }
        let member = loaded.member.as_ref();
        let tokens = [
            wanted.token.as_ref(),
            loaded.task.as_ref().map(|task| &task.token),
            loaded.timer.as_ref().map(|timer| &timer.token),
            member.map(|member| &member.token.id),
            member.and_then(|member| member.token.parent.as_ref()),
            loaded.top.as_ref(),
            loaded.folded.as_ref(),
        ];
        let others = wanted.members.iter().chain(&wanted.contexts).chain(&wanted.taken);
        tokens.into_iter().flatten().chain(others).any(|id| self.families.contains(&family(id)))
            || wanted.task.is_some_and(|id| self.tasks.contains(&id))
            || wanted.timer.is_some_and(|id| self.timers.contains(&id))
            // The deletion of a timer does not say whose it was.
            || member.is_some_and(|m| m.timers.iter().any(|timer| self.timers.contains(&timer.id)))
    }
}

/// Adds to what waits for a row. `false` when the two do not come to one statement.
fn merge<K: Ord, T>(rows: &mut Rows<K, T>, key: K, write: Write<T>) -> bool {
    let merged = match (rows.get(&key), write) {
        (None, write) | (Some(Write::Update(_)), write @ (Write::Update(_) | Write::Delete)) => write,
        (Some(Write::Insert(_)), Write::Update(row)) => Write::Insert(row),
        (Some(Write::Insert(_)), Write::Delete) => {
            rows.remove(&key);
            return true;
        }
        _ => return false,
    };
    rows.insert(key, merged);
    true
}

/// The tokens that a change is about.
fn owners(change: &Change) -> [Option<&str>; 2] {
    match change {
        Change::InsertToken { token, .. } | Change::UpdateToken(token) => {
            [Some(&token.id), token.parent.as_deref()]
        }
        Change::InsertTask(task) | Change::UpdateTask(task) => [Some(&task.token), None],
        Change::InsertTimer(timer) | Change::UpdateTimer(timer) => [Some(&timer.token), None],
        Change::DeleteTimer(_) => [None, None],
        Change::InsertHeld(held) => [Some(&held.top), Some(&held.token)],
        Change::DeleteHeld { top, .. } => [Some(top), None],
        Change::PutContext { token, .. }
        | Change::PutMemory { token, .. }
        | Change::DeleteMemory { token, .. }
        | Change::DeleteAllMemory { token } => [Some(token), None],
        Change::Append(entry) => [Some(&entry.token), None],
    }
}

/// What the ids of a family have in common, case aside: the id of a child begins with its parent's and a dot. That
/// strangers may have it in common too costs a statement, never more.
fn family(id: &str) -> String {
    id.split('.').next().unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_a_row_come_to_one() {
        let mut rows: Rows<u64, &str> = Rows::new();
        assert!(merge(&mut rows, 1, Write::Insert("a")) && merge(&mut rows, 1, Write::Update("b")));
        assert!(matches!(rows[&1], Write::Insert("b")));
        assert!(!merge(&mut rows, 1, Write::Insert("c")), "inserted twice");
        assert!(merge(&mut rows, 1, Write::Delete) && rows.is_empty(), "it was never there");

        assert!(merge(&mut rows, 2, Write::Update("a")) && merge(&mut rows, 2, Write::Update("b")));
        assert!(matches!(rows[&2], Write::Update("b")));
        assert!(merge(&mut rows, 2, Write::Delete) && matches!(rows[&2], Write::Delete));
        assert!(!merge(&mut rows, 2, Write::Update("c")), "it is gone");
        assert!(!merge(&mut rows, 2, Write::Insert("c")), "it goes only now");
        assert!(!merge(&mut rows, 2, Write::Delete));
    }

    #[test]
    fn a_lookup_that_could_miss_something_is_told() {
        let mut pending = Pending::default();
        let of = |token: &str| Wanted { token: Some(token.to_owned()), ..Wanted::default() };
        let none = Loaded::default();
        assert!(!pending.touched.touches(&of("a"), &none));
        assert!(pending.add(&Change::DeleteAllMemory { token: "A.draft.1.lint".to_owned() }));
        assert!(
            pending.touched.touches(&of("a"), &none) && pending.touched.touches(&of("a.draft.2.lint"), &none)
        );
        assert!(!pending.touched.touches(&of("b"), &none) && !pending.touched.touches(&of("ab"), &none));
        assert!(pending.add(&Change::DeleteTimer(7)));
        assert!(pending.touched.touches(&Wanted { timer: Some(7), ..Wanted::default() }, &none));
        assert!(!pending.touched.touches(&Wanted { timer: Some(8), ..Wanted::default() }, &none));
    }
}
