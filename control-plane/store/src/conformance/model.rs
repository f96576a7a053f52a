//! Random changes, compared with the plainest thing that could work: maps in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use stateous_engine::change::Change;
use stateous_engine::loaded::{Member, Wanted};
use stateous_engine::model::{
    Entry, EventRecord, Held, Kind, MemoryCell, Status, Task, TaskStatus, Timer, Token,
};

use super::Harness;
use super::db::{Db, NOW, all_of, all_of_task};
use super::samples::{entry, held_outcome, object, task, timer, token};
use crate::rows::{TaskFilter, TokenFilter};
use crate::traits::QueuedFilter;

/// What is done to a few tokens; an act on a row that is not there is left out.
#[derive(Debug, Clone)]
enum Act {
    Insert { token: usize, child: bool },
    Update { token: usize, status: usize, after_ms: i64 },
    PutContext { token: usize, number: u32 },
    InsertTask { token: usize, state: usize },
    UpdateTask { nth: usize, status: usize, lease_ms: Option<i64>, request: Option<usize> },
    InsertTimer { token: usize, after_ms: i64 },
    MoveTimer { nth: usize, after_ms: i64 },
    DeleteTimer { nth: usize },
    InsertHeld { token: usize, arrival: u64 },
    DeleteHeld { nth: usize },
    PutMemory { token: usize, state: usize, key: usize, bytes: usize },
    DeleteMemory { token: usize, state: usize, key: usize },
    DeleteAllMemory { token: usize },
    Append { token: usize },
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Commit,
    CommitAndRestart,
    Rollback,
}

const TOKENS: [&str; 4] = ["A-1", "b", "b.draft.1.lint", "Z_9"];
const STATES: [&str; 2] = ["draft", "review"];

fn acts() -> impl Strategy<Value = Act> {
    let (token, state, key) = (0..TOKENS.len(), 0..STATES.len(), 0..3usize);
    prop_oneof![
        3 => (token.clone(), any::<bool>()).prop_map(|(token, child)| Act::Insert { token, child }),
        4 => (token.clone(), 0..5usize, -3..3i64)
            .prop_map(|(token, status, after_ms)| Act::Update { token, status, after_ms }),
        1 => (token.clone(), any::<u32>()).prop_map(|(token, number)| Act::PutContext { token, number }),
        3 => (token.clone(), state.clone()).prop_map(|(token, state)| Act::InsertTask { token, state }),
        5 => (0..9usize, 0..7usize, proptest::option::of(0..5i64), proptest::option::of(0..2usize))
            .prop_map(|(nth, status, lease_ms, request)| Act::UpdateTask { nth, status, lease_ms, request }),
        2 => (token.clone(), 0..5i64).prop_map(|(token, after_ms)| Act::InsertTimer { token, after_ms }),
        1 => (0..9usize, 0..5i64).prop_map(|(nth, after_ms)| Act::MoveTimer { nth, after_ms }),
        1 => (0..9usize).prop_map(|nth| Act::DeleteTimer { nth }),
        2 => (token.clone(), 1..4u64).prop_map(|(token, arrival)| Act::InsertHeld { token, arrival }),
        1 => (0..9usize).prop_map(|nth| Act::DeleteHeld { nth }),
        3 => (token.clone(), state.clone(), key.clone(), 1..9usize)
            .prop_map(|(token, state, key, bytes)| Act::PutMemory { token, state, key, bytes }),
        1 => (token.clone(), state, key).prop_map(|(token, state, key)| Act::DeleteMemory { token, state, key }),
        1 => token.clone().prop_map(|token| Act::DeleteAllMemory { token }),
        2 => token.prop_map(|token| Act::Append { token }),
    ]
}

fn ends() -> impl Strategy<Value = End> {
    prop_oneof![6 => Just(End::Commit), 1 => Just(End::CommitAndRestart), 3 => Just(End::Rollback)]
}

/// The store, as it ought to be.
#[derive(Debug, Clone, Default)]
struct Model {
    tokens: BTreeMap<String, (Token, Arc<str>)>,
    tasks: BTreeMap<u64, Task>,
    timers: BTreeMap<u64, Timer>,
    held: BTreeMap<(String, u64), Held>,
    memory: BTreeMap<(String, String), BTreeMap<String, Arc<str>>>,
    ledger: BTreeMap<String, Vec<Entry>>,
}

