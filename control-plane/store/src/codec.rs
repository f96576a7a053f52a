//! The stored form: how rows of the engine become the text columns of a database, and back.
//!
//! Every store writes exactly this, so that a database can be read by any later version and compared across stores.
//! JSON is text, never a database's own JSON type: key order and every digit come back as they went in. Reading is
//! strict, since what we read decides what a token does next: a word or a shape that this program does not know is a
//! failure that names the row's column, never a guess. `tests/golden/ledger.jsonl` holds one line for each kind of
//! ledger entry; lines are added, never changed. Which column holds what, and how it is found, is left to the stores.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use stateous_engine::input::Schedule;
use stateous_engine::json::{Json, Object, parse_stored};
use stateous_engine::model::{Kind, Private, Status, TaskStatus, TimerKind};

use crate::failure::{Failure, FailureKind};
use crate::rows::RoutineLimits;

/// A ledger entry's kind and data as they are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry {
    /// The kind's spelling.
    pub kind: &'static str,
    /// The data, a JSON object in one line.
    pub data: String,
}

/// The stored form of an entry's kind and data.
#[must_use]
pub fn write_entry(kind: Kind, data: &Object) -> StoredEntry {
    StoredEntry { kind: kind.as_str(), data: write_object(data) }
}

/// The kind and data of a stored entry.
///
/// # Errors
/// When the kind is not one of ours, or the data is not a JSON object.
pub fn read_entry(kind: &str, data: &str) -> Result<(Kind, Object), Failure> {
    let kind = Kind::parse(kind).ok_or_else(|| unknown("ledger.kind", kind))?;
    Ok((kind, read_object("ledger.data", data)?))
}

/// The stored form of an entry's private part: `{"timer":3}`, with the `payload` of a timer that was set, or
/// `{"stored":"<SHA-256 in hex>"}`.
#[must_use]
pub fn write_private(private: &Private) -> String {
    let mut out = Object::new();
    match private {
        Private::Timer { id, payload } => {
            out.insert("timer".to_owned(), (*id).into());
            if let Some(payload) = payload {
                out.insert("payload".to_owned(), Json::Object(payload.clone()));
            }
        }
        Private::Stored(digest) => {
            out.insert("stored".to_owned(), hex::encode(digest).into());
        }
    }
    write_object(&out)
}

/// The private part of a stored entry.
///
/// # Errors
/// When the text is not one that [`write_private`] writes.
pub fn read_private(text: &str) -> Result<Private, Failure> {
    const COLUMN: &str = "ledger.private";
    let fields = read_object(COLUMN, text)?;
    let mut rest = fields.iter().map(|(name, value)| (name.as_str(), value));
    let first = rest.next();
    let found = match (first, rest.next(), rest.next()) {
        (Some(("timer", id)), payload, None) => {
            let payload = match payload {
                None => Some(None),
                Some(("payload", payload)) => payload.as_object().cloned().map(Some),
                Some(_) => None,
            };
            id.as_u64().zip(payload).map(|(id, payload)| Private::Timer { id, payload })
        }
        (Some(("stored", digest)), None, None) => {
            let mut bytes = [0; 32];
            let digest = digest.as_str().filter(|text| hex::decode_to_slice(text, &mut bytes).is_ok());
            digest.map(|_| Private::Stored(bytes))
        }
        _ => None,
    };
    found.ok_or_else(|| {
        Failure::new(
            FailureKind::Statement,
            message(COLUMN, format_args!("does not hold a timer or a digest")),
        )
    })
}

/// The stored form of an object, such as a payload.
#[must_use]
pub fn write_object(object: &Object) -> String {
    text(object)
}

/// The object of `column`.
///
/// # Errors
/// When the text is not a JSON object.
pub fn read_object(column: &'static str, text: &str) -> Result<Object, Failure> {
    // Not serde_json's reader: it takes `{"$serde_json::private::Number": "1"}`, which anybody may send, for a number.
    parse_stored(text).map_err(|e| damaged(column, "a JSON object", e))
}

/// The stored form of the timers of a held outcome: as a report says them.
#[must_use]
pub fn write_schedules(schedules: &[Schedule]) -> String {
    text(&schedules.iter().map(Schedule::to_json).collect::<Vec<_>>())
}

