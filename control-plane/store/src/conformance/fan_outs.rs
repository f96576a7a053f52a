//! Fan-outs: how far each is, its items, and who is served first.

use std::collections::BTreeMap;

use stateous_engine::change::Change;
use stateous_engine::loaded::{Loaded, Wanted};
use stateous_engine::model::{FanOut, FanOutKey, Status, Sweep, Token};

use super::Harness;
use super::db::{Db, NOW};
use super::samples::{fan_out, held, insert, paused, token};
use super::tokens::hard_texts;
use crate::failure::FailureKind;

fn put(row: FanOut, chunks: &[&str]) -> Change {
    Change::InsertFanOut { row, chunks: chunks.iter().map(|chunk| (*chunk).into()).collect() }
}

fn wanted(key: &FanOutKey, chunks: &[u64]) -> Wanted {
    let chunks = chunks.iter().map(|number| (key.clone(), *number)).collect();
    Wanted { fan_outs: vec![key.clone()], chunks, ..Wanted::default() }
}

fn pending(db: &mut Db<'_>, limit: u32) -> Vec<FanOutKey> {
    db.transact(|writer| writer.pending_fan_outs(limit)).unwrap()
}

/// Every field comes back, and each item byte for byte.
pub fn a_fan_out_comes_back_with_its_items(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let row = fan_out("t-1", 1);
    let texts = hard_texts();
    let chunks: Vec<&str> = texts.iter().map(String::as_str).collect();
    db.write(&[put(row.clone(), &chunks), put(fan_out("t-1", 2), &["{}"])]);
    let all: Vec<u64> = (0..=chunks.len() as u64).collect();
    let loaded = db.load(&wanted(&row.key, &all));
    assert_eq!(loaded.fan_outs[&row.key].as_ref(), Some(&row));
    let found: Vec<&str> = loaded.chunks.values().map(|chunk| &**chunk).collect();
    assert_eq!(found, chunks);
    let counts = BTreeMap::from([("failed".to_owned(), BTreeMap::from([("__start__".to_owned(), 2_u64)]))]);
    let later = FanOut {
        created: 3,
        ended: 2,
        counts,
        first_ended: Some(1),
        sweep: Some(Sweep::Cancel),
        reason: Some("the parent left".to_owned()),
        swept: 1,
        pending: false,
        looked_at: NOW.plus_ms(7),
        ..row.clone()
    };
    db.write(&[Change::UpdateFanOut(later.clone())]);
    db.reopen();
    assert_eq!(db.load(&wanted(&row.key, &[])).fan_outs[&row.key].as_ref(), Some(&later));
}

/// What is over is gone with its items, and what is not there cannot be changed; a visit fans out once.
pub fn a_fan_out_that_is_over_leaves_nothing(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let row = fan_out("t-1", 1);
    db.write(&[put(row.clone(), &["{}", "{}"])]);
    let again = db.refuse(&[put(row.clone(), &[])]);
    assert_eq!(again.kind, FailureKind::Statement, "{again:?}");
    db.write(&[Change::DeleteFanOut(row.key.clone())]);
    let loaded = db.load(&wanted(&row.key, &[0, 1]));
    assert_eq!((loaded.fan_outs[&row.key].clone(), loaded.chunks.len()), (None, 0));
    for change in [Change::DeleteFanOut(row.key.clone()), Change::UpdateFanOut(row.clone())] {
        let failure = db.refuse(std::slice::from_ref(&change));
        assert_eq!(failure.kind, FailureKind::Statement, "{change:?}: {failure:?}");
    }
}

