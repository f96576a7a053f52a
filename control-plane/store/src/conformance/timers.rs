//! Timers: when they are due, and what the clock is told to wait for.

use stateous_engine::change::Change;
use stateous_engine::loaded::Wanted;
use stateous_engine::model::{Status, Token};

use super::Harness;
use super::db::{Db, NOW};
use super::samples::{claimed, insert, task, timer, token};

fn due(db: &mut Db<'_>, after_ms: i64, limit: u32) -> Vec<u64> {
    db.transact(|writer| writer.due_timers(NOW.plus_ms(after_ms), limit)).unwrap()
}

/// By due time, then by id; at its instant a timer is due.
pub fn timers_are_due_in_order_at_their_instant(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[
        insert(token("t-1")),
        Change::InsertTimer(timer(1, "t-1", 30)),
        Change::InsertTimer(timer(2, "t-1", 10)),
        Change::InsertTimer(timer(4, "t-1", 20)),
        Change::InsertTimer(timer(3, "t-1", 20)),
    ]);
    assert!(due(&mut db, 9, 9).is_empty());
    assert_eq!(due(&mut db, 10, 9), [2]);
    assert_eq!(due(&mut db, 30, 9), [2, 3, 4, 1]);
    assert_eq!(due(&mut db, 30, 2), [2, 3]);
    db.write(&[Change::DeleteTimer(2), Change::DeleteTimer(3)]);
    assert_eq!(due(&mut db, 30, 9), [4, 1]);
}

/// They fire after the token goes on; an ended token's never do.
pub fn timers_of_tokens_that_stand_still_wait(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    for (id, status) in (1..).zip(Status::ALL) {
        let name = format!("T-{}", status.as_str());
        db.write(&[insert(Token { status, ..token(&name) }), Change::InsertTimer(timer(id, &name, 0))]);
    }
    assert_eq!(due(&mut db, 0, 9), [1]);
    db.write(&[
        Change::UpdateToken(Token { status: Status::Paused, ..token("T-active") }),
        Change::UpdateToken(token("T-paused")),
    ]);
    assert_eq!(due(&mut db, 0, 1), [2]);
    assert_eq!(db.reader().next_due().unwrap(), Some(NOW));
    db.write(&[Change::UpdateToken(Token { status: Status::Completed, ..token("T-paused") })]);
    assert_eq!(db.reader().next_due().unwrap(), None);
}

/// A lease is over a millisecond after its end, a timer is due at its own.
pub fn the_next_instant_is_told(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let next = |db: &Db<'_>| db.reader().next_due().unwrap().map(|at| at.ms_since(NOW));
    assert_eq!(next(&db), None);
    db.write(&[insert(token("t-1")), Change::InsertTask(task(1, "t-1"))]);
    assert_eq!(next(&db), None);
    db.write(&[Change::InsertTimer(timer(1, "t-1", 500))]);
    assert_eq!(next(&db), Some(500));
    db.write(&[Change::UpdateTask(claimed(task(1, "t-1"), "vm", None, 200))]);
    assert_eq!(next(&db), Some(201));
    db.write(&[Change::UpdateTask(claimed(task(1, "t-1"), "vm", None, 900))]);
    assert_eq!(next(&db), Some(500));
    db.write(&[Change::DeleteTimer(1)]);
    assert_eq!(next(&db), Some(901));
}

/// Although a timer that fired leaves no row behind.
pub fn timer_ids_are_not_given_again(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[
        insert(token("t-1")),
        Change::InsertTimer(timer(1, "t-1", 0)),
        Change::InsertTimer(timer(2, "t-1", 0)),
    ]);
    db.write(&[Change::DeleteTimer(1), Change::DeleteTimer(2)]);
    let next = |db: &mut Db<'_>| db.load(&Wanted::default()).next_timer;
    assert_eq!(next(&mut db), 3);
    db.reopen();
    assert_eq!(next(&mut db), 3);
}

/// A resume gives a timer the paused time back; nothing else of it changes.
pub fn a_timer_can_be_moved(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1")), Change::InsertTimer(timer(1, "t-1", 10))]);
    db.write(&[Change::UpdateTimer(timer(1, "t-1", 30))]);
    assert!(due(&mut db, 29, 9).is_empty());
    assert_eq!(due(&mut db, 30, 9), [1]);
    assert_eq!(db.load(&super::db::all_of("t-1")).member.unwrap().timers, [timer(1, "t-1", 30)]);
}
