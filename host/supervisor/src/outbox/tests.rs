//! The outbox against a real disk, in this process and in one that is killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::*;

fn note(task: u64, text: &str) -> NewMessage {
    let (token, body) = (format!("T-{task}"), Arc::from(text));
    NewMessage { task, attempt: 1, token, kind: Kind::Note, body, created_at_ms: 1_795_950_988_123 }
}

fn bodies(left: &Left) -> Vec<&str> {
    left.messages.iter().map(|message| &*message.new.body).collect()
}

fn raw(folder: &Path) -> Connection {
    Connection::open(folder.join(STATE_FOLDER).join("outbox.db")).unwrap()
}

#[tokio::test]
async fn a_message_comes_back_as_it_was_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, first) = Outbox::open(folder.path(), "f-1").unwrap();
    let written = outbox.put(note(1, "{\"text\":\"ü \\u0000 \"}")).await.unwrap();
    outbox.close().await;

    let (outbox, second) = Outbox::open(folder.path(), "f-2").unwrap();
    assert_eq!(outbox.left().await.unwrap().messages, [written]);
    assert_eq!((&*first.folder, first.starts), ("f-1", 1));
    assert_eq!((&*second.folder, second.starts), ("f-1", 2), "the folder keeps its id");
}

#[tokio::test]
async fn writers_share_commits_and_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for task in 1..=20 {
        let outbox = outbox.clone();
        writers.spawn(async move {
            for n in 0..50 {
                outbox.put(note(task, &n.to_string())).await.unwrap();
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let left = outbox.left().await.unwrap();
    assert_eq!(left.messages.len(), 1000);
    for task in 1..=20 {
        let of_task: Vec<_> = left.messages.iter().filter(|m| m.new.task == task).collect();
        let order: Vec<u32> = of_task.iter().map(|m| m.new.body.parse().unwrap()).collect();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn deletes_are_durable_once_the_outbox_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    let gone = outbox.put(note(1, "gone")).await.unwrap();
    outbox.put(note(1, "kept")).await.unwrap();
    outbox.put(note(2, "also gone")).await.unwrap();
    outbox.delete(gone.id);
    outbox.delete_attempt(2, 1);
    outbox.close().await;
    assert!(matches!(outbox.put(note(1, "late")).await, Err(OutboxError::Closed)));

    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    assert_eq!(bodies(&outbox.left().await.unwrap()), ["kept"]);
}

#[tokio::test]
async fn a_replacement_takes_the_place_of_its_whole_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    for text in ["one", "two"] {
        outbox.put(note(1, text)).await.unwrap();
    }
    outbox.put(note(2, "another task")).await.unwrap();
    outbox.replace_attempt(note(1, "instead")).await.unwrap();
    assert_eq!(bodies(&outbox.left().await.unwrap()), ["another task", "instead"]);
}

#[tokio::test]
async fn damaged_rows_are_named_and_the_rest_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    for text in ["one", "two", "three", "four"] {
        outbox.put(note(1, text)).await.unwrap();
    }
    outbox.close().await;
    raw(folder.path()).execute("UPDATE messages SET body = 'twp' WHERE id = 2", []).unwrap();
    raw(folder.path()).execute("UPDATE messages SET task = 7 WHERE id = 3", []).unwrap();

    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    let left = outbox.left().await.unwrap();
    assert_eq!(bodies(&left), ["one", "four"]);
    assert_eq!(left.damaged.iter().map(|row| row.id).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(left.damaged[0].of, Some((1, 1, "T-1".to_owned())));
    outbox.park(left.damaged);
    let left = outbox.left().await.unwrap();
    assert_eq!(bodies(&left), ["one", "four"]);
    assert_eq!(left.damaged, [], "they are named once");
    assert_eq!((outbox.parked(), outbox.size().messages), (2, 2));
    outbox.close().await;
    let why: String = raw(folder.path())
        .query_row("SELECT why || ': ' || body FROM parked WHERE id = 2", [], |row| row.get(0))
        .unwrap();
    assert_eq!(why, "its checksum does not match: twp");
}

#[tokio::test]
async fn what_waits_is_bounded_and_a_report_still_finds_room() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _) = Outbox::open_within(folder.path(), "f", 1000).unwrap();
    let first = outbox.put(note(1, &"x".repeat(600))).await.unwrap();
    let crowded = outbox.put(note(1, &"x".repeat(401))).await.unwrap_err();
    assert!(matches!(crowded, OutboxError::Crowded { bytes: 600, most: 1000 }), "{crowded}");
    outbox.put(note(1, &"x".repeat(400))).await.unwrap();
    let report = NewMessage { kind: Kind::Report, ..note(1, &"x".repeat(250)) };
    outbox.put(report).await.unwrap();
    assert_eq!(outbox.size(), Size { messages: 3, bytes: 1250 });
    outbox.delete(first.id);
    outbox.put(note(1, "")).await.unwrap();
    assert_eq!(outbox.size(), Size { messages: 3, bytes: 650 });
    outbox.close().await;
    let (outbox, _) = Outbox::open_within(folder.path(), "f", 1000).unwrap();
    assert_eq!(outbox.size(), Size { messages: 3, bytes: 650 }, "it is counted anew at each start");
    outbox.put(note(1, &"x".repeat(350))).await.unwrap();
}

#[tokio::test]
async fn an_outbox_of_the_first_layout_is_read_on() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    outbox.put(note(1, "kept")).await.unwrap();
    outbox.close().await;
    raw(folder.path()).execute_batch("DROP TABLE parked; PRAGMA user_version = 1").unwrap();
    let (outbox, second) = Outbox::open(folder.path(), "f").unwrap();
    assert_eq!((bodies(&outbox.left().await.unwrap()), second.starts), (vec!["kept"], 2));
    assert_eq!(outbox.parked(), 0);
}

