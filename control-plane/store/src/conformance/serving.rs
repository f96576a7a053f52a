//! One control plane serves a database, with one writer and many readers.

use std::sync::Arc;
use std::thread;

use super::Harness;
use super::db::{Db, NOW};
use super::samples::{insert, note, token};
use crate::failure::FailureKind;

/// The second one is told why, and spoils nothing.
pub fn a_second_control_plane_is_refused(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let Err(failure) = harness.open() else { panic!("two control planes serve one database") };
    assert_eq!(failure.kind, FailureKind::NotServing, "{failure:?}");
    assert!(failure.message.contains("another control plane"), "{failure}");
    db.write(&[insert(token("t-1"))]);
    assert!(harness.open().is_err());
    assert!(db.reader().token("t-1").unwrap().is_some());
}

/// The database is held as long as anything that came from the store is, and not a moment longer.
pub fn the_database_is_free_when_all_is_dropped(harness: &dyn Harness) {
    let store = harness.open().unwrap();
    let writer = store.writer().unwrap();
    let reader = store.reader();
    drop(store);
    assert!(harness.open().is_err(), "the writer still writes");
    drop(writer);
    assert!(harness.open().is_err(), "the reader still reads");
    drop(reader);
    drop(harness.open().unwrap());
    drop(harness.open().unwrap());
}

/// Two writers would decide beside each other.
pub fn there_is_one_writer(harness: &dyn Harness) {
    let store = harness.open().unwrap();
    let writer = store.writer().unwrap();
    assert!(store.writer().is_err());
    drop(writer);
}

/// More readers than a store has connections, while the writer writes.
pub fn many_readers_read_beside_the_writer(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1"))]);
    let reader = db.reader();
    thread::scope(|scope| {
        for _ in 0..32 {
            let reader = Arc::clone(&reader);
            scope.spawn(move || {
                let mut last = 0;
                // Every snapshot is whole, and none is older than one seen before.
                while last < 20 {
                    let seen = reader.history("t-1", 0, 100).unwrap().unwrap().len();
                    assert!(seen >= last);
                    last = seen;
                    thread::yield_now();
                }
            });
        }
        for seq in 1..=20 {
            let writer = db.writer();
            writer.begin().unwrap();
            writer.apply(&[note("t-1", seq)]).unwrap();
            writer.commit(NOW.plus_ms(i64::try_from(seq).unwrap())).unwrap();
        }
    });
}
