//! The rows of a small world in memory: loads what a decision wants and applies what it answers, as a store would.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use stateous_engine::change::{Answer, Change, Decision};
use stateous_engine::json::parse_stored;
use stateous_engine::loaded::{Loaded, Member, Wanted};
use stateous_engine::model::{Entry, Held, MemoryCell, Status, Task, Timer, Token};
use stateous_engine::{Catalog, Graph, Input, Refusal, Rules, Timestamp, decide_loading};

pub(crate) struct World {
    pub(crate) rules: Rules,
    pub(crate) now: Timestamp,
    pub(crate) tokens: BTreeMap<String, (Token, Arc<str>)>,
    pub(crate) tasks: BTreeMap<u64, Task>,
    pub(crate) timers: BTreeMap<u64, Timer>,
    pub(crate) memory: BTreeMap<(String, String, String), Arc<str>>,
    /// By top token and arrival.
    pub(crate) held: BTreeMap<(String, u64), Held>,
    pub(crate) ledger: Vec<Entry>,
    next_task: u64,
    next_timer: u64,
}

impl World {
    /// A world with one graph file, at time 1,000,000 ms, with leases of two minutes.
    pub(crate) fn new(graph: &str) -> Self {
        let catalog = Catalog::new(vec![Graph::parse(graph).unwrap()]).unwrap();
        Self {
            rules: Rules { catalog, lease_ms: 120_000 },
            now: Timestamp(1_000_000),
            tokens: BTreeMap::new(),
            tasks: BTreeMap::new(),
            timers: BTreeMap::new(),
            memory: BTreeMap::new(),
            held: BTreeMap::new(),
            ledger: Vec::new(),
            next_task: 1,
            next_timer: 1,
        }
    }

    /// Decides and applies one input.
    pub(crate) fn input(&mut self, input: &Input) -> Result<Answer, Refusal> {
        let decide =
            || decide_loading(&self.rules, input, self.now, |wanted| Ok::<_, Infallible>(self.load(wanted)));
        let Ok(decision) = decide();
        assert_eq!(Ok(&decision), decide().as_ref(), "a decision is a function");
        let Decision { changes, result } = decision;
        for change in changes {
            self.apply(change);
        }
        self.check();
        result
    }

    fn load(&self, wanted: &Wanted) -> Loaded {
        let task = wanted.task.and_then(|id| self.tasks.get(&id)).cloned();
        let timer = wanted.timer.and_then(|id| self.timers.get(&id)).cloned();
        let id = wanted
            .token
            .clone()
            .or_else(|| task.as_ref().map(|t| t.token.clone()))
            .or_else(|| timer.as_ref().map(|t| t.token.clone()));
        let cell_of = |key: &(String, String, String)| {
            task.as_ref().is_some_and(|t| (&key.0, &key.1) == (&t.token, &t.state))
        };
        let member = id.as_ref().and_then(|id| self.member(id, wanted.context, wanted.open));
        let top = member.as_ref().filter(|_| wanted.family || wanted.held).map(|m| self.top(&m.token));
        let paused = member.as_ref().is_some_and(|m| m.token.status == Status::Paused);
        let family = || self.held.values().filter(|h| paused && Some(&h.top) == top.as_ref());
        let cells = || self.memory.iter().filter(|(key, _)| cell_of(key));
        Loaded {
            folded: id.as_ref().filter(|_| wanted.folded).and_then(|id| {
                self.tokens.keys().find(|other| *other != id && other.eq_ignore_ascii_case(id)).cloned()
            }),
            key_used: wanted.key.as_ref().is_some_and(|key| {
                self.ledger.iter().any(|e| Some(&e.token) == id.as_ref() && e.key.as_ref() == Some(key))
            }),
            memory: if wanted.memory {
                cells().map(|(k, v)| MemoryCell { key: k.2.clone(), value: Arc::clone(v) }).collect()
            } else {
                Vec::new()
            },
            memory_key_exists: wanted
                .memory_key
                .as_ref()
                .is_some_and(|key| cells().any(|(k, _)| &k.2 == key)),
            memory_bytes_of_others: cells()
                .filter(|(k, _)| Some(&k.2) != wanted.memory_key.as_ref())
                .map(|(k, v)| (k.2.len() + v.len()) as u64)
                .sum(),
            next_arrival: if paused && wanted.family { family().count() as u64 + 1 } else { 0 },
            held: family().filter(|_| wanted.held).cloned().collect(),
            members: wanted.members.iter().map(|id| (id.clone(), self.member(id, false, true))).collect(),
            contexts: wanted.contexts.iter().map(|id| (id.clone(), Arc::clone(&self.tokens[id].1))).collect(),
            taken: wanted
                .taken
                .iter()
                .map(|folded| {
                    (folded.clone(), self.tokens.keys().any(|id| id.to_ascii_lowercase() == *folded))
                })
                .collect(),
            top,
            member,
            task,
            timer,
            next_task: self.next_task,
            next_timer: self.next_timer,
        }
    }

    /// A token with what belongs to it. What was not asked for is not there, so that a decision that reads it is found
    /// out.
    fn member(&self, id: &str, context: bool, open: bool) -> Option<Member> {
        let (token, text) = self.tokens.get(id)?;
        let tasks = self.tasks.values().filter(|t| open && t.token == id && t.status.is_open());
        Some(Member {
            token: token.clone(),
            context: if context { Arc::clone(text) } else { "".into() },
            tasks: tasks.cloned().collect(),
            timers: self.timers.values().filter(|t| open && t.token == id).cloned().collect(),
        })
    }

