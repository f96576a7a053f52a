//! What a verb costs does not grow with the database: counted in SQLite's own steps, which is exact where time is not.
//!
//! A step that walks a table, or an index that holds rows that are none of the question's business, shows at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;
use stateous_engine::Timestamp;
use stateous_engine::change::Change;
use stateous_engine::json::Object;
use stateous_engine::loaded::Wanted;
use stateous_engine::model::{
    Entry, EventRecord, Held, Incarnation, Kind, MemoryCell, Status, Task, TaskStatus, Timer, TimerKind,
    Token,
};
use stateous_store::{QueuedFilter, Store, TaskFilter, TokenFilter, TokenPlace};
use tempfile::TempDir;

use crate::failure::{Broken, During};
use crate::{Options, SqliteStore, apply, find, listing, load, open};

const NOW: Timestamp = Timestamp(1_000_000);
/// Tasks of the past have ids beyond this.
const PAST: u64 = 1_000_000;

fn token(id: String, status: Status, at: i64) -> Token {
    Token {
        id,
        workflow: "orders".into(),
        structure: "s".into(),
        state: "draft".into(),
        status,
        visit: 1,
        started_at: NOW,
        entered_at: NOW.plus_ms(at),
        paused_at: None,
        parent: (at % 2 == 0).then(|| "parent".into()),
        seq: 1,
        visits: [("draft".into(), 1)].into(),
        counts: [].into(),
        entered_by: EventRecord { name: "go".into(), payload: None },
        ended_by: None,
    }
}

fn task(id: u64, token: &str, status: TaskStatus) -> Task {
    let held = status.is_held();
    Task {
        id,
        token: token.into(),
        workflow: "orders".into(),
        state: if id.is_multiple_of(3) { "review".into() } else { "draft".into() },
        visit: 1,
        status,
        attempt: 1,
        failures: 0,
        claimed_by: held.then(|| "vm".into()),
        request: held.then(|| format!("r-{id}")),
        lease_until: held.then(|| NOW.plus_ms(60_000)),
        queued_at: NOW,
    }
}

fn timer(id: u64, token: &str) -> Timer {
    Timer {
        id,
        token: token.into(),
        state: "draft".into(),
        visit: 1,
        event: "timeout".into(),
        payload: None,
        set_at: NOW,
        due_at: NOW.plus_ms(60_000),
        kind: TimerKind::Timeout,
    }
}

fn entry(token: &str, seq: u64) -> Change {
    let key = Some(format!("k-{seq}"));
    let (token, data) = (token.into(), Object::new());
    Change::Append(Entry { token, seq, at: NOW, kind: Kind::Paused, data, key, private: None })
}

fn held(token: &str) -> Held {
    Held {
        top: token.into(),
        arrival: 1,
        token: token.into(),
        event: "go".into(),
        payload: None,
        origin: None,
        context: Object::new(),
        schedules: Vec::new(),
    }
}

fn put(key: &str) -> Change {
    let cell = MemoryCell { key: key.into(), value: "1".into() };
    Change::PutMemory { token: "T-1".into(), state: "draft".into(), cell }
}

/// `size` tokens of every status, with tasks of every status, timers, a long ledger and many small memory cells.
fn filled(size: u64) -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("costs.db"), &Options { host: "test".into(), now: NOW }).unwrap();
    let mut writer = store.writer().unwrap();
    writer.begin().unwrap();
    for number in 1..=size {
        let id = format!("T-{number}");
        let status = if number == 1 { Status::Active } else { Status::ALL[(number % 5) as usize] };
        let context = "{}".into();
        writer
            .apply(&[
                Change::InsertToken { token: token(id.clone(), status, number as i64), context },
                Change::InsertTask(task(number, &id, TaskStatus::ALL[(number % 7) as usize])),
                // Each visit of a state leaves an ended task behind.
                Change::InsertTask(task(PAST + number, "T-1", TaskStatus::Done)),
                Change::InsertTimer(timer(number, &id)),
                entry("T-1", number),
                put(&format!("k-{number}")),
                Change::InsertHeld(held(&id)),
            ])
            .unwrap();
    }
    writer.commit(NOW).unwrap();
    drop(writer);
    (folder, store)
}