impl Model {
    /// Does an act to the model, and says which change does it to the store.
    fn act(&mut self, act: &Act, next_task: u64, next_timer: u64) -> Option<Change> {
        let id = |token: &usize| TOKENS[*token].to_owned();
        let existing = |token: &usize| self.tokens.get(TOKENS[*token]).map(|(row, _)| row.clone());
        let change = match act {
            Act::Insert { token: number, .. } if existing(number).is_some() => return None,
            Act::Insert { token: number, child } => {
                let parent = child.then(|| "b".to_owned());
                Change::InsertToken {
                    token: Token { parent, ..token(TOKENS[*number]) },
                    context: "{}".into(),
                }
            }
            Act::Update { token, status, after_ms } => {
                let before = existing(token)?;
                let entered_by = EventRecord {
                    name: "go".to_owned(),
                    payload: Some(object(&format!(r#"{{"n":{after_ms}}}"#))),
                };
                Change::UpdateToken(Token {
                    status: Status::ALL[*status],
                    paused_at: (*after_ms > 0).then_some(NOW),
                    entered_at: NOW.plus_ms(*after_ms),
                    seq: before.seq + 1,
                    visit: before.visit + 1,
                    ended_by: (*status == 2).then(|| entered_by.clone()),
                    entered_by,
                    ..before
                })
            }
            Act::PutContext { token, number } => {
                existing(token)?;
                Change::PutContext { token: id(token), context: format!(r#"{{"n":{number}}}"#).into() }
            }
            Act::InsertTask { token, state } => {
                existing(token)?;
                Change::InsertTask(Task {
                    state: STATES[*state].to_owned(),
                    ..task(next_task, TOKENS[*token])
                })
            }
            Act::UpdateTask { nth, status, lease_ms, request } => {
                let before = self.tasks.values().cycle().nth(*nth)?.clone();
                Change::UpdateTask(Task {
                    status: TaskStatus::ALL[*status],
                    attempt: before.attempt + 1,
                    claimed_by: request.map(|n| format!("vm-{n}")),
                    request: request.map(|n| format!("r-{n}")),
                    lease_until: lease_ms.map(|ms| NOW.plus_ms(ms)),
                    ..before
                })
            }
            Act::InsertTimer { token, after_ms } => {
                existing(token)?;
                Change::InsertTimer(timer(next_timer, TOKENS[*token], *after_ms))
            }
            Act::MoveTimer { nth, after_ms } => {
                let before = self.timers.values().cycle().nth(*nth)?.clone();
                Change::UpdateTimer(Timer { due_at: NOW.plus_ms(*after_ms), ..before })
            }
            Act::InsertHeld { token, arrival } if self.held.contains_key(&(id(token), *arrival)) => {
                return None;
            }
            Act::InsertHeld { token, arrival } => {
                Change::InsertHeld(held_outcome(TOKENS[*token], *arrival, r#"{"n":1.50}"#))
            }
            Act::DeleteHeld { nth } => {
                let (top, arrival) = self.held.keys().cycle().nth(*nth)?.clone();
                Change::DeleteHeld { top, arrival }
            }
            Act::DeleteTimer { nth } => Change::DeleteTimer(*self.timers.keys().cycle().nth(*nth)?),
            Act::PutMemory { token, state, key, bytes } => {
                let cell = MemoryCell { key: format!("k-{key}"), value: "7".repeat(*bytes).into() };
                Change::PutMemory { token: id(token), state: STATES[*state].to_owned(), cell }
            }
            Act::DeleteMemory { token, state, key } => {
                let (state, key) = (STATES[*state].to_owned(), format!("k-{key}"));
                Change::DeleteMemory { token: id(token), state, key }
            }
            Act::DeleteAllMemory { token } => Change::DeleteAllMemory { token: id(token) },
            Act::Append { token } => {
                existing(token)?;
                let seq = self.ledger.get(TOKENS[*token]).map_or(0, Vec::len) as u64 + 1;
                Change::Append(entry(TOKENS[*token], seq, Kind::Note, r#"{"task":1,"text":"x"}"#))
            }
        };
        self.apply(change.clone());
        Some(change)
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::InsertToken { token, context } => {
                self.tokens.insert(token.id.clone(), (token, context));
            }
            Change::UpdateToken(token) => {
                let row = &mut self.tokens.get_mut(&token.id).unwrap().0;
                *row = token;
            }
            Change::PutContext { token, context } => self.tokens.get_mut(&token).unwrap().1 = context,
            Change::InsertTask(task) | Change::UpdateTask(task) => drop(self.tasks.insert(task.id, task)),
            Change::InsertTimer(timer) | Change::UpdateTimer(timer) => {
                drop(self.timers.insert(timer.id, timer));
            }
            Change::InsertHeld(held) => drop(self.held.insert((held.top.clone(), held.arrival), held)),
            Change::DeleteHeld { top, arrival } => drop(self.held.remove(&(top, arrival))),
            Change::DeleteTimer(id) => drop(self.timers.remove(&id)),
            Change::PutMemory { token, state, cell } => {
                self.memory.entry((token, state)).or_default().insert(cell.key, cell.value);
            }
            Change::DeleteMemory { token, state, key } => {
                self.memory.entry((token, state)).or_default().remove(&key);
            }
            Change::DeleteAllMemory { token } => self.memory.retain(|(owner, _), _| *owner != token),
            Change::Append(entry) => self.ledger.entry(entry.token.clone()).or_default().push(entry),
        }
    }

    fn is_active(&self, token: &str) -> bool {
        self.tokens.get(token).is_some_and(|(row, _)| row.status == Status::Active)
    }

    fn ids<'m>(tasks: impl Iterator<Item = &'m Task>) -> Vec<u64> {
        tasks.map(|task| task.id).collect()
    }

    /// Compares what the writer finds, in its open transaction.
    fn compare_writer(&self, db: &mut Db<'_>) {
        let writer = db.writer();
        for id in TOKENS {
            let loaded = writer.load(&all_of(id)).unwrap();
            let expected = self.tokens.get(id);
            assert_eq!(loaded.member.as_ref().map(|m| (&m.token, &m.context)), expected.map(|(t, c)| (t, c)));
            let wanted = Wanted { members: vec![id.to_owned()], ..Wanted::default() };
            let other = writer.load(&wanted).unwrap().members.remove(id).unwrap();
            let without_context = loaded.member.clone().map(|member| Member { context: "".into(), ..member });
            assert_eq!(other, without_context);
            let Some(member) = loaded.member else { continue };
            let open = self.tasks.values().filter(|task| task.token == id && task.status.is_open());
            assert_eq!(member.tasks, open.cloned().collect::<Vec<_>>());
            let pending = self.timers.values().filter(|timer| timer.token == id);
            assert_eq!(member.timers, pending.cloned().collect::<Vec<_>>());
            let wanted = Wanted { family: true, held: true, ..all_of(id) };
            let loaded = writer.load(&wanted).unwrap();
            // Every child here is one of `b`.
            let child = member.token.parent.is_some() && self.tokens.contains_key("b");
            let top = if child { "b" } else { id };
            assert_eq!(loaded.top.as_deref(), Some(top));
            let paused = member.token.status == Status::Paused;
            let of_family: Vec<Held> =
                self.held.values().filter(|held| paused && held.top == top).cloned().collect();
            let next = of_family.last().map_or(1, |held| held.arrival + 1);
            assert_eq!(loaded.next_arrival, if paused { next } else { 0 });
            assert_eq!(loaded.held, of_family);
        }
        for task in self.tasks.values() {
            let cells =
                self.memory.get(&(task.token.clone(), task.state.clone())).cloned().unwrap_or_default();
            let loaded = writer.load(&all_of_task(task.id)).unwrap();
            assert_eq!(loaded.task.as_ref(), Some(task));
            let found = loaded.memory.into_iter().map(|cell| (cell.key, cell.value));
            assert_eq!(found.collect::<BTreeMap<_, _>>(), cells);
            let wanted =
                Wanted { task: Some(task.id), memory_key: Some("k-0".to_owned()), ..Wanted::default() };
            let loaded = writer.load(&wanted).unwrap();
            assert_eq!(loaded.memory_key_exists, cells.contains_key("k-0"));
            let others =
                cells.iter().filter(|(key, _)| *key != "k-0").map(|(key, value)| key.len() + value.len());
            assert_eq!(loaded.memory_bytes_of_others, others.sum::<usize>() as u64);
        }
        let queued =
            self.tasks.values().filter(|t| t.status == TaskStatus::Queued && self.is_active(&t.token));
        let any = QueuedFilter { states: None, assigned: false };
        assert_eq!(writer.queued_tasks(&any, 99).unwrap(), Self::ids(queued.clone()));
        let state = Some(vec![("orders".to_owned(), "review".to_owned())]);
        let review = Self::ids(queued.filter(|task| task.state == "review").take(2));
        assert_eq!(writer.queued_tasks(&QueuedFilter { states: state, assigned: false }, 2).unwrap(), review);

        let held: Vec<&Task> = self.tasks.values().filter(|task| task.status.is_held()).collect();
        assert_eq!(writer.held_tasks().unwrap(), held.len() as u64);
        let requested = |task: &&&Task| task.claimed_by.is_some() && task.request.as_deref() == Some("r-1");
        let expected = Self::ids(held.iter().filter(requested).copied());
        assert_eq!(writer.tasks_of_request("vm-1", "r-1").unwrap(), expected);
        for ms in 0..6 {
            let now = NOW.plus_ms(ms);
            let mut over: Vec<&Task> =
                held.iter().filter(|t| t.lease_until.is_some_and(|until| until < now)).copied().collect();
            over.sort_by_key(|task| (task.lease_until, task.id));
            assert_eq!(writer.expired_leases(now, 99).unwrap(), Self::ids(over.into_iter()));
            let mut due: Vec<&Timer> =
                self.timers.values().filter(|t| t.due_at <= now && self.is_active(&t.token)).collect();
            due.sort_by_key(|timer| (timer.due_at, timer.id));
            let due: Vec<u64> = due.into_iter().map(|timer| timer.id).collect();
            assert_eq!(writer.due_timers(now, 99).unwrap(), due);
        }
    }

    /// Compares what readers see.
    fn compare_reader(&self, db: &Db<'_>) {
        let reader = db.reader();
        for id in TOKENS {
            let seen = reader.token(id).unwrap().map(|view| (view.token, view.context));
            assert_eq!(seen.as_ref(), self.tokens.get(id));
            let entries =
                self.tokens.contains_key(id).then(|| self.ledger.get(id).cloned().unwrap_or_default());
            assert_eq!(reader.history(id, 0, 1000).unwrap(), entries);
        }
        let statuses = Status::ALL.into_iter().map(Some).chain([None]);
        for (status, parent) in statuses.flat_map(|s| [(s, None), (s, Some("b".to_owned()))]) {
            let matches = |row: &&Token| {
                status.is_none_or(|s| row.status == s) && (parent.is_none() || row.parent == parent)
            };
            let mut rows: Vec<&Token> = self.tokens.values().map(|(row, _)| row).filter(matches).collect();
            rows.sort_by_key(|row| (std::cmp::Reverse(row.entered_at), row.id.clone()));
            let filter = TokenFilter { status, parent: parent.clone(), ..TokenFilter::newest(3) };
            let page = reader.tokens(&filter).unwrap();
            assert_eq!(page.next.is_some(), rows.len() > 3, "{filter:?}");
            rows.truncate(3);
            assert_eq!(page.tokens.len(), rows.len(), "{filter:?}");
            for (listed, row) in page.tokens.iter().zip(rows) {
                let seen = (
                    &listed.id,
                    &listed.state,
                    listed.status,
                    listed.visit,
                    listed.entered_at,
                    &listed.parent,
                );
                let kept = (&row.id, &row.state, row.status, row.visit, row.entered_at, &row.parent);
                assert_eq!(seen, kept, "{filter:?}");
            }
        }
        let open: Vec<TaskStatus> = TaskStatus::ALL.into_iter().filter(|status| status.is_open()).collect();
        for statuses in [&open[..], &TaskStatus::ALL] {
            let (statuses, limit) = (statuses.to_vec(), 1000);
            let filter = TaskFilter {
                statuses,
                workflow: None,
                state: None,
                token: None,
                supervisor: None,
                unserved: None,
                after: 0,
                limit,
            };
            let mut rows: Vec<&Task> =
                self.tasks.values().filter(|task| filter.statuses.contains(&task.status)).collect();
            rows.sort_by_key(|task| task.id);
            assert!(reader.tasks(&filter).unwrap().tasks.iter().eq(rows), "{filter:?}");
        }
        let leases = self
            .tasks
            .values()
            .filter(|t| t.status.is_held())
            .filter_map(|t| Some(t.lease_until?.plus_ms(1)));
        let timers = self.timers.values().filter(|t| self.is_active(&t.token)).map(|t| t.due_at);
        assert_eq!(reader.next_due().unwrap(), leases.chain(timers).min());
    }
}

/// Whatever is written, in whatever order, kept or taken back.
pub fn random_changes_do_what_a_model_does(harness: &dyn Harness) {
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let transactions = vec((vec(acts(), 1..12), ends()), 1..8);
    let result = TestRunner::new(config).run(&transactions, |transactions| {
        let harness = harness.another();
        let mut db = Db::open(&*harness);
        let mut committed = Model::default();
        for (acts, end) in transactions {
            let mut model = committed.clone();
            db.writer().begin().unwrap();
            for act in &acts {
                let next = db.writer().load(&Wanted::default()).unwrap();
                assert!(model.tasks.keys().all(|id| *id < next.next_task));
                assert!(model.timers.keys().all(|id| *id < next.next_timer));
                let change = model.act(act, next.next_task, next.next_timer);
                db.writer().apply(change.as_slice()).unwrap();
            }
            model.compare_writer(&mut db);
            committed.compare_reader(&db);
            match end {
                End::Rollback => db.writer().rollback(),
                End::Commit | End::CommitAndRestart => {
                    db.writer().commit(NOW).unwrap();
                    committed = model;
                }
            }
            if matches!(end, End::CommitAndRestart) {
                db.reopen();
            }
            committed.compare_reader(&db);
        }
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}