#[tokio::test]
async fn a_full_disk_is_told_apart_and_spoils_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    let first = outbox.put(note(1, "small")).await.unwrap();
    outbox.close().await;

    let home = folder.path().join(STATE_FOLDER);
    let lock = FolderLock::take(&home.join("outbox.lock")).unwrap();
    let (db, _) = prepare(&home.join("outbox.db"), "f").unwrap();
    db.pragma_update(None, "max_page_count", 8).unwrap();
    let (jobs, inbox) = mpsc::channel();
    let writer = Writer::new(db, lock, BYTES_MAX).unwrap();
    let outbox = Outbox { jobs, gauge: Arc::clone(&writer.gauge) };
    let large = "x".repeat(100_000);
    // All three are queued before the thread runs, so they share a batch.
    let (one, two, three, ()) = tokio::join!(
        biased;
        outbox.put(note(1, "a")),
        outbox.put(note(2, &large)),
        outbox.put(note(3, "c")),
        async { drop(std::thread::spawn(move || writer.run(&inbox))) },
    );
    assert!(one.is_ok() && three.is_ok());
    assert!(matches!(two, Err(OutboxError::Full)), "{two:?}");
    outbox.delete(first.id);
    assert_eq!(bodies(&outbox.left().await.unwrap()), ["a", "c"]);
}

#[tokio::test]
async fn a_second_supervisor_on_the_folder_is_told_who_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    let error = Outbox::open(folder.path(), "f").unwrap_err().to_string();
    let (path, pid) = (folder.path().display(), std::process::id());
    let wanted = format!("another supervisor runs on {path} (pid {pid}): stop it, or use another folder");
    assert_eq!(error, wanted);
    outbox.close().await;
    Outbox::open(folder.path(), "f").unwrap();
}

#[tokio::test]
async fn files_of_others_are_refused_and_left_alone() {
    let check = |sql: &str, wanted: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(STATE_FOLDER)).unwrap();
        raw(folder.path()).execute_batch(sql).unwrap();
        let file = folder.path().join(STATE_FOLDER).join("outbox.db");
        let before = std::fs::read(&file).unwrap();
        match Outbox::open(folder.path(), "f") {
            Ok(_) => return assert_eq!(wanted, ""),
            Err(error) => assert!(!wanted.is_empty() && error.to_string().contains(wanted), "{error}"),
        }
        assert_eq!(std::fs::read(&file).unwrap(), before, "it was not touched");
    };
    let theirs = "CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, task INTEGER, body TEXT);";
    check(theirs, "");
    check(&format!("{theirs} INSERT INTO messages (task) VALUES (1);"), "left 1 unsent message(s)");
    check("CREATE TABLE cats (id INTEGER PRIMARY KEY)", "another program");
    check("PRAGMA user_version = 3", "a newer version of stateous");

    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join(STATE_FOLDER)).unwrap();
    std::fs::write(folder.path().join(STATE_FOLDER).join("outbox.db"), [7; 8192]).unwrap();
    let error = Outbox::open(folder.path(), "f").unwrap_err().to_string();
    assert!(error.contains("not a database") && error.contains("move the file away"), "{error}");
}

const CHILD: &str = "STATEOUS_TEST_OUTBOX_CHILD";

/// The body of a process that is killed: it says each number once the message is promised to be durable.
#[tokio::test]
async fn child_that_writes_until_it_is_killed() {
    let Ok(folder) = std::env::var(CHILD) else { return };
    let (outbox, _) = Outbox::open(Path::new(&folder), "f").unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for task in 1..=4 {
        let outbox = outbox.clone();
        writers.spawn(async move {
            for n in 0.. {
                outbox.put(note(task, &n.to_string())).await.unwrap();
                writeln!(std::io::stderr(), "durable {task} {n}").unwrap();
            }
        });
    }
    writers.join_next().await;
}

#[tokio::test]
async fn nothing_that_was_promised_is_lost_when_the_process_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    for round in 1..=5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "outbox::tests::child_that_writes_until_it_is_killed", "--nocapture"])
            .env(CHILD, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut promised = Vec::new();
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            // The kill can cut a line off: that one promises nothing yet.
            let said = line.strip_suffix('\n').and_then(|line| line.strip_prefix("durable "));
            promised.extend(said.map(str::to_owned));
            line.clear();
            if promised.len() == 40 * round {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(promised.len() >= 40 * round);

        let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
        let left = outbox.left().await.unwrap();
        assert_eq!(left.damaged, []);
        let kept: std::collections::HashSet<String> =
            left.messages.iter().map(|m| format!("{} {}", m.new.task, m.new.body)).collect();
        for said in &promised {
            assert!(kept.contains(said), "{said} was promised and is not there");
        }
        for task in 1..=4 {
            outbox.delete_attempt(task, 1);
        }
        outbox.close().await;
    }
}
