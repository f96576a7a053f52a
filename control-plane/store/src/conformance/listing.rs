//! Listings of tokens: order, filters, pages.

use stateous_engine::change::Change;
use stateous_engine::model::{Status, Token};

use super::Harness;
use super::db::{Db, NOW};
use super::samples::{insert, token};
use crate::rows::{TokenFilter, TokenPlace};

fn ids(db: &Db<'_>, filter: &TokenFilter) -> Vec<String> {
    db.reader().tokens(filter).unwrap().tokens.into_iter().map(|listed| listed.id).collect()
}

fn row(id: &str, at: i64, status: Status, parent: Option<&str>) -> Token {
    Token { entered_at: NOW.plus_ms(at), status, parent: parent.map(str::to_owned), ..token(id) }
}

fn write(db: &mut Db<'_>, id: &str, at: i64, status: Status, parent: Option<&str>) {
    db.write(&[insert(row(id, at, status, parent))]);
}

/// Reads a listing page by page, and checks that every page but the last says where the next one begins.
fn paged(db: &Db<'_>, filter: &TokenFilter) -> Vec<String> {
    let mut filter = filter.clone();
    let mut found = Vec::new();
    loop {
        let page = db.reader().tokens(&filter).unwrap();
        assert!(page.tokens.len() <= filter.limit as usize);
        found.extend(page.tokens.into_iter().map(|listed| listed.id));
        match page.next {
            Some(place) => {
                assert_ne!(Some(&place), filter.after.as_ref(), "a page leads to itself");
                filter.after = Some(place);
            }
            None => return found,
        }
    }
}

/// Whatever their statuses.
pub fn the_newest_come_first_then_by_id(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let all = TokenFilter::newest(100);
    assert!(ids(&db, &all).is_empty());
    write(&mut db, "b", 1, Status::Active, None);
    write(&mut db, "a", 1, Status::Completed, None);
    write(&mut db, "C", 1, Status::Active, None);
    write(&mut db, "old", 0, Status::Failed, None);
    write(&mut db, "new", 2, Status::Paused, None);
    assert_eq!(ids(&db, &all), ["new", "C", "a", "b", "old"]);
    let listed = &db.reader().tokens(&all).unwrap().tokens[2];
    assert_eq!(listed.status, Status::Completed);
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
        let parent = parent.map(str::to_owned);
        let filter = TokenFilter { status, parent, ..TokenFilter::newest(limit) };
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

/// By workflow, state, and the beginning of an id, with every other filter beside them.
pub fn workflow_state_and_prefix_narrow_too(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let place = |id: &str, at: i64, workflow: &str, state: &str, parent: Option<&str>| {
        let status = if at % 2 == 0 { Status::Active } else { Status::Failed };
        let (workflow, state) = (workflow.to_owned(), state.to_owned());
        insert(Token { workflow, state, ..row(id, at, status, parent) })
    };
    db.write(&[
        place("B-1", 0, "orders", "draft", None),
        place("a-1", 1, "orders", "review", None),
        place("b-2", 2, "orders", "review", None),
        place("B-10", 3, "sdlc", "review", None),
        place("b-1.x", 4, "sdlc", "draft", Some("B-1")),
        place("b-1.y", 5, "sdlc", "review", Some("B-1")),
    ]);
    let check = |filter: TokenFilter, expected: &[&str]| {
        assert_eq!(ids(&db, &filter), expected, "{filter:?}");
        for limit in 1..=3 {
            assert_eq!(paged(&db, &TokenFilter { limit, ..filter.clone() }), expected, "{limit} {filter:?}");
        }
    };
    let all = || TokenFilter::newest(100);
    let text = |text: &str| Some(text.to_owned());
    check(TokenFilter { workflow: text("orders"), ..all() }, &["b-2", "a-1", "B-1"]);
    check(TokenFilter { workflow: text("orders"), status: Some(Status::Active), ..all() }, &["b-2", "B-1"]);
    check(TokenFilter { workflow: text("orders"), state: text("review"), ..all() }, &["b-2", "a-1"]);
    check(TokenFilter { workflow: text("other"), ..all() }, &[]);
    check(TokenFilter { state: text("review"), ..all() }, &["b-1.y", "B-10", "b-2", "a-1"]);
    check(TokenFilter { parent: text("B-1"), state: text("review"), ..all() }, &["b-1.y"]);
    check(TokenFilter { prefix: text("b-1"), ..all() }, &["B-1", "b-1.x", "b-1.y", "B-10"]);
    check(TokenFilter { prefix: text("B-1"), state: text("review"), ..all() }, &["b-1.y", "B-10"]);
    check(TokenFilter { prefix: text("b"), status: Some(Status::Failed), ..all() }, &["b-1.y", "B-10"]);
    check(TokenFilter { prefix: text("b"), parent: text("B-1"), ..all() }, &["b-1.x", "b-1.y"]);
    check(TokenFilter { prefix: text("b-3"), ..all() }, &[]);
}

/// Equal instants, every status: each token comes once, whatever the page's size.
pub fn pages_follow_one_another(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let changes: Vec<Change> =
        (0..23).map(|n| insert(row(&format!("T-{n}"), n / 4, Status::ALL[n as usize % 5], None))).collect();
    db.write(&changes);
    let all = ids(&db, &TokenFilter::newest(100));
    assert_eq!(all.len(), 23);
    for limit in [1, 2, 3, 7, 22, 23, 24] {
        assert_eq!(paged(&db, &TokenFilter::newest(limit)), all, "{limit} a page");
    }
    // The last page is known to be the last.
    assert_eq!(db.reader().tokens(&TokenFilter::newest(23)).unwrap().next, None);
}

/// A token that moves on while somebody turns pages neither comes twice nor hides another.
pub fn a_place_stays_when_its_token_moves(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    for (n, id) in ["a", "b", "c", "d"].into_iter().enumerate() {
        write(&mut db, id, n as i64, Status::Active, None);
    }
    let first = db.reader().tokens(&TokenFilter::newest(2)).unwrap();
    let next = first.next.unwrap();
    assert_eq!(next, TokenPlace { entered_at: NOW.plus_ms(2), id: "c".to_owned() });
    db.write(&[Change::UpdateToken(row("c", 9, Status::Active, None))]);
    assert_eq!(ids(&db, &TokenFilter { after: Some(next), ..TokenFilter::newest(9) }), ["b", "a"]);
}

/// What is left out can be read by its id.
pub fn contexts_are_read_up_to_a_size(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    for id in ["a", "b", "c"] {
        write(&mut db, id, 0, Status::Active, None);
    }
    let size = r#"{"title":"first order"}"#.len();
    let page = |bytes: usize| db.reader().tokens(&TokenFilter { bytes, ..TokenFilter::newest(9) }).unwrap();
    let split = |bytes: usize| (page(bytes).tokens.len(), page(bytes).rest);
    assert_eq!(split(usize::MAX), (3, vec![]));
    assert_eq!(split(size + 1), (2, vec!["c".to_owned()]));
    assert_eq!(split(1), (1, vec!["b".to_owned(), "c".to_owned()]));

    let rest = ["b".to_owned(), "gone".to_owned(), "B".to_owned(), "c".to_owned()];
    let read = |bytes: usize| {
        let (tokens, taken) = db.reader().listed(&rest, bytes).unwrap();
        (tokens.into_iter().map(|one| one.id).collect::<Vec<_>>(), taken)
    };
    assert_eq!(read(usize::MAX), (vec!["b".to_owned(), "c".to_owned()], 4));
    assert_eq!(read(0), (vec!["b".to_owned()], 1));
}
