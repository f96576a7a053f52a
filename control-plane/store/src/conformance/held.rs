//! Held events: what a paused token keeps until it is resumed.

use stateous_engine::change::Change;
use stateous_engine::loaded::Wanted;
use stateous_engine::model::{Held, Status, Token};

use super::Harness;
use super::db::Db;
use super::samples::{held, held_outcome, insert, paused, token};
use super::tokens::hard_texts;
use crate::failure::FailureKind;

/// What a resume wants to see of a token's family.
fn resumed(token: &str) -> Wanted {
    Wanted { family: true, held: true, ..of(token) }
}

fn of(token: &str) -> Wanted {
    Wanted { token: Some(token.to_owned()), ..Wanted::default() }
}

fn delete(top: &str, arrival: u64) -> Change {
    Change::DeleteHeld { top: top.to_owned(), arrival }
}

/// In the order of arrival, in whatever order they were written; those of other families are not told.
pub fn held_events_come_back_in_order(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[
        insert(paused("t-1")),
        insert(paused("t-2")),
        Change::InsertHeld(held("t-1", 2)),
        Change::InsertHeld(held("t-2", 1)),
        Change::InsertHeld(held_outcome("t-1", 10, "{}")),
        Change::InsertHeld(held("t-1", 1)),
    ]);
    let expected = [held("t-1", 1), held("t-1", 2), held_outcome("t-1", 10, "{}")];
    assert_eq!(db.load(&resumed("t-1")).held, expected);
    db.write(&[delete("t-1", 2)]);
    db.reopen();
    assert_eq!(db.load(&resumed("t-1")).held, [held("t-1", 1), held_outcome("t-1", 10, "{}")]);
    assert_eq!(db.load(&resumed("t-2")).held, [held("t-2", 1)]);
}

/// Digit for digit, key for key.
pub fn held_outcomes_come_back_byte_for_byte(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(paused("t-1"))]);
    for text in hard_texts() {
        let row = held_outcome("t-1", 1, &text);
        db.write(&[Change::InsertHeld(row.clone())]);
        let found = db.load(&resumed("t-1")).held;
        let written = |row: &Held| serde_json::to_string(&(&row.payload, &row.context)).unwrap();
        assert_eq!(written(&found[0]), written(&row), "{text:.80}");
        assert_eq!(found, [row]);
        db.write(&[delete("t-1", 1)]);
    }
}

/// Only a paused token holds, so of any other nothing is asked; and the places are counted for the family.
pub fn the_next_place_is_told_of_a_paused_token(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1")), insert(paused("t-2"))]);
    let next = |db: &mut Db<'_>, token: &str| db.load(&resumed(token)).next_arrival;
    assert_eq!((next(&mut db, "t-1"), next(&mut db, "t-2")), (0, 1));
    db.write(&[Change::InsertHeld(held("t-2", 1)), Change::InsertHeld(held("t-2", 2))]);
    assert_eq!((next(&mut db, "t-1"), next(&mut db, "t-2")), (0, 3));
    // All are settled together, and the next pause begins anew.
    db.write(&[delete("t-2", 1), delete("t-2", 2)]);
    assert_eq!(next(&mut db, "t-2"), 1);
    // What was not asked for is not told.
    let bare = db.load(&of("t-2"));
    assert_eq!((bare.top, bare.next_arrival, bare.held), (None, 0, Vec::new()));
}

/// A child holds in its family's row of places.
pub fn a_family_shares_its_places(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let child = |id: &str, parent: &str| Token { parent: Some(parent.to_owned()), ..paused(id) };
    let of_child = Held { token: "Top.a.1.x".to_owned(), ..held("Top", 1) };
    db.write(&[
        insert(paused("Top")),
        insert(child("Top.a.1.x", "Top")),
        insert(child("Top.a.1.x.b.1.y", "Top.a.1.x")),
        insert(child("orphan.a.1.x", "orphan")),
        Change::InsertHeld(of_child.clone()),
    ]);
    for token in ["Top", "Top.a.1.x", "Top.a.1.x.b.1.y"] {
        let loaded = db.load(&resumed(token));
        assert_eq!((loaded.top.as_deref(), loaded.next_arrival), (Some("Top"), 2), "{token}");
        assert_eq!(loaded.held, std::slice::from_ref(&of_child));
    }
    assert_eq!(db.load(&resumed("orphan.a.1.x")).top.as_deref(), Some("orphan.a.1.x"));
}

/// A place is given once, and what is not there cannot be settled.
pub fn a_place_is_given_once(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(paused("t-1")), Change::InsertHeld(held("t-1", 1))]);
    for change in [Change::InsertHeld(held("t-1", 1)), delete("t-1", 2), delete("t-2", 1)] {
        let failure = db.refuse(std::slice::from_ref(&change));
        assert_eq!(failure.kind, FailureKind::Statement, "{change:?}: {failure:?}");
    }
}

/// Since when a token is paused is part of its row.
pub fn the_beginning_of_a_pause_is_kept(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1")), Change::UpdateToken(paused("t-1"))]);
    assert_eq!(db.load(&of("t-1")).member.unwrap().token, paused("t-1"));
    assert_eq!(db.reader().token("t-1").unwrap().unwrap().token, paused("t-1"));
    db.write(&[Change::UpdateToken(Token { seq: 1, ..token("t-1") })]);
    let row = db.load(&of("t-1")).member.unwrap().token;
    assert_eq!((row.status, row.paused_at, row.seq), (Status::Active, None, 1));
}
