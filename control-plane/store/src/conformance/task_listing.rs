//! Listings of tasks, and what supervisors hold.

use std::collections::BTreeMap;

use stateous_engine::change::Change;
use stateous_engine::model::{Task, TaskStatus};

use super::Harness;
use super::db::Db;
use super::routines::push;
use super::samples::{claimed, insert, task, token};
use crate::rows::TaskFilter;
use crate::traits::QueuedFilter;

const OPEN: [TaskStatus; 4] =
    [TaskStatus::Queued, TaskStatus::Claimed, TaskStatus::Started, TaskStatus::Waiting];

fn filter(statuses: &[TaskStatus]) -> TaskFilter {
    TaskFilter {
        statuses: statuses.to_vec(),
        workflow: None,
        state: None,
        token: None,
        supervisor: None,
        unserved: None,
        after: 0,
        limit: 100,
    }
}

/// Ids, in one page and in pages of every size up to three.
fn ids(db: &Db<'_>, filter: &TaskFilter) -> Vec<u64> {
    let reader = db.reader();
    let whole = reader.tasks(filter).unwrap();
    assert_eq!(whole.next, None, "{filter:?}");
    for limit in 1..=3 {
        let (mut after, mut found) = (0, Vec::new());
        loop {
            let page = reader.tasks(&TaskFilter { after, limit, ..filter.clone() }).unwrap();
            assert!(page.tasks.len() <= limit as usize);
            found.extend(page.tasks);
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
        assert_eq!(found, whole.tasks, "{limit} a page: {filter:?}");
    }
    whole.tasks.iter().map(|task| task.id).collect()
}

/// Tasks 1 to 9 of two tokens, one of each status and more of some.
fn filled(db: &mut Db<'_>) {
    let of = |id: u64, token: &str, state: &str, status: TaskStatus| {
        let task = Task { state: state.to_owned(), ..task(id, token) };
        let by = if id.is_multiple_of(2) { "vm" } else { "build" };
        let held = claimed(task.clone(), by, None, 1000);
        let row = match status {
            TaskStatus::Queued => Task { claimed_by: Some("vm".to_owned()), ..task },
            TaskStatus::Claimed | TaskStatus::Started => Task { status, ..held },
            ended => Task { status: ended, lease_until: None, ..held },
        };
        Change::InsertTask(row)
    };
    db.write(&[
        insert(token("A")),
        insert(token("B")),
        of(1, "A", "draft", TaskStatus::Done),
        of(2, "A", "draft", TaskStatus::Failed),
        of(3, "A", "review", TaskStatus::Queued),
        of(4, "B", "draft", TaskStatus::Claimed),
        of(5, "B", "review", TaskStatus::Started),
        of(6, "B", "review", TaskStatus::Waiting),
        of(7, "A", "draft", TaskStatus::Queued),
        of(8, "A", "draft", TaskStatus::Cancelled),
        of(9, "A", "draft", TaskStatus::Claimed),
    ]);
}

/// By status, workflow, state, token, supervisor.
pub fn tasks_are_listed_by_what_they_are(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    assert!(ids(&db, &filter(&OPEN)).is_empty());
    filled(&mut db);
    let text = |text: &str| Some(text.to_owned());
    let open = || filter(&OPEN);
    assert_eq!(ids(&db, &open()), [3, 4, 5, 6, 7, 9]);
    assert_eq!(ids(&db, &filter(&TaskStatus::ALL)), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(ids(&db, &filter(&[TaskStatus::Failed])), [2]);
    assert_eq!(ids(&db, &filter(&[TaskStatus::Claimed, TaskStatus::Started])), [4, 5, 9]);
    assert_eq!(ids(&db, &TaskFilter { state: text("draft"), ..open() }), [4, 7, 9]);
    assert_eq!(
        ids(&db, &TaskFilter { workflow: text("orders"), state: text("review"), ..open() }),
        [3, 5, 6]
    );
    assert!(ids(&db, &TaskFilter { workflow: text("other"), ..open() }).is_empty());
    assert_eq!(ids(&db, &TaskFilter { token: text("A"), ..open() }), [3, 7, 9]);
    let all = filter(&TaskStatus::ALL);
    assert_eq!(ids(&db, &TaskFilter { token: text("A"), ..all.clone() }), [1, 2, 3, 7, 8, 9]);
    // Who held a queued task last says nothing about who works on it.
    assert_eq!(ids(&db, &TaskFilter { supervisor: text("vm"), ..open() }), [4, 6]);
    assert_eq!(ids(&db, &TaskFilter { supervisor: text("vm"), ..all }), [2, 4, 6, 8]);
    assert_eq!(db.reader().task(6).unwrap().unwrap().status, TaskStatus::Waiting);
    assert_eq!(db.reader().task(10).unwrap(), None);
    assert_eq!(db.reader().task(u64::MAX).unwrap(), None);
}

/// Queued tasks that no claim would take.
pub fn tasks_that_nobody_asks_for_are_found(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    filled(&mut db);
    let claim = |states: Option<&[&str]>, assigned: bool| QueuedFilter {
        states: states.map(|s| s.iter().map(|state| ("orders".to_owned(), (*state).to_owned())).collect()),
        assigned,
    };
    let check = |db: &Db<'_>, claims: &[QueuedFilter], expected: &[u64]| {
        let wanted = TaskFilter { unserved: Some(claims.to_vec()), ..filter(&[TaskStatus::Queued]) };
        assert_eq!(ids(db, &wanted), expected, "{claims:?}");
        let of_token = TaskFilter { token: Some("A".to_owned()), ..wanted };
        assert_eq!(ids(db, &of_token), expected, "{claims:?}");
    };
    check(&db, &[], &[3, 7]);
    check(&db, &[claim(Some(&["draft"]), false)], &[3]);
    check(&db, &[claim(Some(&["draft"]), false), claim(Some(&["review"]), false)], &[]);
    check(&db, &[claim(None, true)], &[3, 7]);
    push(&mut db, "review", b"a component");
    check(&db, &[claim(None, true)], &[7]);
    check(&db, &[claim(Some(&["draft", "review"]), true)], &[7]);
    check(&db, &[claim(Some(&["draft"]), true), claim(None, false)], &[]);
}

/// Only what is under a lease counts.
pub fn held_tasks_are_counted_by_supervisor(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    assert!(db.reader().held_by_supervisor().unwrap().is_empty());
    filled(&mut db);
    let counts = BTreeMap::from([("build".to_owned(), 2), ("vm".to_owned(), 1)]);
    assert_eq!(db.reader().held_by_supervisor().unwrap(), counts);
}
