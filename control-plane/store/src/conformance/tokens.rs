//! Tokens and their contexts.

use std::collections::BTreeMap;
use std::sync::Arc;

use stateous_engine::change::Change;
use stateous_engine::json::Object;
use stateous_engine::loaded::{Member, Wanted};
use stateous_engine::model::{Entry, EventRecord, Kind, MemoryCell, Status, Timer, TimerKind, Token};

use super::Harness;
use super::db::{Db, NOW, all_of, all_of_task};
use super::samples::{entry, insert, object, task, timer, token};
use crate::failure::FailureKind;

/// JSON that a database's own JSON type, or a number type, would change.
pub(super) fn hard_texts() -> Vec<String> {
    let digits = "9".repeat(400);
    vec![
        "{}".to_owned(),
        format!(r#"{{"n":{digits},"m":-0.{digits},"f":1.0,"z":-0,"e":1e-7}}"#),
        r#"{"z":1,"a":2,"m":{"b":[],"a":{}},"A":null}"#.to_owned(),
        r#"{"nul":"a\u0000b","control":"\u001f","emoji":"😀","combining":"e\u0301","é":"ß"}"#.to_owned(),
        r#"{"$serde_json::private::Number":"x"}"#.to_owned(),
        format!(r#"{{"large":"{}"}}"#, "x".repeat(1 << 20)),
        // Nobody writes these, but what is opaque stays opaque.
        "{ \"spaces\" :\t1 , \"twice\": 1, \"twice\": 2 }\n".to_owned(),
    ]
}

/// Contexts, payloads, memory values and ledger data come back as they went in.
pub fn text_comes_back_byte_for_byte(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    for (i, text) in hard_texts().into_iter().enumerate() {
        let id = format!("t-{i}");
        let number = i as u64 + 1;
        let payload: Object = object(&text);
        let entered_by = EventRecord { name: "done".to_owned(), payload: Some(payload.clone()) };
        let row = Token { ended_by: Some(entered_by.clone()), entered_by, ..token(&id) };
        let fires = Timer { payload: Some(payload.clone()), kind: TimerKind::Timer, ..timer(number, &id, 5) };
        let cell = MemoryCell { key: format!("Schlüssel {i}"), value: text.as_str().into() };
        let key = Some("Straße 😀".to_owned());
        let recorded = Entry { key, data: payload, ..entry(&id, 1, Kind::EventAccepted, "{}") };
        db.write(&[
            Change::InsertToken { token: row.clone(), context: text.as_str().into() },
            Change::InsertTask(task(number, &id)),
            Change::InsertTimer(fires.clone()),
            Change::PutMemory { token: id.clone(), state: "draft".to_owned(), cell: cell.clone() },
            Change::Append(recorded.clone()),
        ]);
        let member = db.load(&all_of(&id)).member.unwrap();
        assert_eq!(&*member.context, text);
        assert_eq!(member.token, row);
        assert_eq!(member.timers, [fires]);
        assert_eq!(db.load(&all_of_task(number)).memory, [cell]);
        assert_eq!(db.reader().history(&id, 0, 9).unwrap().unwrap(), [recorded]);
        let shown = db.reader().token(&id).unwrap().unwrap();
        assert_eq!(&*shown.context, text);
        assert_eq!(shown.token, row);
        assert_eq!(order(&shown.token), order(&row), "{text:.80}");
    }
}

/// Two objects are equal whatever the order of their keys; their texts are not.
fn order(token: &Token) -> String {
    serde_json::to_string(&token.entered_by).unwrap()
}

/// A token moves without its context, and its context changes without the token.
pub fn an_update_leaves_the_context_alone(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let before = token("t-1");
    db.write(&[insert(before.clone())]);
    let after = Token {
        state: "review".to_owned(),
        status: Status::Completed,
        visit: 7,
        entered_at: NOW.plus_ms(5),
        seq: 41,
        visits: BTreeMap::from([("draft".to_owned(), 1), ("review".to_owned(), 7)]),
        counts: BTreeMap::from([("done".to_owned(), u64::MAX)]),
        entered_by: EventRecord { name: "done".to_owned(), payload: Some(Object::new()) },
        ended_by: Some(EventRecord { name: "over".to_owned(), payload: None }),
        ..before
    };
    db.write(&[Change::UpdateToken(after.clone())]);
    let member = db.load(&all_of("t-1")).member.unwrap();
    assert_eq!(member.token, after);
    assert_eq!(&*member.context, r#"{"title":"first order"}"#);

    db.write(&[Change::PutContext { token: "t-1".to_owned(), context: "{}".into() }]);
    let member = db.load(&all_of("t-1")).member.unwrap();
    assert_eq!(member.token, after);
    assert_eq!(&*member.context, "{}");

    // An update that changes only counters, of a row whose other columns stay.
    let counted = Token { seq: 42, entered_by: EventRecord { name: "x".to_owned(), payload: None }, ..after };
    db.write(&[Change::UpdateToken(counted.clone())]);
    assert_eq!(db.load(&all_of("t-1")).member.unwrap().token, counted);
}

/// An id is found as it was written, and its other spellings are told to be taken.
pub fn ids_are_unique_without_case(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("Order-1"))]);
    assert_eq!(db.refuse(&[insert(token("ORDER-1"))]).kind, FailureKind::Statement);
    assert_eq!(db.refuse(&[insert(token("Order-1"))]).kind, FailureKind::Statement);

    let loaded = db.load(&all_of("order-1"));
    assert_eq!((loaded.member, loaded.folded.as_deref()), (None, Some("Order-1")));
    let loaded = db.load(&Wanted { folded: false, ..all_of("order-1") });
    assert_eq!((loaded.member, loaded.folded), (None, None));
    let loaded = db.load(&all_of("Order-1"));
    assert_eq!((loaded.member.unwrap().token.id.as_str(), loaded.folded), ("Order-1", None));
    let loaded = db.load(&all_of("Order-2"));
    assert_eq!((loaded.member, loaded.folded), (None, None));

    assert!(db.reader().token("order-1").unwrap().is_none());
    assert!(db.reader().history("order-1", 0, 1).unwrap().is_none());
    assert_eq!(db.refuse(&[Change::UpdateToken(token("order-1"))]).kind, FailureKind::Statement);
}

