//! The golden file of the ledger: every kind of entry, in the form in which it was first stored.
//!
//! Each line is `{"kind": …, "data": …, "key": …}` with `data` as the stored text, and `private` where the entry has such a
//! part: the lines before have none, and stay readable. A later version must read every line
//! and write it again byte for byte. Lines are added for new kinds; a line that is there never changes.

use std::collections::BTreeSet;

use serde::Deserialize;
use stateous_engine::model::Kind;
use stateous_store::codec::{read_entry, read_private, write_entry, write_private};

const GOLDEN: &str = include_str!("golden/ledger.jsonl");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    kind: String,
    data: String,
    key: Option<String>,
    #[serde(default)]
    private: Option<String>,
}

fn lines() -> impl Iterator<Item = Line> {
    GOLDEN.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
}

#[test]
fn every_line_is_read_and_written_again_byte_for_byte() {
    for line in lines() {
        let (kind, data) =
            read_entry(&line.kind, &line.data).unwrap_or_else(|e| panic!("{}: {e:?}", line.kind));
        let again = write_entry(kind, &data);
        assert_eq!(again.kind, line.kind);
        assert_eq!(again.data, line.data);
        if let Some(text) = line.private {
            let private = read_private(&text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
            assert_eq!(write_private(&private), text);
        }
    }
}

#[test]
fn every_kind_has_a_line() {
    let seen: BTreeSet<String> = lines().map(|line| line.kind).collect();
    for kind in Kind::ALL {
        assert!(seen.contains(kind.as_str()), "add a line for `{}`; never change the others", kind.as_str());
    }
}

#[test]
fn only_events_from_outside_carry_a_key() {
    for line in lines() {
        let may = matches!(line.kind.as_str(), "event_accepted" | "event_deferred");
        assert!(may || line.key.is_none(), "{} has a key", line.kind);
    }
}
