//! Listings of tokens.

use stateous_engine::model::{Status, Token};

use super::Harness;
use super::db::{Db, NOW};
use super::samples::{insert, token};
use crate::rows::TokenFilter;

const ALL: TokenFilter = TokenFilter { status: None, parent: None, limit: 100 };

fn ids(db: &Db<'_>, filter: &TokenFilter) -> Vec<String> {
    db.reader().tokens(filter).unwrap().into_iter().map(|listed| listed.token.id).collect()
}

fn write(db: &mut Db<'_>, id: &str, at: i64, status: Status, parent: Option<&str>) {
    let row = Token { entered_at: NOW.plus_ms(at), status, parent: parent.map(str::to_owned), ..token(id) };
    db.write(&[insert(row)]);
}

/// Whatever their statuses.
pub fn the_newest_come_first_then_by_id(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    assert!(ids(&db, &ALL).is_empty());
    write(&mut db, "b", 1, Status::Active, None);
    write(&mut db, "a", 1, Status::Completed, None);
    write(&mut db, "C", 1, Status::Active, None);
    write(&mut db, "old", 0, Status::Failed, None);
    write(&mut db, "new", 2, Status::Paused, None);
    assert_eq!(ids(&db, &ALL), ["new", "C", "a", "b", "old"]);
    let listed = &db.reader().tokens(&ALL).unwrap()[2];
    assert_eq!(listed.token.status, Status::Completed);
    assert_eq!(&*listed.context, r#"{"title":"first order"}"#);
}

/// By status, by parent, by both.
pub fn filters_narrow_and_the_limit_cuts(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    write(&mut db, "p", 0, Status::Active, None);
    write(&mut db, "p.1", 1, Status::Active, Some("p"));
    write(&mut db, "p.2", 2, Status::Failed, Some("p"));
    write(&mut db, "p.3", 3, Status::Active, Some("p"));
    write(&mut db, "q", 4, Status::Failed, None);
    write(&mut db, "q.1", 5, Status::Active, Some("q"));

    let check = |status: Option<Status>, parent: Option<&str>, limit: u32, expected: &[&str]| {
        let filter = TokenFilter { status, parent: parent.map(str::to_owned), limit };
        assert_eq!(ids(&db, &filter), expected, "{filter:?}");
    };
    check(None, None, 2, &["q.1", "q"]);
    check(None, None, 0, &[]);
    check(Some(Status::Failed), None, 9, &["q", "p.2"]);
    check(Some(Status::Active), None, 3, &["q.1", "p.3", "p.1"]);
    check(Some(Status::Cancelled), None, 9, &[]);
    check(None, Some("p"), 9, &["p.3", "p.2", "p.1"]);
    check(None, Some("p"), 1, &["p.3"]);
    check(Some(Status::Active), Some("p"), 9, &["p.3", "p.1"]);
    check(None, Some("P"), 9, &[]);
}
