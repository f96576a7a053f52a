//! What a verb costs does not grow with the database: counted in rows and index entries that Postgres read, which is
//! exact where time is not.
//!
//! A walk over a table, or over an index that holds rows that are none of the question's business, shows at once. The
//! databases are looked at twice: as they were filled, when Postgres knows nothing about its tables yet, and after
//! `ANALYZE`.

use stateous_engine::Timestamp;
use stateous_engine::change::Change;
use stateous_engine::json::Object;
use stateous_engine::loaded::Wanted;
use stateous_engine::model::{
    Entry, EventRecord, Held, Kind, MemoryCell, Status, Task, TaskStatus, Timer, TimerKind, Token,
};
use stateous_private_postgres::Cluster;
use stateous_store::{Failure, QueuedFilter, Store, TaskFilter, TokenFilter, TokenPlace};

use crate::connection::Connection;
use crate::failure::{Broken, During};
use crate::pending::Pending;
use crate::rows::whole;
use crate::sql::params;
use crate::{Limits, Options, PostgresStore, apply, find, listing, load, open, sql};

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
fn filled(cluster: &Cluster, size: u64) -> PostgresStore {
    let options = Options { host: "test".into(), now: NOW, limits: Limits::default() };
    let store = open(&cluster.database(), &options).unwrap();
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
    store
}

/// Runs an act in a transaction, takes it back, and counts what Postgres read for it.
fn read_by(conn: &mut Connection, act: impl FnOnce(&mut Connection) -> Result<(), Failure>) -> u64 {
    const READ: &str = "SELECT sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))::bigint \
        FROM pg_class WHERE relnamespace = current_schema()::regnamespace";
    let read =
        |conn: &mut Connection| sql::first(conn, READ, params![], |row| whole(row, 0)).unwrap().unwrap();
    sql::script(conn, "BEGIN").unwrap();
    let before = read(conn);
    act(conn).unwrap();
    let after = read(conn);
    sql::script(conn, "ROLLBACK").unwrap();
    after - before
}

#[test]
fn no_verb_grows_with_the_database() {
    let Some(cluster) = Cluster::shared() else { return };
    let (small, large) = (filled(cluster, 100), filled(cluster, 3_000));
    let mut small = small.held.address.connect_to_write().unwrap();
    let mut large = large.held.address.connect_to_write().unwrap();
    compare(&mut small, &mut large);
    for conn in [&mut small, &mut large] {
        sql::script(conn, "ANALYZE").unwrap();
    }
    compare(&mut small, &mut large);
}

fn compare(small: &mut Connection, large: &mut Connection) {
    let mut checked = |what: &str, act: &dyn Fn(&mut Connection) -> Result<(), Failure>| {
        let (few, many) = (read_by(small, act), read_by(large, act));
        assert!(many <= few + few / 2 + 20, "{what}: {few} rows read among 100 tokens, {many} among 3,000");
    };
    let mut check = |what: &str, act: &dyn Fn(&mut Connection) -> Result<(), Broken>| {
        checked(what, &|conn| act(conn).during("count rows"));
    };
    let mut load = |what: &str, wanted: Wanted| check(what, &|conn| load::load(conn, &wanted).map(drop));
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
        let mut pending = Pending::default();
        assert!(pending.add(change));
        checked(&format!("{change:?}"), &|conn| apply::apply(conn, &pending));
    }
}

/// Every listing costs the same beside hundreds of rows and beside thousands, on its first page and in the middle.
#[test]
fn no_page_grows_with_the_database() {
    let Some(cluster) = Cluster::shared() else { return };
    let (small, large) = (filled(cluster, 600), filled(cluster, 6_000));
    let mut small = small.held.address.connect_to_write().unwrap();
    let mut large = large.held.address.connect_to_write().unwrap();
    compare_pages(&mut small, &mut large);
    for conn in [&mut small, &mut large] {
        sql::script(conn, "ANALYZE").unwrap();
    }
    compare_pages(&mut small, &mut large);
}

fn compare_pages(small: &mut Connection, large: &mut Connection) {
    let mut check = |what: &str, at: i64, act: &dyn Fn(&mut Connection, i64) -> Result<(), Broken>| {
        let few = read_by(small, |conn| act(conn, at.min(300)).during("count rows"));
        let many = read_by(large, |conn| act(conn, at).during("count rows"));
        assert!(many <= few + few / 2 + 20, "{what}: {few} rows read among 600, {many} among 6,000");
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
        let page = |conn: &mut Connection, filter: &TokenFilter| listing::tokens(conn, filter).map(drop);
        check(&format!("first page of {filter:?}"), 0, &|conn, _| page(conn, &filter));
        check(&format!("a page of {filter:?}"), 3_000, &|conn, at| {
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
        check(&format!("a page of {filter:?}"), 3_000, &|conn, at| {
            let after = at.unsigned_abs();
            listing::tasks(conn, &TaskFilter { after, ..filter.clone() }).map(drop)
        });
    }
    check("a task", 0, &|conn, _| listing::task(conn, 9).map(drop));
}

/// A filter that no index serves looks at so many rows and no more; the page says where to go on.
#[test]
fn a_filter_without_an_index_is_bounded() {
    let Some(cluster) = Cluster::shared() else { return };
    let store = filled(cluster, 11_000);
    let conn = &mut store.held.address.connect_to_write().unwrap();
    let filter =
        TokenFilter { prefix: Some("T-".into()), state: Some("nowhere".into()), ..TokenFilter::newest(5) };
    let page = listing::tokens(conn, &filter).unwrap_or_default();
    assert!(page.tokens.is_empty());
    let next = page.next.unwrap();
    let page = listing::tokens(conn, &TokenFilter { after: Some(next), ..filter }).unwrap_or_default();
    assert_eq!((page.tokens.len(), page.next), (0, None));
}