/// A family is loaded by name: other tokens without their contexts, contexts alone, and which ids are taken.
pub fn others_are_loaded_by_name(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let child = Token { parent: Some("Top".to_owned()), ..token("Top.a.1.x") };
    db.write(&[
        insert(token("Top")),
        insert(child.clone()),
        Change::InsertTask(task(1, "Top.a.1.x")),
        Change::InsertTimer(timer(1, "Top.a.1.x", 5)),
    ]);
    let names = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let loaded = db.load(&Wanted {
        members: names(&["Top.a.1.x", "top.a.1.x", "Top.a.1.y"]),
        contexts: names(&["Top", "Top.a.1.y"]),
        taken: names(&["top.a.1.x", "top.a.1.y"]),
        ..Wanted::default()
    });
    let member = Member {
        token: child,
        context: "".into(),
        tasks: vec![task(1, "Top.a.1.x")],
        timers: vec![timer(1, "Top.a.1.x", 5)],
    };
    let none = |id: &str| (id.to_owned(), None);
    let found = ("Top.a.1.x".to_owned(), Some(member));
    assert_eq!(loaded.members, BTreeMap::from([found, none("top.a.1.x"), none("Top.a.1.y")]));
    let context: Arc<str> = r#"{"title":"first order"}"#.into();
    assert_eq!(loaded.contexts, BTreeMap::from([("Top".to_owned(), context)]));
    let taken = [("top.a.1.x".to_owned(), true), ("top.a.1.y".to_owned(), false)];
    assert_eq!(loaded.taken, BTreeMap::from(taken));
    assert!(loaded.member.is_none());
}

/// What is large is loaded only where a decision can read it.
pub fn only_what_is_wanted_is_loaded(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[
        insert(token("t-1")),
        Change::InsertTask(task(1, "t-1")),
        Change::InsertTimer(timer(1, "t-1", 5)),
        super::samples::memory("t-1", "k", "1"),
    ]);
    let bare = db.load(&Wanted { token: Some("t-1".to_owned()), ..Wanted::default() });
    let member = bare.member.unwrap();
    assert_eq!(&*member.context, "");
    assert!(member.tasks.is_empty() && member.timers.is_empty());
    assert!(bare.memory.is_empty() && bare.task.is_none() && bare.timer.is_none() && !bare.key_used);

    // A task and a timer lead to their token; one that does not exist leads nowhere.
    let by_task = db.load(&Wanted { task: Some(1), ..Wanted::default() });
    assert_eq!(by_task.task, Some(task(1, "t-1")));
    assert_eq!(by_task.member.unwrap().token.id, "t-1");
    let by_timer = db.load(&Wanted { timer: Some(1), ..Wanted::default() });
    assert_eq!(by_timer.timer, Some(timer(1, "t-1", 5)));
    assert_eq!(by_timer.member.unwrap().token.id, "t-1");
    for number in [2, u64::MAX] {
        let none = db.load(&Wanted { task: Some(number), ..Wanted::default() });
        assert!(none.task.is_none() && none.member.is_none());
        let none = db.load(&Wanted { timer: Some(number), ..Wanted::default() });
        assert!(none.timer.is_none() && none.member.is_none());
    }
}

/// An update that finds no row is a mistake, and is told.
pub fn a_missing_row_cannot_be_updated(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let changes = [
        Change::UpdateToken(token("t-1")),
        Change::PutContext { token: "t-1".to_owned(), context: "{}".into() },
        Change::UpdateTask(task(1, "t-1")),
        Change::UpdateTimer(timer(1, "t-1", 5)),
        Change::DeleteTimer(1),
    ];
    for change in changes {
        let failure = db.refuse(std::slice::from_ref(&change));
        assert_eq!(failure.kind, FailureKind::Statement, "{change:?}: {failure:?}");
    }
}

/// Every word that the engine has for a token's status has a place in the database.
pub fn every_status_comes_back(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    for status in Status::ALL {
        let row = Token { status, parent: Some("Parent.1".to_owned()), ..token(status.as_str()) };
        db.write(&[insert(row.clone())]);
        assert_eq!(db.load(&all_of(status.as_str())).member.unwrap().token, row);
    }
}