    /// The token at the top of a family.
    fn top(&self, token: &Token) -> String {
        let above = token.parent.as_ref().and_then(|parent| self.tokens.get(parent));
        above.map_or_else(|| token.id.clone(), |(parent, _)| self.top(parent))
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::InsertToken { token, context } => {
                let before = self.tokens.insert(token.id.clone(), (token, context));
                assert!(before.is_none(), "a token is inserted once");
            }
            Change::UpdateToken(token) => {
                let row = self.tokens.get_mut(&token.id).expect("it exists");
                row.0 = token;
            }
            Change::PutContext { token, context } => {
                self.tokens.get_mut(&token).expect("it exists").1 = context;
            }
            Change::InsertTask(task) => {
                self.next_task = self.next_task.max(task.id + 1);
                assert!(self.tasks.insert(task.id, task).is_none(), "a task is inserted once");
            }
            Change::UpdateTask(task) => {
                let before = self.tasks.insert(task.id, task.clone()).expect("it exists");
                assert!(before.status.is_open(), "a task that ended never changes: {before:?} -> {task:?}");
                assert!(task.attempt >= before.attempt, "attempts only grow");
            }
            Change::InsertTimer(timer) => {
                self.next_timer = self.next_timer.max(timer.id + 1);
                self.timers.insert(timer.id, timer);
            }
            Change::UpdateTimer(timer) => {
                assert!(self.timers.insert(timer.id, timer).is_some(), "a pending timer is moved");
            }
            Change::InsertHeld(held) => {
                let before = self.held.insert((held.top.clone(), held.arrival), held);
                assert!(before.is_none(), "each has its own place");
            }
            Change::DeleteHeld { top, arrival } => {
                assert!(self.held.remove(&(top, arrival)).is_some(), "a held event is settled once");
            }
            Change::DeleteTimer(id) => {
                assert!(self.timers.remove(&id).is_some(), "a pending timer is deleted");
            }
            Change::PutMemory { token, state, cell } => {
                self.memory.insert((token, state, cell.key), cell.value);
            }
            Change::DeleteMemory { token, state, key } => {
                self.memory.remove(&(token, state, key));
            }
            Change::DeleteAllMemory { token } => self.memory.retain(|key, _| key.0 != token),
            Change::Append(entry) => self.ledger.push(entry),
        }
    }

    /// What holds after every decision, whatever it was.
    fn check(&self) {
        for (id, (token, context)) in &self.tokens {
            let entries: Vec<&Entry> = self.ledger.iter().filter(|e| &e.token == id).collect();
            assert_eq!(entries.len() as u64, token.seq, "{id}: the row knows its last entry");
            assert!(entries.iter().zip(1..).all(|(e, n)| e.seq == n), "{id}: the ledger has no gaps");
            assert!(parse_stored(context).is_ok(), "{id}: the context is an object");
            let open = self.tasks.values().filter(|t| &t.token == id && t.status.is_open()).count();
            let timers = self.timers.values().filter(|t| &t.token == id).count();
            if token.status.is_ended() {
                assert_eq!((open, timers), (0, 0), "{id}: an ended token has no task and no timer");
                assert!(!self.memory.keys().any(|k| &k.0 == id), "{id}: an ended token has no memory");
            } else if token.status == Status::Active {
                let children = self.tokens.values().filter(|(child, _)| child.parent.as_ref() == Some(id));
                let live = children.filter(|(child, _)| child.status == Status::Active).count();
                assert!(open + timers + live > 0, "{id}: an active token has a wake source");
            }
            if let Some((parent, _)) = token.parent.as_ref().and_then(|parent| self.tokens.get(parent)) {
                let live = !token.status.is_ended();
                assert!(
                    !live || parent.status == token.status,
                    "{id}: a live child stands or moves with its parent"
                );
                assert_eq!(token.structure, parent.structure, "{id}: a family follows one graph");
            }
            let completed = token.status == Status::Completed;
            assert_eq!(completed, token.ended_by.is_some(), "{id}: an event completes a token");
            assert_eq!(
                token.status == Status::Paused,
                token.paused_at.is_some(),
                "{id}: a pause has a beginning"
            );
        }
        for held in self.held.values() {
            assert_eq!(
                self.tokens[&held.token].0.status,
                Status::Paused,
                "only a paused token holds: {held:?}"
            );
            let of_family =
                self.held.keys().filter(|(top, arrival)| *top == held.top && *arrival <= held.arrival);
            assert_eq!(of_family.count() as u64, held.arrival, "places have no gaps: {held:?}");
        }
        for task in self.tasks.values() {
            assert_eq!(
                task.status.is_held(),
                task.lease_until.is_some(),
                "a held task has a lease: {task:?}"
            );
        }
    }

    /// The ledger of a token, one line an entry.
    pub(crate) fn history(&self, id: &str) -> String {
        let line = |e: &Entry| {
            let key = e.key.as_ref().map(|k| format!(" key={k}")).unwrap_or_default();
            format!("{:>2} {} {}{key}", e.seq, e.kind.as_str(), serde_json::to_string(&e.data).unwrap())
        };
        self.ledger.iter().filter(|e| e.token == id).map(line).collect::<Vec<_>>().join("\n")
    }
}
