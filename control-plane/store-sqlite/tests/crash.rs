//! `kill -9` at any moment loses nothing that was committed, and leaves nothing by halves.
//!
//! The test starts itself again as a child, which commits numbered changes and prints each number once it is durable.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use stateous_engine::Timestamp;
use stateous_engine::change::Change;
use stateous_engine::json::Object;
use stateous_engine::loaded::Wanted;
use stateous_engine::model::{
    Entry, EventRecord, Kind, MemoryCell, Status, Task, TaskStatus, Timer, TimerKind, Token,
};
use stateous_store::{Store, Writer};
use stateous_store_sqlite::{Options, SqliteStore};

/// Tells a process that it is the child, and where the database is.
const CHILD: &str = "STATEOUS_CRASH_TEST_DATABASE";
const ROUNDS: u64 = 20;
const NOW: Timestamp = Timestamp(1_795_950_988_123);

#[test]
fn nothing_that_was_committed_is_lost_to_sigkill() {
    if let Some(path) = std::env::var_os(CHILD) {
        commit_for_ever(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crash.db");
    let mut last = 0;
    for round in 0..ROUNDS {
        // Some rounds end while the child still opens the database, most after its first commit.
        let life = Duration::from_millis(round * 37 % 160);
        last = last.max(run_and_kill(&path, round % 4 != 0, life));
        // Every other round leaves the database as the killed process left it to the next one.
        if round % 2 == 1 {
            let found = check(&path);
            assert!(found >= last, "{last} was committed, {found} is there");
        }
    }
    assert!(last >= ROUNDS / 2, "only {last} changes were committed");
    let problems: String = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(problems, "ok");
}

/// Lets a child live for `life`, counted from its start or its first commit, kills it, and answers the last number that
/// it printed.
fn run_and_kill(path: &Path, from_first_commit: bool, life: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nothing_that_was_committed_is_lost_to_sigkill", "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (send, numbers) = channel();
    let reading = std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if let Some(number) = line.strip_prefix("committed ") {
                let _ = send.send(number.parse::<u64>().unwrap());
            }
        }
    });
    let mut last = if from_first_commit { numbers.recv().expect("the child commits") } else { 0 };
    let deadline = Instant::now() + life;
    loop {
        match numbers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(number) => last = number,
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => panic!("the child ended by itself"),
        }
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    reading.join().unwrap();
    numbers.try_iter().fold(last, u64::max)
}

fn open(path: &Path) -> (SqliteStore, Box<dyn Writer>) {
    // At once: the lock of a killed process holds nobody up.
    let options = Options { host: "test".to_owned(), now: NOW };
    let store = stateous_store_sqlite::open(path, &options).unwrap_or_else(|failure| panic!("{failure:?}"));
    let writer = store.writer().unwrap();
    (store, writer)
}

/// The child.
fn commit_for_ever(path: &Path) -> ! {
    let (_store, mut writer) = open(path);
    loop {
        writer.begin().unwrap();
        let mut number = 0;
        // Batches of different sizes.
        for _ in 0..1 + number_of_next(&mut *writer) % 5 {
            number = number_of_next(&mut *writer);
            writer.apply(&change(number)).unwrap();
        }
        writer.commit(NOW).unwrap();
        // One write: a line that is seen is whole.
        std::io::stdout().write_all(format!("committed {number}\n").as_bytes()).unwrap();
    }
}

fn number_of_next(writer: &mut dyn Writer) -> u64 {
    writer.load(&Wanted::default()).unwrap().next_task
}

/// Change `number`: what a start writes. Every fourth has a large context, so that checkpoints come in between.
fn change(number: u64) -> Vec<Change> {
    let id = format!("n-{number}");
    let state = "draft".to_owned();
    let token = Token {
        id: id.clone(),
        workflow: "orders".to_owned(),
        structure: "s".to_owned(),
        state: state.clone(),
        status: Status::Active,
        visit: 1,
        started_at: NOW,
        entered_at: NOW,
        paused_at: None,
        parent: None,
        seq: 3,
        visits: [(state.clone(), 1)].into(),
        counts: [].into(),
        entered_by: EventRecord { name: "__started__".to_owned(), payload: None },
        ended_by: None,
    };
    let task = Task {
        id: number,
        token: id.clone(),
        workflow: "orders".to_owned(),
        state: state.clone(),
        visit: 1,
        status: TaskStatus::Queued,
        attempt: 0,
        failures: 0,
        claimed_by: None,
        request: None,
        lease_until: None,
        queued_at: NOW,
    };
    let timer = Timer {
        id: number,
        token: id.clone(),
        state: state.clone(),
        visit: 1,
        event: "timeout".to_owned(),
        payload: None,
        set_at: NOW,
        due_at: NOW,
        kind: TimerKind::Timeout,
    };
    let size = if number.is_multiple_of(4) { 64 << 10 } else { 1 };
    let context = format!(r#"{{"x":"{}"}}"#, "x".repeat(size)).into();
    let entry = |seq: u64| {
        let (token, data) = (id.clone(), Object::new());
        Change::Append(Entry { token, seq, at: NOW, kind: Kind::Paused, data, key: None, private: None })
    };
    let cell = MemoryCell { key: "k".to_owned(), value: number.to_string().into() };
    vec![
        Change::InsertToken { token, context },
        entry(1),
        Change::InsertTask(task),
        entry(2),
        Change::InsertTimer(timer),
        Change::PutMemory { token: id.clone(), state, cell },
        entry(3),
    ]
}

/// Checks that every change which is there is there whole, without a gap, and answers how many there are.
fn check(path: &Path) -> u64 {
    let (store, mut writer) = open(path);
    writer.begin().unwrap();
    let count = number_of_next(&mut *writer) - 1;
    for number in 1..=count {
        let wanted =
            Wanted { task: Some(number), context: true, open: true, memory: true, ..Wanted::default() };
        let loaded = writer.load(&wanted).unwrap();
        let member = loaded.member.unwrap_or_else(|| panic!("token {number} of {count} is missing"));
        assert_eq!(member.token.id, format!("n-{number}"));
        assert!(member.context.len() > 5);
        assert_eq!((member.tasks.len(), member.timers.len(), loaded.memory.len()), (1, 1, 1));
        assert_eq!(store.reader().history(&member.token.id, 0, 9).unwrap().unwrap().len(), 3);
    }
    let next = writer.load(&Wanted { token: Some(format!("n-{}", count + 1)), ..Wanted::default() }).unwrap();
    assert!(next.member.is_none());
    count
}
