//! How many changes a second this store writes, by the size of a batch, and what a page of a listing costs beside a
//! million tokens. Run it alone, on a quiet machine:
//! `cargo test --release -p stateous-store-sqlite --test measure -- --ignored --nocapture`.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::time::{Duration, Instant};

use stateous_engine::Timestamp;
use stateous_engine::change::Change;
use stateous_engine::json::{Object, parse_stored};
use stateous_engine::loaded::Wanted;
use stateous_engine::model::{Entry, EventRecord, Kind, Status, Task, TaskStatus, Timer, TimerKind, Token};
use stateous_store::{QueuedFilter, Store, TokenFilter, TokenPlace, Writer};
use stateous_store_sqlite::Options;

const NOW: Timestamp = Timestamp(1_795_950_988_123);
/// How long each figure is measured.
const SPAN: Duration = Duration::from_secs(4);

#[test]
#[ignore = "a measurement, not a check"]
fn changes_per_second() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let options = Options { host: "test".to_owned(), now: NOW };
    let store = stateous_store_sqlite::open(&folder.path().join("measure.db"), &options).unwrap();
    let mut writer = store.writer().unwrap();
    let mut number = 0;
    println!("{:>22}  {:>10}  {:>13}", "changes a commit", "per second", "p99 of commit");
    // The first figure is that of a WAL which still grows; every later one overwrites it.
    for batch in [1, 1000, 100, 10, 1] {
        let starts = measure(&mut *writer, batch, |writer| {
            number += 1;
            start(writer, number);
        });
        println!("{}", line(batch, "starts", starts));
        println!("{}", line(batch, "cycles", measure(&mut *writer, batch, claim_and_move)));
    }
    drop(writer);
    let size = |name: &str| std::fs::metadata(folder.path().join(name)).map_or(0, |m| m.len() >> 20);
    println!("{number} tokens; the database has {} MiB", size("measure.db"));
}

/// Tokens of the listing.
const LISTED: i64 = 1_000_000;

#[test]
#[ignore = "a measurement, not a check"]
fn pages_of_a_million_tokens() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let options = Options { host: "test".to_owned(), now: NOW };
    let store = stateous_store_sqlite::open(&folder.path().join("listing.db"), &options).unwrap();
    let mut writer = store.writer().unwrap();
    for batch in 0..LISTED / 10_000 {
        writer.begin().unwrap();
        for number in batch * 10_000..(batch + 1) * 10_000 {
            writer.apply(&[listed(number)]).unwrap();
        }
        writer.commit(NOW).unwrap();
    }
    let reader = store.reader();
    let at =
        |number: i64| Some(TokenPlace { entered_at: NOW.plus_ms(number), id: format!("ORDER-{number:07}") });
    let plain = TokenFilter::newest(100);
    let failed = TokenFilter { status: Some(Status::Failed), ..plain.clone() };
    let workflow = TokenFilter { workflow: Some("orders".to_owned()), ..plain.clone() };
    let state = TokenFilter { state: Some("draft".to_owned()), ..workflow.clone() };
    let prefix = TokenFilter { prefix: Some("order-0".to_owned()), ..plain.clone() };
    println!("{:>10}  {:>12}  {:>12}  {:>12}", "ms a page", "the first", "the middle", "the last");
    for (name, filter) in
        [("all", plain), ("failed", failed), ("workflow", workflow), ("state", state), ("prefix", prefix)]
    {
        // By id the lowest comes first, by entry the newest.
        let ends = if name == "prefix" { [0, LISTED / 2, LISTED - 300] } else { [LISTED, LISTED / 2, 300] };
        let times = ends.map(|number| {
            let filter = TokenFilter { after: at(number), ..filter.clone() };
            let began = Instant::now();
            for _ in 0..20 {
                assert!(!reader.tokens(&filter).unwrap().tokens.is_empty());
            }
            began.elapsed().as_secs_f64() * 1000.0 / 20.0
        });
        println!("{name:>10}  {:>12.2}  {:>12.2}  {:>12.2}", times[0], times[1], times[2]);
    }
}

