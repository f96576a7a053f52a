//! The ledger: every entry once, in order, for ever.

use stateous_engine::change::Change;
use stateous_engine::loaded::Wanted;
use stateous_engine::model::{Entry, Kind, Private};

use super::Harness;
use super::db::{Db, NOW};
use super::samples::{entry, insert, note, object, token};
use crate::failure::FailureKind;

fn keyed(id: &str, seq: u64, key: &str) -> Change {
    let accepted = entry(id, seq, Kind::EventAccepted, r#"{"event":"go","payload":null,"state":"draft"}"#);
    Change::Append(Entry { key: Some(key.to_owned()), ..accepted })
}

/// Two decisions that both think they are next cannot both be written.
pub fn a_sequence_number_is_used_once(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1")), insert(token("t-2")), note("t-1", 1), note("t-2", 1)]);
    assert_eq!(db.refuse(&[note("t-1", 2), note("t-1", 1)]).kind, FailureKind::Statement);
    db.write(&[note("t-1", 2)]);
    assert_eq!(db.reader().history("t-1", 0, 9).unwrap().unwrap().len(), 2);
}

/// In one token; another token may use the same key, and no key is no key.
pub fn a_key_is_used_once_in_a_token(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1")), insert(token("t-2")), keyed("t-1", 1, "k"), note("t-1", 2)]);
    assert_eq!(db.refuse(&[keyed("t-1", 3, "k")]).kind, FailureKind::Statement);
    db.write(&[keyed("t-2", 1, "k"), keyed("t-1", 3, "K"), note("t-1", 4)]);

    let mut used = |token: &str, key: &str| {
        let wanted = Wanted { token: Some(token.to_owned()), key: Some(key.to_owned()), ..Wanted::default() };
        db.load(&wanted).key_used
    };
    assert!(used("t-1", "k") && used("t-2", "k") && used("t-1", "K"));
    assert!(!used("t-2", "K") && !used("t-1", "k ") && !used("no-such-token", "k"));
}

/// Oldest first, after a number, at most so many.
pub fn history_comes_in_pages(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1")), insert(token("t-11"))]);
    let notes: Vec<Change> = (1..=25).map(|seq| note("t-1", seq)).collect();
    db.write(&notes);
    let page = |after: u64, limit: u32| {
        let entries = db.reader().history("t-1", after, limit).unwrap().unwrap();
        entries.iter().map(|entry| entry.seq).collect::<Vec<_>>()
    };
    assert_eq!(page(0, 10), Vec::from_iter(1..=10));
    assert_eq!(page(10, 100), Vec::from_iter(11..=25));
    assert!(page(25, 10).is_empty() && page(u64::MAX, 10).is_empty() && page(0, 0).is_empty());
    assert_eq!(db.reader().history("t-11", 0, 10).unwrap(), Some(Vec::new()));
    assert_eq!(db.reader().history("t-2", 0, 10).unwrap(), None);
}

/// Every word that the engine has for an entry has a place in the database, and so has what is private about it.
pub fn every_kind_comes_back(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    db.write(&[insert(token("t-1"))]);
    let mut expected = Vec::new();
    for (seq, kind) in (1..).zip(Kind::ALL) {
        let at = NOW.plus_ms(i64::try_from(seq).unwrap());
        let private = match seq % 4 {
            0 => None,
            1 => Some(Private::Timer { id: seq, payload: None }),
            2 => Some(Private::Timer { id: u64::MAX, payload: Some(object(r#"{"n":1.50}"#)) }),
            _ => Some(Private::stored("é")),
        };
        let recorded = Entry { at, private, ..entry("t-1", seq, kind, r#"{"b":1,"a":2}"#) };
        db.write(&[Change::Append(recorded.clone())]);
        expected.push(recorded);
    }
    assert_eq!(db.reader().history("t-1", 0, 1000).unwrap().unwrap(), expected);
}