/// Runs an act on the connection that writes, takes it back, and counts SQLite's steps.
fn steps<T>(store: &SqliteStore, act: impl FnOnce(&Connection) -> Result<T, Broken>) -> u64 {
    let held = store.held.connection.lock().unwrap();
    let conn = held.as_ref().unwrap();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&count);
    let step = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        false
    };
    conn.progress_handler(1, Some(step)).unwrap();
    act(conn).during("count steps").unwrap();
    conn.progress_handler(0, None::<fn() -> bool>).unwrap();
    conn.execute_batch("ROLLBACK").unwrap();
    count.load(Ordering::Relaxed)
}

#[test]
fn no_verb_grows_with_the_database() {
    let ((_few, small), (_many, large)) = (filled(100), filled(3_000));
    let check = |what: &str, act: &dyn Fn(&Connection) -> Result<(), Broken>| {
        let (few, many) = (steps(&small, act), steps(&large, act));
        assert!(many <= few + few / 2 + 20, "{what}: {few} steps among 100 tokens, {many} among 3,000");
    };
    let load = |what: &str, wanted: Wanted| check(what, &|conn| load::load(conn, &wanted).map(drop));
    let token_9 = || Wanted { token: Some("T-9".into()), open: true, context: true, ..Wanted::default() };
    load("a start", Wanted { token: Some("new".into()), folded: true, ..token_9() });
    load("a fired event", Wanted { key: Some("k-9".into()), family: true, ..token_9() });
    // This one has a history that grows with the database.
    let token_1 = || Wanted { token: Some("T-1".into()), key: Some("k-9".into()), ..token_9() };
    load("an event of a token with a long history", token_1());
    let first = Wanted { members: vec!["T-1".into()], ..Wanted::default() };
    load("a member with a long history", first);
    load(
        "a family",
        Wanted {
            members: vec!["T-9".into(), "T-9.a.1.b".into()],
            contexts: vec!["T-9".into()],
            taken: vec!["t-9.a.1.b".into(), "t-9".into()],
            ..Wanted::default()
        },
    );
    // Every fifth token is paused.
    let token_6 = || Wanted { token: Some("T-6".into()), family: true, ..token_9() };
    load("an event to be held", token_6());
    load("a resume", Wanted { held: true, ..token_6() });
    load("a report", Wanted { task: Some(9), token: None, ..token_9() });
    load("a timer", Wanted { timer: Some(9), token: None, ..token_9() });
    load("a memory write", Wanted { task: Some(1), memory_key: Some("k-9".into()), ..Wanted::default() });

    let states = Some(vec![("orders".into(), "draft".into()), ("orders".into(), "review".into())]);
    let named = QueuedFilter { states, assigned: false };
    check("a claim", &|conn| find::queued_tasks(conn, &named, 2).map(drop));
    let any = QueuedFilter { states: None, assigned: false };
    check("a claim of any state", &|conn| find::queued_tasks(conn, &any, 2).map(drop));
    check("a repeated claim", &|conn| find::tasks_of_request(conn, "vm", "r-9").map(drop));
    let start = Incarnation { folder: "f".into(), start: 2 };
    check("a new start", &|conn| find::tasks_of_other_starts(conn, "vm", &start).map(drop));
    check("leases", &|conn| find::expired_leases(conn, NOW, 100).map(drop));
    check("timers", &|conn| find::due_timers(conn, NOW, 100).map(drop));
    check("the next instant", &|conn| find::next_due(conn).map(drop));

    let changes = [
        Change::UpdateToken(token("T-9".into(), Status::Completed, 1)),
        Change::UpdateTask(task(9, "T-9", TaskStatus::Claimed)),
        Change::UpdateTask(task(9, "T-9", TaskStatus::Done)),
        Change::InsertTask(task(2 * PAST, "T-9", TaskStatus::Queued)),
        Change::InsertTimer(timer(100_000, "T-9")),
        Change::UpdateTimer(timer(9, "T-9")),
        Change::DeleteTimer(9),
        Change::InsertHeld(Held { arrival: 2, ..held("T-6") }),
        Change::DeleteHeld { top: "T-6".into(), arrival: 1 },
        Change::PutContext { token: "T-9".into(), context: "{}".into() },
        put("k-9"),
        entry("T-1", 100_000),
    ];
    for change in &changes {
        check(&apply::doing(change), &|conn| apply::apply(conn, change));
    }
}

