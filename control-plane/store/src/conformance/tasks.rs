//! Tasks: how claims find them, and how leases end.

use stateous_engine::change::Change;
use stateous_engine::model::{Incarnation, Status, Task, TaskStatus, Token};
use stateous_engine::{Timestamp, loaded::Wanted};

use super::Harness;
use super::db::{Db, NOW, all_of};
use super::routines::push;
use super::samples::{claimed, insert, task, token};
use crate::traits::QueuedFilter;

fn states(pairs: &[(&str, &str)]) -> QueuedFilter {
    let pairs = pairs.iter().map(|(w, s)| ((*w).to_owned(), (*s).to_owned())).collect();
    QueuedFilter { states: Some(pairs), assigned: false }
}

const ANY: QueuedFilter = QueuedFilter { states: None, assigned: false };

fn queued(db: &mut Db<'_>, filter: &QueuedFilter, limit: u32) -> Vec<u64> {
    db.transact(|writer| writer.queued_tasks(filter, limit)).unwrap()
}

/// Tasks 1 to 6 of token `t-1`, in `draft` and `review` by turns; task 7 in `draft` of another workflow.
fn seven_tasks(db: &mut Db<'_>) {
    let mut changes = vec![insert(token("t-1"))];
    for id in 1..=7 {
        let state = if id % 2 == 0 { "review" } else { "draft" };
        let workflow = if id == 7 { "other" } else { "orders" };
        let row = Task { state: state.to_owned(), workflow: workflow.to_owned(), ..task(id, "t-1") };
        changes.push(Change::InsertTask(row));
    }
    db.write(&changes);
}

/// Across states, whatever the order in which they are named; a state that is named twice is one state.
pub fn claims_take_the_lowest_ids_of_the_named_states(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    assert!(queued(&mut db, &ANY, 9).is_empty());
    seven_tasks(&mut db);
    let mut check = |filter: &QueuedFilter, limit: u32, expected: &[u64]| {
        assert_eq!(queued(&mut db, filter, limit), expected, "{filter:?}, {limit}");
    };
    check(&ANY, 9, &[1, 2, 3, 4, 5, 6, 7]);
    check(&ANY, 3, &[1, 2, 3]);
    check(&ANY, 0, &[]);
    check(&states(&[]), 9, &[]);
    check(&states(&[("orders", "draft")]), 9, &[1, 3, 5]);
    check(&states(&[("orders", "review"), ("orders", "draft")]), 4, &[1, 2, 3, 4]);
    check(&states(&[("other", "draft"), ("orders", "review")]), 2, &[2, 4]);
    check(&states(&[("orders", "review"), ("orders", "review")]), 9, &[2, 4, 6]);
    check(&states(&[("other", "draft")]), 9, &[7]);
    check(&states(&[("draft", "orders"), ("orders", "nowhere"), ("", "")]), 9, &[]);
}

/// Only `queued` is queued.
pub fn a_task_that_is_not_queued_is_not_taken(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1"))]);
    for (id, status) in (1..).zip(TaskStatus::ALL) {
        let row = Task { status, ..task(id, "t-1") };
        db.write(&[Change::InsertTask(row.clone())]);
        assert_eq!(db.load(&Wanted { task: Some(id), ..Wanted::default() }).task, Some(row));
    }
    assert_eq!(queued(&mut db, &ANY, 9), [1]);
    db.write(&[Change::UpdateTask(claimed(task(1, "t-1"), "vm", None, 5))]);
    assert!(queued(&mut db, &ANY, 9).is_empty());
    // A retry puts it back, under the same id.
    let again = Task { attempt: 1, failures: 1, ..task(1, "t-1") };
    db.write(&[Change::UpdateTask(again.clone())]);
    assert_eq!(queued(&mut db, &ANY, 9), [1]);
    assert_eq!(db.load(&Wanted { task: Some(1), ..Wanted::default() }).task, Some(again));
}

/// A paused token's tasks wait, and stand in nobody's way.
pub fn tasks_of_tokens_that_stand_still_are_not_taken(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    for (id, status) in (1..).zip(Status::ALL) {
        // Ids with capitals: the way from a task to its token must not depend on the spelling.
        let name = format!("T-{}", status.as_str());
        db.write(&[insert(Token { status, ..token(&name) }), Change::InsertTask(task(id, &name))]);
    }
    assert_eq!(queued(&mut db, &ANY, 1), [1]);
    assert_eq!(queued(&mut db, &states(&[("orders", "draft")]), 9), [1]);
    db.write(&[
        Change::UpdateToken(Token { status: Status::Paused, ..token("T-active") }),
        Change::UpdateToken(token("T-paused")),
    ]);
    assert_eq!(queued(&mut db, &states(&[("orders", "draft")]), 1), [2]);
}