/// The timers of a held outcome.
///
/// # Errors
/// When the text is not a list of timers as a report says them.
pub fn read_schedules(text: &str) -> Result<Vec<Schedule>, Failure> {
    const COLUMN: &str = "held.schedules";
    // Our own reader takes objects only.
    let wrapped = read_object(COLUMN, &format!(r#"{{"schedules":{text}}}"#))?;
    let odd = || {
        let message = message(COLUMN, format_args!("does not hold a list of timers"));
        Failure::new(FailureKind::Statement, message)
    };
    let items = wrapped.get("schedules").and_then(Json::as_array).ok_or_else(odd)?;
    items.iter().map(|item| Schedule::of_json(item).ok_or_else(odd)).collect()
}

/// The stored form of how often each state was entered or each event accepted.
#[must_use]
pub fn write_counts(counts: &BTreeMap<String, u64>) -> String {
    text(counts)
}

/// How often each state was entered or each event accepted.
///
/// # Errors
/// When the text is not a JSON object of whole numbers.
pub fn read_counts(column: &'static str, text: &str) -> Result<BTreeMap<String, u64>, Failure> {
    serde_json::from_str(text).map_err(|e| damaged(column, "a JSON object of whole numbers", e))
}

/// The stored form of a routine's limits: only those that were given.
#[must_use]
pub fn write_limits(limits: &RoutineLimits) -> String {
    let RoutineLimits { fuel, memory_bytes, wall_ms, http } = limits.clone();
    text(&StoredLimits { fuel, memory_bytes, wall_ms, http })
}

/// A routine's limits.
///
/// # Errors
/// When the text has a limit that this program does not know and so could not enforce.
pub fn read_limits(text: &str) -> Result<RoutineLimits, Failure> {
    let StoredLimits { fuel, memory_bytes, wall_ms, http } =
        serde_json::from_str(text).map_err(|e| damaged("assignments.limits", "known limits", e))?;
    Ok(RoutineLimits { fuel, memory_bytes, wall_ms, http })
}

/// A token's status.
///
/// # Errors
/// When the word is not one of ours.
pub fn read_status(word: &str) -> Result<Status, Failure> {
    Status::parse(word).ok_or_else(|| unknown("tokens.status", word))
}

/// A task's status.
///
/// # Errors
/// When the word is not one of ours.
pub fn read_task_status(word: &str) -> Result<TaskStatus, Failure> {
    TaskStatus::parse(word).ok_or_else(|| unknown("tasks.status", word))
}

/// Who set a timer.
///
/// # Errors
/// When the word is not one of ours.
pub fn read_timer_kind(word: &str) -> Result<TimerKind, Failure> {
    TimerKind::parse(word).ok_or_else(|| unknown("timers.kind", word))
}

/// [`RoutineLimits`] as they are stored; the type itself also travels, where more may be said than we know.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fuel: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wall_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    http: Vec<String>,
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("objects and maps with text keys always have a JSON form")
}

/// One row is wrong, not the database: in a batch only the input that needs it fails.
fn damaged(
    column: &'static str,
    expected: &'static str,
    cause: impl std::error::Error + Send + Sync + 'static,
) -> Failure {
    Failure::caused(FailureKind::Statement, message(column, format_args!("does not hold {expected}")), cause)
}

fn unknown(column: &'static str, word: &str) -> Failure {
    let said = format_args!("holds {word:?}, which this program does not know");
    Failure::new(FailureKind::Statement, message(column, said))
}

fn message(column: &'static str, said: fmt::Arguments<'_>) -> String {
    format!(
        "the column {column} {said}: the row was damaged or written by a newer version; restore it from a backup"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        read_object("test", text).unwrap()
    }

    #[test]
    fn objects_come_back_as_they_went_in() {
        let digits = "7".repeat(400);
        for text in [
            "{}",
            r#"{"z":1,"a":{"y":[],"b":null}}"#,
            r#"{"nul":"\u0000","é":"\u001f😀","quote":"\""}"#,
            r#"{"$serde_json::private::Number":"x","deep":[{"$serde_json::private::RawValue":1}]}"#,
            r#"{"one":1.0,"tiny":1e-400,"minus":-0,"big":1E300}"#,
            &format!(r#"{{"n":{digits},"m":-0.{digits}}}"#),
        ] {
            let once = write_object(&object(text));
            assert_eq!(write_object(&object(&once)), once);
            // serde_json spells an exponent in one way only; all else stays as it was.
            assert_eq!(once, text.replace("1E300", "1e+300"));
        }
    }

    #[test]
    fn counts_and_limits_come_back() {
        let counts = BTreeMap::from([("draft".to_owned(), 2), ("a".to_owned(), u64::MAX)]);
        assert_eq!(write_counts(&counts), format!(r#"{{"a":{},"draft":2}}"#, u64::MAX));
        assert_eq!(read_counts("tokens.visits", &write_counts(&counts)).unwrap(), counts);
        for limits in [
            RoutineLimits::default(),
            RoutineLimits {
                fuel: Some(0),
                memory_bytes: Some(u64::MAX),
                wall_ms: Some(1),
                http: vec!["GET https://a/".to_owned()],
            },
        ] {
            assert_eq!(read_limits(&write_limits(&limits)).unwrap(), limits);
        }
        assert_eq!(
            write_limits(&RoutineLimits { wall_ms: Some(5), ..Default::default() }),
            r#"{"wall_ms":5}"#
        );
    }

    #[test]
    fn schedules_come_back() {
        let payload = Some(object(r#"{"n":1.50}"#));
        let plain = Schedule { event: "nudge".to_owned(), payload: None, after: "10m".to_owned() };
        let schedules = vec![plain.clone(), Schedule { payload, ..plain }];
        let text = write_schedules(&schedules);
        assert_eq!(
            text,
            r#"[{"event":"nudge","after":"10m"},{"event":"nudge","payload":{"n":1.50},"after":"10m"}]"#
        );
        assert_eq!(read_schedules(&text).unwrap(), schedules);
        assert_eq!(read_schedules("[]").unwrap(), []);
    }

    #[test]
    fn private_parts_come_back() {
        let check = |private: Private, text: &str| {
            assert_eq!(write_private(&private), text);
            assert_eq!(read_private(text).unwrap(), private);
        };
        check(Private::Timer { id: u64::MAX, payload: None }, &format!(r#"{{"timer":{}}}"#, u64::MAX));
        let payload = Some(object(r#"{"n":1.50}"#));
        check(Private::Timer { id: 3, payload }, r#"{"timer":3,"payload":{"n":1.50}}"#);
        check(Private::Stored([0xab; 32]), &format!(r#"{{"stored":"{}"}}"#, "ab".repeat(32)));
    }

    #[test]
    fn what_is_not_known_is_refused_and_named() {
        let check = |failure: Failure, says: &str| {
            assert_eq!(failure.kind, FailureKind::Statement);
            assert!(failure.message.contains(says), "{}", failure.message);
        };
        check(read_entry("moved", "{}").unwrap_err(), r#"ledger.kind holds "moved""#);
        check(read_entry("note", "[]").unwrap_err(), "ledger.data does not hold a JSON object");
        check(read_entry("note", r#"{"task":1"#).unwrap_err(), "ledger.data");
        check(read_object("timers.payload", "null").unwrap_err(), "timers.payload");
        for odd in ["{}", "[1]", "[", r#"[{"event":"a"}]"#, r#"[{"event":"a","after":"1s","payload":1}]"#] {
            check(read_schedules(odd).unwrap_err(), "held.schedules does not hold");
        }
        let long = format!(r#"{{"stored":"{}"}}"#, "ab".repeat(33));
        for odd in
            ["{}", r#"{"timer":-1}"#, r#"{"timer":1,"a":1}"#, r#"{"stored":"ab"}"#, r#"{"a":1}"#, &long]
        {
            check(read_private(odd).unwrap_err(), "ledger.private does not hold");
        }
        check(read_counts("tokens.counts", r#"{"a":-1}"#).unwrap_err(), "tokens.counts does not hold");
        check(read_counts("tokens.counts", r#"{"a":1.5}"#).unwrap_err(), "whole numbers");
        check(read_limits(r#"{"gpu":1}"#).unwrap_err(), "assignments.limits");
        check(read_status("ACTIVE").unwrap_err(), r#"tokens.status holds "ACTIVE""#);
        check(read_task_status("").unwrap_err(), "tasks.status");
        check(read_timer_kind("alarm").unwrap_err(), "timers.kind");
    }
}
