//! Together or not at all.

use stateous_engine::change::Change;
use stateous_engine::model::{Status, Token};

use super::Harness;
use super::db::{Db, NOW, all_of, all_of_task};
use super::samples::{insert, memory, note, task, timer, token};
use crate::failure::FailureKind;
use crate::traits::Writer;

/// Everything that a start writes, and a change that cannot be.
fn a_start_that_fails_at_its_end() -> Vec<Change> {
    vec![
        insert(token("t-1")),
        note("t-1", 1),
        Change::InsertTask(task(1, "t-1")),
        Change::InsertTimer(timer(1, "t-1", 1000)),
        memory("t-1", "position", "7"),
        Change::UpdateToken(token("no-such-token")),
    ]
}

fn nothing_is_there(db: &mut Db<'_>) {
    let loaded = db.load(&all_of("t-1"));
    assert_eq!(loaded.member, None);
    assert_eq!(db.load(&all_of_task(1)).task, None);
    assert_eq!(db.reader().history("t-1", 0, 10).unwrap(), None);
    assert_eq!(db.reader().next_due().unwrap(), None);
    // The same rows can be written afterwards: not one of them stayed behind.
    let mut whole = a_start_that_fails_at_its_end();
    whole.pop();
    db.write(&whole);
}

/// A decision that fails in the middle leaves nothing of itself.
pub fn a_change_that_fails_in_the_middle_leaves_nothing(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let failure = db.refuse(&a_start_that_fails_at_its_end());
    assert_eq!(failure.kind, FailureKind::Statement, "one input is guilty: {failure:?}");
    assert!(failure.message.contains("no-such-token"), "{failure}");
    nothing_is_there(&mut db);
}

/// Neither does a transaction that is rolled back, even when the program ends right after.
pub fn a_rollback_leaves_nothing(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let writer = db.writer();
    writer.begin().unwrap();
    writer.apply(&a_start_that_fails_at_its_end()[..5]).unwrap();
    writer.rollback();
    // Rolling back once more, or without a transaction, is no mistake.
    writer.rollback();
    nothing_is_there(&mut db);

    db.writer().begin().unwrap();
    db.writer().apply(&[Change::UpdateToken(Token { status: Status::Failed, ..token("t-1") })]).unwrap();
    // Dropped with an open transaction.
    db.reopen();
    assert_eq!(db.load(&all_of("t-1")).member.unwrap().token.status, Status::Active);
}

/// What a transaction wrote, it finds: each input of a batch sees those before it.
pub fn a_transaction_reads_its_own_writes(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.transact(|writer| {
        writer.apply(&a_start_that_fails_at_its_end()[..5]).unwrap();
        let member = writer.load(&all_of("t-1")).unwrap().member.unwrap();
        assert_eq!(member.token, token("t-1"));
        assert_eq!(member.tasks, [task(1, "t-1")]);
        assert_eq!(member.timers, [timer(1, "t-1", 1000)]);
        let loaded = writer.load(&all_of_task(1)).unwrap();
        assert_eq!((loaded.next_task, loaded.next_timer), (2, 2));
        assert_eq!(loaded.memory.len(), 1);
        assert_eq!(writer.due_timers(NOW.plus_ms(1000), 9).unwrap(), [1]);

        writer.apply(&[Change::DeleteTimer(1)]).unwrap();
        assert!(writer.load(&all_of("t-1")).unwrap().member.unwrap().timers.is_empty());
        assert!(writer.due_timers(NOW.plus_ms(1000), 9).unwrap().is_empty());
    });
}

/// A write outside a transaction would be durable at once and alone.
pub fn verbs_need_an_open_transaction(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let refused = |writer: &mut dyn Writer| {
        assert!(writer.apply(&[insert(token("t-1"))]).is_err());
        assert!(writer.load(&all_of("t-1")).is_err());
        assert!(writer.extend_leases(1).is_err());
        assert!(writer.commit(NOW).is_err());
    };
    refused(db.writer());
    db.write(&[]);
    refused(db.writer());
    db.writer().begin().unwrap();
    assert!(db.writer().begin().is_err(), "a transaction in a transaction");
    db.writer().rollback();
    refused(db.writer());
    assert!(db.reader().token("t-1").unwrap().is_none());
}

/// A restart finds everything that was committed.
pub fn what_was_committed_is_there_after_reopening(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&a_start_that_fails_at_its_end()[..5]);
    let before =
        (db.load(&all_of("t-1")), db.load(&all_of_task(1)), db.reader().history("t-1", 0, 9).unwrap());
    assert!(before.0.member.is_some() && before.1.task.is_some() && !before.1.memory.is_empty());
    db.reopen();
    let after =
        (db.load(&all_of("t-1")), db.load(&all_of_task(1)), db.reader().history("t-1", 0, 9).unwrap());
    assert_eq!(after, before);
}

/// Readers are neither shown what is not committed nor made to wait for it.
pub fn readers_see_only_what_was_committed(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1")), note("t-1", 1)]);
    let reader = db.reader();
    let writer = db.writer();
    writer.begin().unwrap();
    let moved = Token { state: "review".to_owned(), ..token("t-1") };
    writer.apply(&[Change::UpdateToken(moved), note("t-1", 2), insert(token("t-2"))]).unwrap();
    assert_eq!(reader.token("t-1").unwrap().unwrap().token.state, "draft");
    assert_eq!(reader.history("t-1", 0, 10).unwrap().unwrap().len(), 1);
    assert!(reader.token("t-2").unwrap().is_none());
    writer.commit(NOW).unwrap();
    assert_eq!(reader.token("t-1").unwrap().unwrap().token.state, "review");
    assert_eq!(reader.history("t-1", 0, 10).unwrap().unwrap().len(), 2);
    assert!(reader.token("t-2").unwrap().is_some());
}