/// Only where there is something to do, and who waits longest comes first.
pub fn who_waits_longest_is_served_first(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let at = |token: &str, ms: i64, pending: bool| {
        put(FanOut { looked_at: NOW.plus_ms(ms), pending, ..fan_out(token, 1) }, &["{}"])
    };
    db.write(&[at("t-1", 2, true), at("t-2", 1, true), at("t-3", 0, false), at("t-4", 3, true)]);
    let first =
        |db: &mut Db<'_>, limit: u32| pending(db, limit).into_iter().map(|key| key.token).collect::<Vec<_>>();
    assert_eq!(first(&mut db, 9), ["t-2", "t-1", "t-4"]);
    assert_eq!(first(&mut db, 1), ["t-2"]);
    db.write(&[Change::UpdateFanOut(FanOut { looked_at: NOW.plus_ms(9), ..fan_out("t-2", 1) })]);
    assert_eq!(first(&mut db, 9), ["t-1", "t-4", "t-2"]);
}

/// A pause or a resume that has not reached all children is told of the family's top token; a cancel hinders nobody.
pub fn an_act_on_its_way_is_told(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let row = FanOut { top: "Top".to_owned(), ..fan_out("Top.a.1.b", 1) };
    db.write(&[insert(token("Top")), put(row.clone(), &["{}"])]);
    let ask = |db: &mut Db<'_>, id: &str| {
        db.load(&Wanted { token: Some(id.to_owned()), sweeping: true, ..Wanted::default() }).sweeping
    };
    assert!(!ask(&mut db, "Top"));
    for (sweep, told) in [(Sweep::Pause, true), (Sweep::Resume, true), (Sweep::Cancel, false)] {
        db.write(&[Change::UpdateFanOut(FanOut { sweep: Some(sweep), ..row.clone() })]);
        assert_eq!((ask(&mut db, "Top"), ask(&mut db, "t-1")), (told, false), "{sweep:?}");
        // What was not asked for is not told.
        assert!(!db.load(&Wanted { token: Some("Top".to_owned()), ..Wanted::default() }).sweeping);
    }
}

/// What a child of a fan-out holds, and all below it, is settled with it: its places are its own.
pub fn a_child_of_a_fan_out_holds_for_itself(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let child =
        Token { parent: Some("Top".to_owned()), index: Some(7), errors: true, ..paused("Top.a.1.b.7") };
    let below = Token { parent: Some(child.id.clone()), ..paused("Top.a.1.b.7.c.1.d") };
    let top = paused("Top");
    db.write(&[
        insert(top.clone()),
        insert(child.clone()),
        insert(below.clone()),
        Change::InsertHeld(held("Top", 1)),
        Change::InsertHeld(held("Top.a.1.b.7", 1)),
        Change::InsertHeld(held("Top.a.1.b.7", 2)),
    ]);
    let ask = |db: &mut Db<'_>, id: &str| -> Loaded {
        db.load(&Wanted {
            token: Some(id.to_owned()),
            family: true,
            held: true,
            ancestors: true,
            held_of: vec!["Top.a.1.b.7".to_owned(), "t-1".to_owned()],
            ..Wanted::default()
        })
    };
    let of_child = [held("Top.a.1.b.7", 1), held("Top.a.1.b.7", 2)];
    for (id, next, above) in
        [("Top", 2, vec![]), ("Top.a.1.b.7", 3, vec![&top]), ("Top.a.1.b.7.c.1.d", 3, vec![&child, &top])]
    {
        let loaded = ask(&mut db, id);
        assert_eq!((loaded.top.as_deref(), loaded.next_arrival), (Some("Top"), next), "{id}");
        assert_eq!(loaded.ancestors.iter().collect::<Vec<_>>(), above, "{id}");
        assert_eq!(loaded.held_of["Top.a.1.b.7"], of_child);
        assert!(loaded.held_of["t-1"].is_empty());
    }
    assert_eq!(db.reader().token(&child.id).unwrap().unwrap().token, child);
    db.write(&[Change::UpdateToken(Token {
        status: Status::Completed,
        paused_at: None,
        errors: false,
        ..child
    })]);
    assert!(!db.reader().token("Top.a.1.b.7").unwrap().unwrap().token.errors);
}
