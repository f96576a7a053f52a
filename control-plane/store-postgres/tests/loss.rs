//! What a database may do to us: it dies, freezes, closes connections, holds locks. What was committed stays, and once it
//! is back the control plane goes on by itself.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use stateous_engine::Timestamp;
use stateous_engine::change::Change;
use stateous_engine::json::Object;
use stateous_engine::loaded::Wanted;
use stateous_engine::model::{Entry, EventRecord, Kind, Status, Token};
use stateous_private_postgres::Cluster;
use stateous_store::{Failure, FailureKind, Store, Writer};
use stateous_store_postgres::{Limits, Options, PostgresStore};

const NOW: Timestamp = Timestamp(1_795_950_988_123);
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn limits() -> Limits {
    let second = Duration::from_secs(1);
    Limits { connect: second, statement: second, lock: second / 2, silence: 2 * second, ..Limits::default() }
}

fn open(url: &str) -> Result<PostgresStore, Failure> {
    let options = Options { host: "vm".to_owned(), now: NOW, limits: limits() };
    stateous_store_postgres::open(url, &options)
}

fn token(id: &str) -> Change {
    let token = Token {
        id: id.to_owned(),
        workflow: "orders".to_owned(),
        structure: "s".to_owned(),
        state: "draft".to_owned(),
        status: Status::Active,
        visit: 1,
        started_at: NOW,
        entered_at: NOW,
        paused_at: None,
        parent: None,
        seq: 0,
        visits: [("draft".to_owned(), 1)].into(),
        counts: [].into(),
        entered_by: EventRecord { name: "__started__".to_owned(), payload: None },
        ended_by: None,
    };
    Change::InsertToken { token, context: "{}".into() }
}

fn note(id: &str, seq: u64) -> Change {
    let (token, data) = (id.to_owned(), Object::new());
    Change::Append(Entry { token, seq, at: NOW, kind: Kind::Paused, data, key: None, private: None })
}

/// Writes in a transaction of its own. What fails is taken back.
fn write(writer: &mut dyn Writer, changes: &[Change]) -> Result<(), Failure> {
    let written = writer.begin().and_then(|()| writer.apply(changes)).and_then(|()| writer.commit(NOW));
    if written.is_err() {
        writer.rollback();
    }
    written
}

/// Tries until it works; what fails meanwhile is nobody's fault.
fn eventually<T>(mut act: impl FnMut() -> Result<T, Failure>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match act() {
            Ok(done) => return done,
            Err(failure) => {
                assert_eq!(failure.kind, FailureKind::Busy, "{failure:?}");
                assert!(Instant::now() < deadline, "{failure:?}");
                std::thread::yield_now();
            }
        }
    }
}

fn history(store: &dyn Store, id: &str) -> Result<usize, Failure> {
    Ok(store.reader().history(id, 0, 10_000)?.map_or(0, |entries| entries.len()))
}

/// An own cluster with a database in it, opened.
struct Bench {
    store: PostgresStore,
    writer: Box<dyn Writer>,
    url: String,
    /// Last: it ends after those that use it.
    cluster: Cluster,
}

impl Bench {
    fn start() -> Option<Self> {
        let cluster = Cluster::own()?;
        let url = cluster.database();
        let store = open(&url).unwrap();
        let mut writer = store.writer().unwrap();
        write(&mut *writer, &[token("t")]).unwrap();
        assert_eq!(history(&store, "t").unwrap(), 0);
        Some(Self { store, writer, url, cluster })
    }

    fn database(&self) -> &str {
        self.url.rsplit('/').next().unwrap()
    }

    /// Every session of ours but the one that asks.
    fn end_all_sessions(&self) {
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        assert_ne!(self.cluster.query(self.database(), end), "0");
    }
}

#[test]
fn what_was_committed_survives_sigkill_of_the_database() {
    let Some(mut bench) = Bench::start() else { return };
    let mut seq = 0;
    for round in 0..3 {
        for _ in 0..20 {
            seq += 1;
            write(&mut *bench.writer, &[note("t", seq)]).unwrap();
        }
        // In the last round with a transaction open, whose writes are lost.
        if round == 2 {
            bench.writer.begin().unwrap();
            bench.writer.apply(&[note("t", seq + 1)]).unwrap();
        }
        bench.cluster.kill();
        let failure = match round {
            2 => bench.writer.commit(NOW).unwrap_err(),
            _ => write(&mut *bench.writer, &[note("t", seq + 1)]).unwrap_err(),
        };
        bench.writer.rollback();
        assert_eq!(failure.kind, FailureKind::Busy, "{failure:?}");
        assert_eq!(history(&bench.store, "t").unwrap_err().kind, FailureKind::Busy);

        bench.cluster.start_again().unwrap();
        seq += 1;
        eventually(|| write(&mut *bench.writer, &[note("t", seq)]));
        assert_eq!(eventually(|| history(&bench.store, "t")), usize::try_from(seq).unwrap());
    }
    // The lock was taken again as well: by us, and so by nobody else.
    let is_held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted";
    while bench.cluster.query(bench.database(), is_held) != "1" {
        std::thread::yield_now();
    }
    assert_eq!(open(&bench.url).map(drop).unwrap_err().kind, FailureKind::NotServing);
}

