//! What is refused at the door, with which sentence, and that it is left as it was.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use stateous_engine::Timestamp;
use stateous_store::{Failure, FailureKind, Store};
use stateous_store_sqlite::{Options, SqliteStore};
use tempfile::TempDir;

/// When the tests open databases.
const NOW: Timestamp = Timestamp(1_795_950_988_123);

fn open(path: &Path) -> Result<SqliteStore, Failure> {
    stateous_store_sqlite::open(path, &Options { host: "vm".to_owned(), now: NOW })
}

/// A folder with a database of ours in it.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orders.db");
    drop(open(&path).unwrap());
    (folder, path)
}

/// Checks that a file is refused with a sentence that says `says`, and that not one byte of it changed.
fn check(path: &Path, says: &str) {
    let before = fs::read(path).ok();
    let Err(failure) = open(path) else { panic!("{} was opened; expected {says:?}", path.display()) };
    assert_eq!(failure.kind, FailureKind::Unusable, "{failure:?}");
    assert!(failure.message.contains(says), "{}", failure.message);
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(failure.message.contains(name), "{} does not name {name}", failure.message);
    assert!(!failure.message.contains('\n'));
    assert_eq!(fs::read(path).ok(), before, "a refused file was written");
}

#[test]
fn a_new_database_is_one_file() {
    let (folder, path) = folder();
    let names = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["orders.db", "orders.db.lock"]);
    // While it is served the WAL stands beside it; afterwards it is folded in, so that a copy of the file is a backup.
    let store = open(&path).unwrap();
    drop(store.writer().unwrap());
    store.reader().next_due().unwrap();
    assert!(names().len() > 2);
    drop(store);
    assert_eq!(names(), ["orders.db", "orders.db.lock"]);
    // An empty file is an empty database.
    let empty = folder.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    drop(open(&empty).unwrap());
    assert_eq!(&fs::read(&empty).unwrap()[..15], b"SQLite format 3");
}

#[test]
fn a_place_where_no_database_can_be() {
    let (folder, path) = folder();
    check(&folder.path().join("nowhere/x.db"), "does not exist; make it");
    check(folder.path(), "is not a file");
    check(&path.join("x.db"), "could not find the database");
    check(Path::new("/dev/null"), "is not a file");
}

#[test]
fn a_file_of_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    for text in ["x", "SQLite format 3", &"a long text\n".repeat(100)] {
        fs::write(&path, text).unwrap();
        check(&path, "is not an SQLite database");
    }
    // Looked at only, so not even a lock file stands beside it.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_database_of_another_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("photos.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE tokens (token TEXT)").unwrap();
    check(&path, "another program's SQLite database");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_newer_schema() {
    let (_folder, path) = folder();
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    check(&path, "schema version 99");

    // The same, in a WAL that was never folded in: its program was killed.
    let (_folder, path) = self::folder();
    let newer = Connection::open(&path).unwrap();
    newer.execute_batch("PRAGMA journal_mode = WAL; PRAGMA user_version = 99").unwrap();
    let copy = path.with_file_name("copy.db");
    let wal =
        |path: &Path| path.with_file_name(format!("{}-wal", path.file_name().unwrap().to_str().unwrap()));
    fs::copy(&path, &copy).unwrap();
    fs::copy(wal(&path), wal(&copy)).unwrap();
    let before = fs::read(wal(&copy)).unwrap();
    check(&copy, "schema version 99");
    assert_eq!(fs::read(wal(&copy)).unwrap(), before);
}

#[test]
fn tables_that_another_program_changed() {
    for change in [
        "DROP TABLE contexts",
        "DROP INDEX tasks_queued",
        "ALTER TABLE tasks ADD COLUMN color TEXT",
        "DELETE FROM migrations",
        "UPDATE migrations SET name = 'other'",
        "PRAGMA user_version = 0",
    ] {
        let (_folder, path) = folder();
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        check(&path, "are not those of schema version");
    }
    // A table or index of one's own does no harm.
    let (_folder, path) = folder();
    let mine = "CREATE INDEX mine ON ledger (at); CREATE TABLE notes_of_mine (x TEXT); ANALYZE";
    Connection::open(&path).unwrap().execute_batch(mine).unwrap();
    drop(open(&path).unwrap());
}

#[test]
fn a_damaged_file() {
    let damage = |change: &dyn Fn(&mut Vec<u8>)| {
        let (folder, path) = folder();
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
        (folder, path)
    };
    // The schema's page is noise.
    let (_folder, path) = damage(&|bytes| bytes[100..4096].fill(0xA5));
    check(&path, "is damaged; restore it from a backup");
    // The end is missing.
    let (_folder, path) = damage(&|bytes| bytes.truncate(3 * 4096));
    check(&path, "is damaged; restore it from a backup");
    // Every page but the schema's is empty.
    let (_folder, path) = damage(&|bytes| bytes[4 * 4096..].fill(0));
    check(&path, "is damaged; restore it from a backup");
}

#[test]
fn a_database_that_is_served_already() {
    let (folder, path) = folder();
    let store = open(&path).unwrap();
    let refused = |path: &Path| {
        let Err(failure) = open(path) else { panic!("{} is served twice", path.display()) };
        assert_eq!(failure.kind, FailureKind::NotServing);
        let holder = format!("(process {} on vm, since 2026-11-29T11:16:28.123000Z)", std::process::id());
        assert!(failure.message.contains(&holder), "{}", failure.message);
    };
    refused(&path);
    // By whatever name it goes.
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    refused(&link);
    refused(&folder.path().join("./../").join(folder.path().file_name().unwrap()).join("orders.db"));
    drop(store);
    drop(open(&link).unwrap());

    // A link to a file that is not there yet makes that file.
    let (ahead, target) = (folder.path().join("ahead.db"), folder.path().join("target.db"));
    std::os::unix::fs::symlink(&target, &ahead).unwrap();
    let store = open(&ahead).unwrap();
    assert!(open(&target).is_err());
    drop(store);

    // Two names of one file would be two locks.
    fs::hard_link(&path, folder.path().join("hard.db")).unwrap();
    check(&path, "has other names (hard links)");
}