/// A supervisor that runs components has no use for a state without one.
pub fn claims_can_ask_for_states_with_a_component(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    seven_tasks(&mut db);
    let assigned = |filter: QueuedFilter| QueuedFilter { assigned: true, ..filter };
    assert!(queued(&mut db, &assigned(ANY), 9).is_empty());
    push(&mut db, "review", b"component");
    assert_eq!(queued(&mut db, &assigned(ANY), 9), [2, 4, 6]);
    let both = states(&[("orders", "review"), ("orders", "draft")]);
    assert_eq!(queued(&mut db, &assigned(both.clone()), 2), [2, 4]);
    assert_eq!(queued(&mut db, &both, 2), [1, 2]);
}

/// The held ones, of that supervisor and that request only.
pub fn a_request_finds_the_tasks_it_got(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    seven_tasks(&mut db);
    let take = |id: u64, supervisor: &str, request: Option<&str>| {
        Change::UpdateTask(claimed(task(id, "t-1"), supervisor, request, 5))
    };
    db.write(&[
        take(3, "vm", Some("r-1")),
        take(1, "vm", Some("r-1")),
        take(5, "vm", Some("r-2")),
        take(7, "other", Some("r-1")),
        take(2, "vm", None),
    ]);
    let mut check = |supervisor: &str, request: &str, expected: &[u64]| {
        let found = db.transact(|writer| writer.tasks_of_request(supervisor, request)).unwrap();
        assert_eq!(found, expected, "{supervisor}, {request}");
    };
    check("vm", "r-1", &[1, 3]);
    check("vm", "r-2", &[5]);
    check("other", "r-1", &[7]);
    check("other", "r-2", &[]);
    check("vm", "", &[]);
    let held = claimed(task(1, "t-1"), "vm", Some("r-1"), 5);
    db.write(&[
        Change::UpdateTask(Task { status: TaskStatus::Started, ..held.clone() }),
        Change::UpdateTask(Task {
            status: TaskStatus::Done,
            ..claimed(task(3, "t-1"), "vm", Some("r-1"), 5)
        }),
    ]);
    assert_eq!(db.transact(|writer| writer.tasks_of_request("vm", "r-1")).unwrap(), [1]);
    // A retry forgets who had it.
    db.write(&[Change::UpdateTask(Task { attempt: 1, ..task(1, "t-1") })]);
    assert!(db.transact(|writer| writer.tasks_of_request("vm", "r-1")).unwrap().is_empty());
}

/// Held under the supervisor's name, by the same folder, by another start than this one.
pub fn what_other_starts_of_a_folder_hold_is_found(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    seven_tasks(&mut db);
    let take = |id: u64, supervisor: &str, request: &str| {
        Change::UpdateTask(claimed(task(id, "t-1"), supervisor, Some(request), 5))
    };
    db.write(&[
        take(1, "vm", "f:2:r-1"),
        take(2, "vm", "f:10:r-1"),
        take(3, "vm", "f:1:r-1"),
        take(4, "vm", "F:1:r-1"),
        take(5, "other", "f:1:r-1"),
        take(6, "vm", "f.g:1:r-1"),
        take(7, "vm", "f"),
    ]);
    let mut check = |supervisor: &str, folder: &str, start: u64, expected: &[u64]| {
        let incarnation = Incarnation { folder: folder.to_owned(), start };
        let found = db.transact(|writer| writer.tasks_of_other_starts(supervisor, &incarnation)).unwrap();
        assert_eq!(found, expected, "{supervisor}, {folder}, {start}");
    };
    check("vm", "f", 2, &[2, 3]);
    check("vm", "f", 1, &[1, 2]);
    check("vm", "f", 11, &[1, 2, 3]);
    check("vm", "F", 2, &[4]);
    check("other", "f", 1, &[]);
    check("vm", "g", 1, &[]);
}

