//! The exact bodies that go out: what an attempt says, in the words of the wire.
//!
//! The runtime has checked the form of everything that a routine hands over. What is left to check here is the whole:
//! a report that would be refused for its size becomes a failed report that says so.

use std::error::Error as _;

use serde::Serialize;
use serde_json::value::RawValue;
use stateous_api::{MemoryRequest, NoteRequest, Raw, Report, Schedule};
use stateous_runtime::{Ended, Outcome, PrepareError};

/// The largest body that the control plane takes, in bytes.
const BODY_BYTES_MAX: usize = 1 << 20;
/// The most bytes of a failed report's text.
const ERROR_BYTES_MAX: usize = 8 << 10;
/// How the error of a failed report begins that stands for a refused one, as the original writes it.
const REFUSED: &str = "the control plane refused the report: ";

/// Who reports.
#[derive(Debug, Clone)]
pub(crate) struct Reporter {
    /// The supervisor's name.
    pub(crate) supervisor: String,
    /// The attempt.
    pub(crate) attempt: u64,
}

impl Reporter {
    /// The report of how a routine ended.
    pub(crate) fn ended(&self, ended: Ended) -> String {
        match report(ended) {
            Ok(report) => {
                let body = self.body(report);
                if body.len() <= BODY_BYTES_MAX {
                    return body;
                }
                let size = body.len();
                self.failed(
                    &format!(
                        "the report has {size} bytes with its payload, context writes and timers; at most \
                         {BODY_BYTES_MAX} are sent. Keep large values elsewhere and pass on where they are"
                    ),
                    true,
                )
            }
            Err(why) => self.failed(&why, true),
        }
    }

    /// The attempt failed.
    pub(crate) fn failed(&self, error: &str, retry: bool) -> String {
        self.body(Report::failed(presentable(error), retry))
    }

    /// The component could not be made ready.
    pub(crate) fn unprepared(&self, error: &PrepareError) -> String {
        let mut text = format!("{}: {error}", error.code());
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        self.failed(&text, error.is_transient())
    }

    /// The control plane refused the report, and the task is still ours.
    pub(crate) fn refused(&self, sentence: &str) -> String {
        self.failed(&format!("{REFUSED}{sentence}"), true)
    }

    /// The control plane refused a note or a memory write, and the task is still ours.
    pub(crate) fn write_refused(&self, what: &str, sentence: &str) -> String {
        self.failed(&format!("write_refused: the control plane refused a {what}: {sentence}"), true)
    }

    /// A message of the attempt was damaged on this supervisor's disk, so nobody knows what it said.
    pub(crate) fn outbox_damaged(&self, why: &str) -> String {
        self.failed(
            &format!(
                "outbox_damaged: a message of this attempt was damaged on the disk of {} and could not be sent ({why}); it is \
                 kept aside in outbox.db",
                self.supervisor
            ),
            true,
        )
    }

    fn body(&self, report: Report) -> String {
        json(&Report { attempt: Some(self.attempt), supervisor: Some(self.supervisor.clone()), ..report })
    }
}

/// A memory write; no value deletes the key.
pub(crate) fn memory(attempt: u64, key: &str, value: Option<&str>) -> Result<String, serde_json::Error> {
    let value = value.map(raw).transpose()?;
    Ok(json(&MemoryRequest { key: key.to_owned(), value, attempt: Some(attempt) }))
}

/// A note.
pub(crate) fn note(attempt: u64, text: &str) -> String {
    json(&NoteRequest { text: text.to_owned(), attempt: Some(attempt) })
}

/// What a stored report says, for the log: the event, `waiting` or `failed`.
pub(crate) fn said(body: &str) -> String {
    let report: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let text = |key: &str| report.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
    text("event").or_else(|| text("kind")).unwrap_or_else(|| "something unreadable".into())
}

fn report(ended: Ended) -> Result<Report, String> {
    let unfit = |what: &str, error: serde_json::Error| format!("{what} is not JSON: {error}");
    let mut report = match ended.outcome {
        Outcome::Event(event) => {
            let payload = event.payload.as_deref().map(raw).transpose();
            Report::event(event.name, payload.map_err(|error| unfit("the payload", error))?)
        }
        Outcome::Waiting => Report::waiting(),
        Outcome::Failed { message, retry } => return Ok(Report::failed(presentable(&message), retry)),
        Outcome::Stopped { code, message } => {
            let text = format!("{}: {message}", code.as_str());
            return Ok(Report::failed(presentable(&text), true));
        }
    };
    for (key, value) in ended.context_writes {
        let value = raw(&value).map_err(|error| unfit(&format!("the context's {key:?}"), error))?;
        report.context.insert(key, value);
    }
    for timer in ended.schedules {
        let payload = timer.event.payload.as_deref().map(raw).transpose();
        let payload = payload.map_err(|error| unfit("a timer's payload", error))?;
        report.schedules.push(Schedule { event: timer.event.name, payload, after: timer.after });
    }
    Ok(report)
}

