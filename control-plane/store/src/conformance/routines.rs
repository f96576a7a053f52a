//! Components, and the states that they serve.

use super::Harness;
use super::db::{Db, NOW};
use crate::rows::{Assignment, RoutineLimits, Upload};
use crate::traits::NewAssignment;

const LIMITS: RoutineLimits =
    RoutineLimits { fuel: Some(1), memory_bytes: None, wall_ms: Some(2), http: Vec::new() };

fn upload(bytes: &[u8]) -> Upload {
    // Not a real digest: the store takes it as a name.
    let digest =
        format!("sha256:{:0>64x}", bytes.iter().fold(bytes.len(), |n, b| n * 31 % 99_991 + *b as usize));
    Upload { digest, size: bytes.len() as u64, sdk: Some("rust 0.1.0".to_owned()), uploaded_at: NOW }
}

fn assign(
    db: &mut Db<'_>,
    state: &str,
    bytes: &[u8],
    name: &str,
    limits: &RoutineLimits,
    at: i64,
) -> Assignment {
    let to = NewAssignment { workflow: "orders", state, name, limits };
    let upload = Upload { uploaded_at: NOW.plus_ms(at), ..upload(bytes) };
    db.transact(|writer| writer.assign(&upload, bytes, to, NOW.plus_ms(at))).unwrap()
}

/// Puts a component in force for a state of `orders`.
pub(super) fn push(db: &mut Db<'_>, state: &str, bytes: &[u8]) -> Assignment {
    assign(db, state, bytes, "a.wasm", &RoutineLimits::default(), 0)
}

/// From nothing to more than a store can keep in one piece.
pub fn components_of_every_size_come_back(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let mib = 1 << 20;
    for size in [0, 1, mib - 1, mib, mib + 1, 3 * mib + 7] {
        let bytes: Vec<u8> = (0..size).map(|i| (i * 7 + i / 255) as u8).collect();
        let digest = push(&mut db, "draft", &bytes).digest;
        assert!(db.reader().component(&digest).unwrap() == Some(bytes), "{size} bytes");
    }
    assert_eq!(db.reader().component("sha256:none").unwrap(), None);
    // What is said of a component must be true of it.
    let wrong = Upload { size: 9, ..upload(b"four") };
    let to = NewAssignment { workflow: "orders", state: "draft", name: "x", limits: &LIMITS };
    db.writer().begin().unwrap();
    assert!(db.writer().assign(&wrong, b"four", to, NOW).is_err());
    db.writer().rollback();
}

/// For any number of states; when it first came stays on record.
pub fn a_component_is_kept_once(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let first = assign(&mut db, "draft", b"one", "one.wasm", &LIMITS, 0);
    let second = assign(&mut db, "review", b"one", "one.wasm", &RoutineLimits::default(), 5);
    assert_eq!((first.version, second.version), (1, 1));
    let listed = db.reader().assignments().unwrap();
    assert_eq!(listed, [(first.clone(), upload(b"one")), (second, upload(b"one"))]);
    assert_eq!(first.limits, LIMITS);
    assert_eq!(db.reader().component(&first.digest).unwrap().as_deref(), Some(&b"one"[..]));
}

/// The highest is in force, also when it is an old component again.
pub fn versions_only_grow(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let in_force = |db: &mut Db<'_>, state: &str| db.transact(|w| w.assignment("orders", state)).unwrap();
    assert_eq!(in_force(&mut db, "draft"), None);
    for (version, bytes) in (1..).zip([b"one", b"two", b"one"]) {
        let at = i64::try_from(version).unwrap();
        let assigned = assign(&mut db, "draft", bytes, "x.wasm", &LIMITS, at);
        let expected = Assignment {
            workflow: "orders".to_owned(),
            state: "draft".to_owned(),
            version,
            digest: upload(bytes).digest,
            name: "x.wasm".to_owned(),
            limits: LIMITS,
            assigned_at: NOW.plus_ms(at),
        };
        assert_eq!(assigned, expected);
        assert_eq!(in_force(&mut db, "draft"), Some(expected.clone()));
        let listed: Vec<Assignment> =
            db.reader().assignments().unwrap().into_iter().map(|(a, _)| a).collect();
        assert_eq!(listed, [expected]);
    }
    assert_eq!(in_force(&mut db, "review"), None);
    db.reopen();
    assert_eq!(in_force(&mut db, "draft").unwrap().version, 3);
}

/// The same bytes under the same limits; other limits are another version.
pub fn the_same_again_makes_no_version(harness: &dyn Harness) {
    let mut db = Db::open(harness);
    let first = assign(&mut db, "draft", b"one", "one.wasm", &LIMITS, 0);
    assert_eq!(assign(&mut db, "draft", b"one", "renamed.wasm", &LIMITS, 5), first);
    let other = RoutineLimits { fuel: None, ..LIMITS };
    let second = assign(&mut db, "draft", b"one", "one.wasm", &other, 6);
    assert_eq!((second.version, second.limits), (2, other));
    assert_eq!(assign(&mut db, "draft", b"one", "one.wasm", &LIMITS, 7).version, 3);
}
