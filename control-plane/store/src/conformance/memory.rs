//! A routine's memory: cells, and how many bytes they hold.

use stateous_engine::change::Change;
use stateous_engine::loaded::{Loaded, Wanted};
use stateous_engine::model::{MemoryCell, Task};

use super::Harness;
use super::db::{Db, all_of_task};
use super::samples::{insert, memory, task, token};

/// Two tokens, with a task each in `draft`, and one more of the first in `review`.
fn open(harness: &dyn Harness) -> Db<'_> {
    let mut db = Db::open(harness);
    db.write(&[
        insert(token("t-1")),
        insert(token("t-2")),
        Change::InsertTask(task(1, "t-1")),
        Change::InsertTask(task(2, "t-2")),
        Change::InsertTask(Task { state: "review".to_owned(), ..task(3, "t-1") }),
    ]);
    db
}

fn cells(db: &mut Db<'_>, task: u64) -> Vec<(String, String)> {
    let cells = db.load(&all_of_task(task)).memory;
    cells.into_iter().map(|MemoryCell { key, value }| (key, value.as_ref().to_owned())).collect()
}

fn delete(token: &str, key: &str) -> Change {
    Change::DeleteMemory { token: token.to_owned(), state: "draft".to_owned(), key: key.to_owned() }
}

/// Each (token, state) has its own, by key; a key has one value.
pub fn cells_come_back_by_key(harness: &dyn Harness) {
    let mut db = open(harness);
    db.write(&[
        memory("t-1", "b", "1"),
        memory("t-1", "é", r#"{"z":[1.0]}"#),
        memory("t-1", "B", "\"x\""),
        memory("t-2", "b", "false"),
        memory("t-1", "b", "2"),
    ]);
    let expected = [("B", "\"x\""), ("b", "2"), ("é", r#"{"z":[1.0]}"#)];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(cells(&mut db, 1), expected);
    assert_eq!(cells(&mut db, 2), [("b".to_owned(), "false".to_owned())]);
    assert!(cells(&mut db, 3).is_empty());
    // To delete what is not there changes nothing.
    db.write(&[delete("t-1", "b"), delete("t-1", "b"), delete("t-1", "nothing")]);
    assert_eq!(cells(&mut db, 1).len(), 2);
    assert_eq!(cells(&mut db, 2).len(), 1);
}

/// Bytes, not characters, of keys and values, but for the cell that is to be written.
pub fn bytes_are_counted(harness: &dyn Harness) {
    let mut db = open(harness);
    let look = |db: &mut Db<'_>, key: &str| {
        let wanted = Wanted { task: Some(1), memory_key: Some(key.to_owned()), ..Wanted::default() };
        let Loaded { memory_key_exists, memory_bytes_of_others, .. } = db.load(&wanted);
        (memory_key_exists, memory_bytes_of_others)
    };
    assert_eq!(look(&mut db, "é"), (false, 0));
    db.write(&[memory("t-1", "é", "\"ü\""), memory("t-1", "k", "12345"), memory("t-2", "k", "1")]);
    assert_eq!(look(&mut db, "é"), (true, 6));
    assert_eq!(look(&mut db, "k"), (true, 6));
    assert_eq!(look(&mut db, "new"), (false, 12));
    db.write(&[memory("t-1", "é", "1"), memory("t-1", "k", &"7".repeat(1 << 20))]);
    assert_eq!(look(&mut db, "é"), (true, 1 + (1 << 20)));
    assert_eq!(look(&mut db, "k"), (true, 3));
    db.write(&[delete("t-1", "k"), delete("t-1", "k")]);
    assert_eq!(look(&mut db, "k"), (false, 3));
    db.reopen();
    assert_eq!(look(&mut db, "k"), (false, 3));
    db.write(&[Change::DeleteAllMemory { token: "t-1".to_owned() }, memory("t-1", "k", "1")]);
    assert_eq!(look(&mut db, "é"), (false, 2));
}

/// In none of its states; other tokens keep theirs.
pub fn an_ended_token_has_no_memory(harness: &dyn Harness) {
    let mut db = open(harness);
    let cell = MemoryCell { key: "k".to_owned(), value: "1".into() };
    db.write(&[
        memory("t-1", "k", "1"),
        Change::PutMemory { token: "t-1".to_owned(), state: "review".to_owned(), cell },
        memory("t-2", "k", "1"),
    ]);
    assert_eq!(cells(&mut db, 3).len(), 1);
    db.write(&[Change::DeleteAllMemory { token: "t-1".to_owned() }]);
    assert!(cells(&mut db, 1).is_empty() && cells(&mut db, 3).is_empty());
    assert_eq!(cells(&mut db, 2).len(), 1);
}