fn raw(text: &str) -> Result<Raw, serde_json::Error> {
    RawValue::from_string(text.to_owned())
}

fn json(body: &impl Serialize) -> String {
    serde_json::to_string(body).expect("wire types are made of text, numbers and JSON text")
}

/// Text for people that no form can refuse: not empty, bounded, without characters that play tricks.
fn presentable(text: &str) -> String {
    const MARK: &str = "…";
    let mut out = String::with_capacity(text.len().min(ERROR_BYTES_MAX));
    for c in text.trim().chars() {
        if c.is_control() && c != '\n' && c != '\t' {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        if out.len() > ERROR_BYTES_MAX {
            out.truncate(out.floor_char_boundary(ERROR_BYTES_MAX - MARK.len()));
            out.push_str(MARK);
            break;
        }
    }
    if out.is_empty() { "no reason given".into() } else { out }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stateous_runtime::{Event, StopCode};

    use super::*;

    fn ended(outcome: Outcome) -> Ended {
        let (context_writes, schedules) = (BTreeMap::new(), Vec::new());
        Ended { outcome, context_writes, schedules, stats: stateous_runtime::Stats::default() }
    }

    fn reporter() -> Reporter {
        Reporter { supervisor: "vm".into(), attempt: 2 }
    }

    fn check(outcome: Outcome, body: &str) {
        assert_eq!(reporter().ended(ended(outcome)), body);
    }

    #[test]
    fn every_outcome_has_its_report() {
        check(
            Outcome::Event(Event { name: "done".into(), payload: Some(r#"{"n": 1.000}"#.into()) }),
            r#"{"kind":"event","event":"done","payload":{"n": 1.000},"attempt":2,"supervisor":"vm"}"#,
        );
        check(Outcome::Waiting, r#"{"kind":"waiting","attempt":2,"supervisor":"vm"}"#);
        check(
            Outcome::Failed { message: "no disk".into(), retry: false },
            r#"{"kind":"failed","error":"no disk","retry":false,"attempt":2,"supervisor":"vm"}"#,
        );
        check(
            Outcome::Stopped { code: StopCode::FuelExhausted, message: "50 G".into() },
            r#"{"kind":"failed","error":"fuel_exhausted: 50 G","attempt":2,"supervisor":"vm"}"#,
        );
    }

    #[test]
    fn context_writes_and_timers_go_out_as_they_are() {
        let mut ended = ended(Outcome::Waiting);
        ended.context_writes.insert("k".into(), "[1,  2]".into());
        let event = Event { name: "nudge".into(), payload: None };
        ended.schedules.push(stateous_runtime::Schedule { event, after: "10m".into() });
        assert_eq!(
            reporter().ended(ended),
            r#"{"kind":"waiting","context":{"k":[1,  2]},"schedules":[{"event":"nudge","after":"10m"}],"attempt":2,"supervisor":"vm"}"#
        );
    }

    #[test]
    fn a_report_that_is_too_large_fails_instead() {
        let mut large = ended(Outcome::Waiting);
        large.context_writes.insert("k".into(), format!("\"{}\"", "x".repeat(1 << 20)));
        let body = reporter().ended(large);
        assert!(body.starts_with(r#"{"kind":"failed","error":"the report has 1048"#), "{body}");
    }

    #[test]
    fn errors_are_bounded_and_clean() {
        assert_eq!(presentable("  a\0b\x1b[31m\nc\t\r"), "a\\u{0}b\\u{1b}[31m\nc");
        assert_eq!(presentable(" \n"), "no reason given");
        let long = presentable(&"ä".repeat(10_000));
        assert!(long.len() <= ERROR_BYTES_MAX && long.ends_with('…') && long.len() > ERROR_BYTES_MAX - 8);
    }

    #[test]
    fn writes_carry_their_attempt() {
        assert_eq!(memory(3, "k", Some("[1, 2]")).unwrap(), r#"{"key":"k","value":[1, 2],"attempt":3}"#);
        assert_eq!(memory(3, "k", None).unwrap(), r#"{"key":"k","value":null,"attempt":3}"#);
        assert_eq!(note(1, "a \"b\""), r#"{"text":"a \"b\"","attempt":1}"#);
        memory(3, "k", Some("nonsense")).unwrap_err();
    }

    #[test]
    fn what_a_report_said() {
        let check = |body: &str, wanted: &str| assert_eq!(said(body), wanted);
        check(r#"{"kind":"event","event":"done"}"#, "done");
        check(r#"{"kind":"failed","error":"x"}"#, "failed");
        check("?", "something unreadable");
    }
}