/// Every listing costs the same beside a hundred rows and beside thousands, on its first page and in the middle.
#[test]
fn no_page_grows_with_the_database() {
    let ((_few, small), (_many, large)) = (filled(100), filled(3_000));
    let check = |what: &str, at: i64, act: &dyn Fn(&Connection, i64) -> Result<(), Broken>| {
        let few = steps(&small, |conn| act(conn, at.min(50)));
        let many = steps(&large, |conn| act(conn, at));
        assert!(many <= few + few / 2 + 20, "{what}: {few} steps among 100 rows, {many} among 3,000");
    };
    let text = |text: &str| Some(text.to_owned());
    let plain = || TokenFilter::newest(5);
    let filters = [
        plain(),
        TokenFilter { status: Some(Status::Failed), ..plain() },
        TokenFilter { parent: text("parent"), ..plain() },
        TokenFilter { workflow: text("orders"), ..plain() },
        TokenFilter { workflow: text("orders"), status: Some(Status::Failed), ..plain() },
        TokenFilter { workflow: text("orders"), state: text("draft"), ..plain() },
        TokenFilter { prefix: text("T-"), ..plain() },
    ];
    for filter in filters {
        let page = |conn: &Connection, filter: &TokenFilter| listing::tokens(conn, filter).map(drop);
        check(&format!("first page of {filter:?}"), 0, &|conn, _| page(conn, &filter));
        check(&format!("a page of {filter:?}"), 1_500, &|conn, at| {
            let after = Some(TokenPlace { entered_at: NOW.plus_ms(at), id: format!("T-{at}") });
            page(conn, &TokenFilter { after, ..filter.clone() })
        });
    }

    let open: Vec<TaskStatus> = TaskStatus::ALL.into_iter().filter(|status| status.is_open()).collect();
    let tasks = |statuses: &[TaskStatus]| TaskFilter {
        statuses: statuses.to_vec(),
        workflow: None,
        state: None,
        token: None,
        supervisor: None,
        unserved: None,
        after: 0,
        limit: 5,
    };
    let filters = [
        tasks(&open),
        tasks(&TaskStatus::ALL),
        tasks(&[TaskStatus::Waiting]),
        TaskFilter { workflow: text("orders"), state: text("review"), ..tasks(&open) },
        TaskFilter { token: text("T-9"), ..tasks(&open) },
        TaskFilter { token: text("T-9"), ..tasks(&TaskStatus::ALL) },
        TaskFilter { unserved: Some(Vec::new()), ..tasks(&[TaskStatus::Queued]) },
    ];
    for filter in filters {
        check(&format!("a page of {filter:?}"), 1_500, &|conn, at| {
            let after = at.unsigned_abs();
            listing::tasks(conn, &TaskFilter { after, ..filter.clone() }).map(drop)
        });
    }
    check("a task", 0, &|conn, _| listing::task(conn, 9).map(drop));
}

/// A filter that no index serves looks at so many rows and no more; the page says where to go on.
#[test]
fn a_filter_without_an_index_is_bounded() {
    let (_folder, store) = filled(11_000);
    let held = store.held.connection.lock().unwrap();
    let conn = held.as_ref().unwrap();
    let filter =
        TokenFilter { prefix: Some("T-".into()), state: Some("nowhere".into()), ..TokenFilter::newest(5) };
    let page = listing::tokens(conn, &filter).unwrap_or_default();
    assert!(page.tokens.is_empty());
    let next = page.next.unwrap();
    let page = listing::tokens(conn, &TokenFilter { after: Some(next), ..filter }).unwrap_or_default();
    assert_eq!((page.tokens.len(), page.next), (0, None));
}
