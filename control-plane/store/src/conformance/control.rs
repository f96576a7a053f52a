//! The control plane's own row.

use stateous_engine::Timestamp;
use stateous_engine::change::Change;
use stateous_engine::model::{Entry, Kind, Status, Token};

use super::Harness;
use super::db::{Db, NOW};
use super::samples::{entry, insert, note, token};
use crate::rows::ControlRow;

fn control(db: &mut Db<'_>) -> ControlRow {
    let writer = db.writer();
    writer.begin().unwrap();
    let row = writer.control().unwrap();
    writer.rollback();
    row
}

/// Its own, and always the same.
pub fn a_database_keeps_its_id(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let id = control(&mut db).database_id;
    assert!(id.len() >= 32, "{id}");
    db.write(&[insert(token("t-1"))]);
    db.reopen();
    assert_eq!(control(&mut db).database_id, id);
}

/// And the highest time of all, so that the clock never goes behind it.
pub fn the_time_of_the_last_commit_is_kept(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    assert_eq!((control(&mut db).alive_at, control(&mut db).latest), (Timestamp(0), Timestamp(0)));
    let mut commit = |at: i64, changes: &[Change]| {
        db.writer().begin().unwrap();
        db.writer().apply(changes).unwrap();
        db.writer().commit(NOW.plus_ms(at)).unwrap();
        let row = control(&mut db);
        (row.alive_at.ms_since(NOW), row.latest.ms_since(NOW))
    };
    assert_eq!(commit(0, &[insert(token("t-1"))]), (0, 0));
    assert_eq!(commit(1, &[note("t-1", 1)]), (1, 1));
    // Without changes it may be a little old, to save a write; never by a second.
    let (alive_at, latest) = commit(100_000, &[]);
    assert_eq!((alive_at, latest), (100_000, 100_000));
    let (alive_at, _) = commit(100_400, &[]);
    assert!((100_000..=100_400).contains(&alive_at));
    let (alive_at, _) = commit(101_001, &[]);
    assert!(alive_at > 100_000);
    let ahead = Entry { at: NOW.plus_ms(500_000), ..entry("t-1", 2, Kind::Paused, "{}") };
    assert_eq!(commit(200_000, &[Change::Append(ahead)]), (200_000, 500_000));
    db.reopen();
    assert_eq!(control(&mut db).alive_at, NOW.plus_ms(200_000));
    assert_eq!(control(&mut db).latest, NOW.plus_ms(500_000));
}

/// Structure and checksum of the default workflow.
pub fn the_graph_is_on_record(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let row = control(&mut db);
    assert_eq!((row.structure, row.checksum), (None, None));
    db.transact(|writer| writer.record_graph("s-1", "c-1")).unwrap();
    db.transact(|writer| writer.record_graph("s-2", "c-2")).unwrap();
    db.reopen();
    let row = control(&mut db);
    assert_eq!((row.structure.as_deref(), row.checksum.as_deref()), (Some("s-2"), Some("c-2")));
}

/// Top tokens that are active or paused.
pub fn live_tokens_of_other_structures_are_counted(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let here = token("t").structure;
    let row = |id: &str, workflow: &str, structure: &str, status: Status, parent: Option<&str>| {
        let (workflow, structure) = (workflow.to_owned(), structure.to_owned());
        insert(Token { workflow, structure, status, parent: parent.map(str::to_owned), ..token(id) })
    };
    db.write(&[
        row("same", "orders", &here, Status::Active, None),
        row("old-1", "orders", "old", Status::Active, None),
        row("old-2", "orders", "old", Status::Paused, None),
        row("old-3", "orders", "old", Status::Completed, None),
        row("old-4", "orders", "old", Status::Failed, None),
        row("old-5", "orders", "old", Status::Cancelled, None),
        row("old-1.a.1.lint", "lint", "old", Status::Active, Some("old-1")),
        row("else", "bills", &here, Status::Active, None),
    ]);
    let mut count = |served: &[(&str, &str)]| db.transact(|w| w.live_tokens_outside(served)).unwrap();
    assert_eq!(count(&[("orders", &here)]), 3);
    assert_eq!(count(&[("orders", "old")]), 2);
    assert_eq!(count(&[("orders", "new")]), 4);
    assert_eq!(count(&[]), 4);
    assert_eq!(count(&[("orders", &here), ("bills", &here), ("orders", "old")]), 0);
}