#[test]
fn ids_are_not_given_again_after_a_loss() {
    let Some(mut bench) = Bench::start() else { return };
    let next = |writer: &mut dyn Writer| {
        writer.begin()?;
        let next = writer.load(&Wanted::default()).map(|loaded| loaded.next_task);
        writer.rollback();
        next
    };
    // Another hand counts on; the loss makes us look.
    assert_eq!(next(&mut *bench.writer).unwrap(), 1);
    bench.cluster.sql(bench.database(), "UPDATE control SET next_task = 100");
    bench.end_all_sessions();
    assert_eq!(eventually(|| next(&mut *bench.writer)), 100);
}

#[test]
fn a_connection_that_broke_unseen_costs_nothing() {
    let Some(mut bench) = Bench::start() else { return };
    for seq in 1..=3 {
        bench.end_all_sessions();
        // Not even a failure: nothing had been asked of the old connections.
        write(&mut *bench.writer, &[note("t", seq)]).unwrap();
        assert_eq!(history(&bench.store, "t").unwrap() as u64, seq);
    }
}

#[test]
fn a_frozen_database_is_given_up_within_its_limits() {
    let Some(mut bench) = Bench::start() else { return };
    let frozen = bench.cluster.freeze();
    let started = Instant::now();
    let failure = write(&mut *bench.writer, &[note("t", 1)]).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Busy, "{failure:?}");
    assert!(failure.message.contains("no answer for"), "{failure}");
    assert_eq!(history(&bench.store, "t").unwrap_err().kind, FailureKind::Busy);
    // A statement's limit and its grace, and a connection's.
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());

    drop(frozen);
    eventually(|| write(&mut *bench.writer, &[note("t", 1)]));
    assert_eq!(eventually(|| history(&bench.store, "t")), 1);
}

#[test]
fn somebody_elses_lock_is_waited_for_no_longer_than_its_limit() {
    let Some(mut bench) = Bench::start() else { return };
    let mut other = bench.cluster.program("psql");
    let other = other.args(["--no-psqlrc", "--quiet", &bench.url]).stdin(std::process::Stdio::piped());
    let mut other = other.stdout(std::process::Stdio::null()).spawn().unwrap();
    let lock = b"BEGIN; LOCK TABLE ledger IN EXCLUSIVE MODE;\n";
    std::io::Write::write_all(&mut other.stdin.as_ref().unwrap(), lock).unwrap();
    let is_locked =
        "SELECT count(*) FROM pg_locks WHERE mode = 'ExclusiveLock' AND relation = 'ledger'::regclass";
    while bench.cluster.query(bench.database(), is_locked) != "1" {}

    let failure = write(&mut *bench.writer, &[note("t", 1)]).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Busy, "{failure:?}");
    assert!(failure.message.contains("lock_timeout"), "{failure}");
    // Reads are not in its way.
    assert_eq!(history(&bench.store, "t").unwrap(), 0);

    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    write(&mut *bench.writer, &[note("t", 1)]).unwrap();
}

#[test]
fn a_statement_that_takes_too_long_is_ended() {
    let Some(mut bench) = Bench::start() else { return };
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN PERFORM pg_sleep(60); RETURN new; END'; \
        CREATE TRIGGER slow BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION slow()";
    bench.cluster.sql(bench.database(), slow);
    let failure = write(&mut *bench.writer, &[note("t", 1)]).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Busy, "{failure:?}");
    assert!(failure.message.contains("statement_timeout"), "{failure}");
    bench.cluster.sql(bench.database(), "DROP TRIGGER slow ON ledger");
    write(&mut *bench.writer, &[note("t", 1)]).unwrap();
}

#[test]
fn who_was_replaced_writes_nothing_any_more() {
    let Some(mut bench) = Bench::start() else { return };
    // Frozen in the middle of a transaction, as far as the database can tell.
    bench.writer.begin().unwrap();
    bench.writer.apply(&[note("t", 1)]).unwrap();
    // Its lock goes: the database heard nothing of it for too long.
    let holder = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'";
    let mut next = None;
    let next = loop {
        match next {
            Some(next) => break next,
            None => {
                bench.cluster.sql(bench.database(), holder);
                next = open(&bench.url).ok();
            }
        }
    };
    // Taking over waited for the end of that transaction, which Postgres brought about.
    let mut writer = next.writer().unwrap();
    write(&mut *writer, &[note("t", 1)]).unwrap();

    let failure = bench.writer.commit(NOW).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Busy, "{failure:?}");
    bench.writer.rollback();
    for _ in 0..3 {
        let failure = write(&mut *bench.writer, &[note("t", 2)]).unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotServing, "{failure:?}");
        assert!(failure.message.contains("took over"), "{failure}");
    }
    assert_eq!(history(&next, "t").unwrap(), 1);
    write(&mut *writer, &[note("t", 2)]).unwrap();
}

#[test]
fn two_that_race_for_a_database_are_one_that_serves() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = cluster.database();
    for round in 0..20 {
        let start = Arc::new(std::sync::Barrier::new(2));
        let racers = [0, 1].map(|_| {
            let (url, start) = (url.clone(), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                open(&url)
            })
        });
        let ends = racers.map(|racer| racer.join().unwrap());
        let lost: Vec<_> = ends.iter().filter_map(|end| end.as_ref().err()).collect();
        assert_eq!(lost.len(), 1, "round {round}: {lost:?}");
        assert_eq!(lost[0].kind, FailureKind::NotServing, "round {round}");
    }
}