/// A token that ended or lives, in one of three states.
fn listed(number: i64) -> Change {
    let state = ["draft", "review", "paid"][number as usize % 3].to_owned();
    let status = Status::ALL[number as usize % 5];
    let token = Token {
        id: format!("ORDER-{number:07}"),
        workflow: "orders".to_owned(),
        structure: format!("sha256:{}", "a".repeat(64)),
        state,
        status,
        visit: 1,
        started_at: NOW,
        entered_at: NOW.plus_ms(number),
        paused_at: None,
        parent: None,
        seq: 5,
        visits: [("draft".to_owned(), 1)].into(),
        counts: [("__started__".to_owned(), 1)].into(),
        entered_by: EventRecord { name: "__started__".to_owned(), payload: None },
        ended_by: None,
    };
    Change::InsertToken { token, context: r#"{"title":"first order"}"#.into() }
}

fn line(batch: u32, what: &str, (rate, p99): (f64, Duration)) -> String {
    format!("{batch:>15} {what}  {rate:>10.0}  {:>10.2} ms", p99.as_secs_f64() * 1000.0)
}

/// How often a second `act` runs, `batch` times a transaction, and the time that 99 of 100 transactions end in.
fn measure(writer: &mut dyn Writer, batch: u32, mut act: impl FnMut(&mut dyn Writer)) -> (f64, Duration) {
    let began = Instant::now();
    let mut times = Vec::new();
    while began.elapsed() < SPAN {
        let start = Instant::now();
        writer.begin().unwrap();
        (0..batch).for_each(|_| act(writer));
        writer.commit(NOW).unwrap();
        times.push(start.elapsed());
    }
    let rate = times.len() as f64 * f64::from(batch) / began.elapsed().as_secs_f64();
    times.sort_unstable();
    (rate, times[times.len() * 99 / 100])
}

fn append(token: &str, seq: u64, kind: Kind, data: &str) -> Change {
    let data: Object = parse_stored(data).unwrap();
    Change::Append(Entry { token: token.to_owned(), seq, at: NOW, kind, data, key: None, private: None })
}

/// What the engine decides for a start: five entries, a task, a timeout.
fn start(writer: &mut dyn Writer, number: u64) {
    let id = format!("ORDER-{number}");
    let wanted = Wanted { token: Some(id.clone()), context: true, folded: true, ..Wanted::default() };
    let loaded = writer.load(&wanted).unwrap();
    assert!(loaded.member.is_none() && loaded.folded.is_none());
    let token = Token {
        id: id.clone(),
        workflow: "orders".to_owned(),
        structure: format!("sha256:{}", "a".repeat(64)),
        state: "draft".to_owned(),
        status: Status::Active,
        visit: 1,
        started_at: NOW,
        entered_at: NOW,
        paused_at: None,
        parent: None,
        seq: 5,
        visits: [("draft".to_owned(), 1)].into(),
        counts: [("__started__".to_owned(), 1)].into(),
        entered_by: EventRecord { name: "__started__".to_owned(), payload: None },
        ended_by: None,
    };
    let (task, timer) = (task(loaded.next_task, &id), timer(loaded.next_timer, &id));
    let changes = [
        Change::InsertToken { token, context: r#"{"title":"first order"}"#.into() },
        append(&id, 1, Kind::Started, r#"{"context":{"title":"first order"}}"#),
        append(&id, 2, Kind::EventAccepted, r#"{"event":"__started__","payload":null,"state":"__start__"}"#),
        append(&id, 3, Kind::Entered, r#"{"state":"draft","visit":1}"#),
        append(&id, 4, Kind::TaskQueued, r#"{"task":1,"state":"draft"}"#),
        append(&id, 5, Kind::TimerSet, r#"{"event":"timeout","due_at":"2026-11-29T17:16:28.123000Z"}"#),
        Change::InsertTask(task),
        Change::InsertTimer(timer),
    ];
    writer.apply(&changes).unwrap();
}

/// What a supervisor's work on one task writes: claim, started, and an event that moves the token to its next state.
fn claim_and_move(writer: &mut dyn Writer) {
    let states = Some(vec![("orders".to_owned(), "draft".to_owned())]);
    let id = writer.queued_tasks(&QueuedFilter { states, assigned: false }, 1).unwrap()[0];
    let wanted = Wanted { task: Some(id), context: true, open: true, memory: true, ..Wanted::default() };
    let loaded = writer.load(&wanted).unwrap();
    let (member, queued) = (loaded.member.unwrap(), loaded.task.unwrap());
    let name = member.token.id.clone();
    let mut seq = member.token.seq;
    let mut next = |kind: Kind, data: &str| {
        seq += 1;
        (Token { seq, ..member.token.clone() }, append(&name, seq, kind, data))
    };
    let held = Task {
        status: TaskStatus::Claimed,
        attempt: queued.attempt + 1,
        claimed_by: Some("vm".to_owned()),
        request: Some("r-1".to_owned()),
        lease_until: Some(NOW.plus_ms(120_000)),
        ..queued
    };
    let (token, entry) = next(Kind::TaskClaimed, r#"{"task":1,"supervisor":"vm","attempt":1}"#);
    writer.apply(&[Change::UpdateToken(token), entry, Change::UpdateTask(held.clone())]).unwrap();

    let loaded = writer.load(&Wanted { task: Some(id), ..Wanted::default() }).unwrap();
    assert!(loaded.task.is_some());
    let started = Task { status: TaskStatus::Started, ..held };
    let (token, entry) = next(Kind::TaskStarted, r#"{"task":1,"attempt":1}"#);
    writer.apply(&[Change::UpdateToken(token), entry, Change::UpdateTask(started.clone())]).unwrap();

    let wanted = Wanted { task: Some(id), context: true, open: true, ..Wanted::default() };
    let loaded = writer.load(&wanted).unwrap();
    let accepted = next(Kind::EventAccepted, r#"{"event":"submitted","payload":null,"state":"draft"}"#).1;
    let done = next(Kind::TaskDone, r#"{"task":1}"#).1;
    let entered = next(Kind::Entered, r#"{"state":"draft","visit":2}"#).1;
    let queued = next(Kind::TaskQueued, r#"{"task":2,"state":"draft"}"#).1;
    let (token, set) = next(Kind::TimerSet, r#"{"event":"timeout","due_at":"2026-11-29T17:16:28.123000Z"}"#);
    let mut changes = vec![
        Change::UpdateToken(Token { visit: token.visit + 1, entered_at: NOW.plus_ms(1), ..token }),
        accepted,
        Change::UpdateTask(Task { status: TaskStatus::Done, lease_until: None, ..started }),
        done,
    ];
    changes.extend(member.timers.iter().map(|timer| Change::DeleteTimer(timer.id)));
    changes.extend([
        entered,
        Change::InsertTask(task(loaded.next_task, &name)),
        queued,
        Change::InsertTimer(timer(loaded.next_timer, &name)),
        set,
    ]);
    writer.apply(&changes).unwrap();
}

fn task(id: u64, token: &str) -> Task {
    Task {
        id,
        token: token.to_owned(),
        workflow: "orders".to_owned(),
        state: "draft".to_owned(),
        visit: 1,
        status: TaskStatus::Queued,
        attempt: 0,
        failures: 0,
        claimed_by: None,
        request: None,
        lease_until: None,
        queued_at: NOW,
    }
}

fn timer(id: u64, token: &str) -> Timer {
    Timer {
        id,
        token: token.to_owned(),
        state: "draft".to_owned(),
        visit: 1,
        event: "timeout".to_owned(),
        payload: None,
        set_at: NOW,
        due_at: NOW.plus_ms(3_600_000),
        kind: TimerKind::Timeout,
    }
}