fn expired(db: &mut Db<'_>, now: Timestamp, limit: u32) -> Vec<u64> {
    db.transact(|writer| writer.expired_leases(now, limit)).unwrap()
}

/// At its end it still holds; the earliest come first, then by id.
pub fn a_lease_is_over_only_after_its_end(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    seven_tasks(&mut db);
    let take = |id: u64, lease_ms: i64| Change::UpdateTask(claimed(task(id, "t-1"), "vm", None, lease_ms));
    db.write(&[take(1, 30), take(2, 10), take(4, 10), take(3, 10)]);
    assert!(expired(&mut db, NOW.plus_ms(10), 9).is_empty());
    assert_eq!(expired(&mut db, NOW.plus_ms(11), 9), [2, 3, 4]);
    assert_eq!(expired(&mut db, NOW.plus_ms(99), 9), [2, 3, 4, 1]);
    assert_eq!(expired(&mut db, NOW.plus_ms(99), 2), [2, 3]);
    // A heartbeat moves a lease; the routine's start does not.
    db.write(&[
        take(2, 50),
        Change::UpdateTask(Task { status: TaskStatus::Started, ..claimed(task(3, "t-1"), "vm", None, 10) }),
        Change::UpdateTask(Task { status: TaskStatus::Waiting, lease_until: None, ..task(4, "t-1") }),
    ]);
    assert_eq!(expired(&mut db, NOW.plus_ms(31), 9), [3, 1]);
    assert_eq!(db.transact(|writer| writer.held_tasks()).unwrap(), 3);
}

/// By the time in which no heartbeat could arrive.
pub fn open_leases_can_be_moved_later(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    assert_eq!(db.transact(|writer| writer.extend_leases(1000)).unwrap(), 0);
    seven_tasks(&mut db);
    db.write(&[
        Change::UpdateTask(claimed(task(1, "t-1"), "vm", None, 10)),
        Change::UpdateTask(Task { status: TaskStatus::Started, ..claimed(task(2, "t-1"), "vm", None, 20) }),
        Change::UpdateTask(Task { status: TaskStatus::Done, ..claimed(task(3, "t-1"), "vm", None, 30) }),
    ]);
    assert_eq!(db.transact(|writer| writer.extend_leases(1000)).unwrap(), 2);
    assert!(expired(&mut db, NOW.plus_ms(1010), 9).is_empty());
    assert_eq!(expired(&mut db, NOW.plus_ms(1011), 9), [1]);
    assert_eq!(expired(&mut db, NOW.plus_ms(1021), 9), [1, 2]);
    let ended = db.load(&Wanted { task: Some(3), ..Wanted::default() }).task.unwrap();
    assert_eq!(ended.lease_until, Some(NOW.plus_ms(30)));
}

/// What a move has to close: by id, whatever the status, but not what is closed.
pub fn ended_tasks_are_not_open(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1")), insert(token("t-2"))]);
    for (id, status) in (1..).zip(TaskStatus::ALL) {
        db.write(&[Change::InsertTask(Task { status, ..task(id, "t-1") })]);
    }
    let open = |db: &mut Db<'_>, token: &str| {
        let member = db.load(&all_of(token)).member.unwrap();
        member.tasks.iter().map(|task| task.id).collect::<Vec<_>>()
    };
    assert_eq!(open(&mut db, "t-1"), [1, 2, 3, 4]);
    assert!(open(&mut db, "t-2").is_empty());
    db.write(&[Change::UpdateTask(Task { status: TaskStatus::Cancelled, ..task(2, "t-1") })]);
    assert_eq!(open(&mut db, "t-1"), [1, 3, 4]);
}

/// Not after a restart, and not after a transaction that was taken back.
pub fn an_id_is_never_given_twice(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1"))]);
    let next = |db: &mut Db<'_>| db.load(&Wanted::default()).next_task;
    assert_eq!(next(&mut db), 1);
    db.write(&[Change::InsertTask(task(1, "t-1")), Change::InsertTask(task(2, "t-1"))]);
    assert_eq!(next(&mut db), 3);

    db.writer().begin().unwrap();
    db.writer().apply(&[Change::InsertTask(task(3, "t-1"))]).unwrap();
    db.writer().rollback();
    let after = next(&mut db);
    assert!(after >= 3);
    db.write(&[Change::InsertTask(task(after, "t-1"))]);
    db.reopen();
    assert!(next(&mut db) > after);
}
