//! Tasks, the supervisors that work on them, and what these say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Incarnation, Raw};

/// One task. *Ours*: a row of `GET /tasks`, and the answer of `GET /tasks/{n}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    /// Its number.
    pub task: u64,
    /// Whose work it is.
    pub token: String,
    /// The token's workflow.
    pub workflow: String,
    /// The state to do.
    pub state: String,
    /// The token's visit of that state.
    pub visit: u64,
    /// `queued`, `claimed`, `waiting`, `done`, `failed` or `cancelled`: the original's words.
    pub status: String,
    /// The same in our words, which tell `started` from `claimed`.
    pub phase: String,
    /// The attempt that runs or ran last; 0 before the first.
    pub attempt: u64,
    /// How many attempts failed.
    pub failures: u64,
    /// The supervisor that holds it, or held it last; absent while it is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<String>,
    /// When the lease of its attempt ends unless it is renewed: ISO 8601, UTC, `Z`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<String>,
    /// When its token entered the state: ISO 8601, UTC, `Z`.
    pub queued_at: String,
}

/// One supervisor. *Ours*: a row of `GET /supervisors`, which lists those that spoke in the last ten minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Supervisor {
    /// Its name.
    pub name: String,
    /// When it spoke last: ISO 8601, UTC, `Z`.
    pub last_seen: String,
    /// The states that it asked for last, spelled as in a claim. Absent: any state to which a component is assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<Vec<String>>,
    /// Whether it asks only for states to which a component is assigned.
    pub routines: bool,
    /// How many tasks it holds now.
    pub tasks: u64,
}

/// Body of `POST /tasks/{n}/started`. *Ours*: our supervisors ask before the routine begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct StartedRequest {
    /// The supervisor's name.
    pub supervisor: String,
    /// The attempt that it holds.
    pub attempt: u64,
    /// *Ours*: which start of it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
}

/// Body of `POST /tasks/{n}/return`. *Ours*: a supervisor gives back what it claimed and did not begin; no failure is
/// counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ReturnRequest {
    /// The supervisor's name.
    pub supervisor: String,
    /// The attempt that it holds.
    pub attempt: u64,
    /// Which start of it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
}

/// Answer of `POST /tasks/{n}/started`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "disposition", rename_all = "snake_case")]
pub enum Disposition {
    /// The routine may begin.
    Run,
    /// The attempt is over: do not run it, do not report it.
    Skip {
        /// Why, for people.
        reason: String,
    },
}

/// Body of `POST /tasks/heartbeat`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct HeartbeatRequest {
    /// The supervisor's name.
    pub supervisor: String,
    /// The tasks that it works on, at most 1000.
    pub tasks: Vec<u64>,
    /// *Ours*: which start of it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
}

/// Answer of `POST /tasks/heartbeat`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatAnswer {
    /// The tasks that the supervisor no longer holds, sorted. The leases of the others began anew.
    pub lost: Vec<u64>,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportKind {
    /// The token moves by an event.
    Event,
    /// The work goes on outside.
    Waiting,
    /// The attempt failed.
    Failed,
}

/// Body of `POST /tasks/{n}/report`.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Report {
    /// How it ended.
    pub kind: ReportKind,
    /// The event; only with [`ReportKind::Event`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The event's payload: a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Raw>,
    /// Why, for people; only with [`ReportKind::Failed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// *Ours*: whether another attempt makes sense; only with [`ReportKind::Failed`]. `false` gives up the retries that
    /// are left.
    #[serde(skip_serializing_if = "is_true")]
    #[schema(required = false)]
    pub retry: bool,
    /// The routine's context writes, by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, Value>, required = false)]
    pub context: BTreeMap<String, Raw>,
    /// The routine's timers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub schedules: Vec<Schedule>,
    /// The attempt that it is for. Without it, whatever attempt runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// The supervisor that holds the task. Without it, it is a report from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<String>,
}

impl Report {
    /// The token moves by `event`.
    #[must_use]
    pub fn event(event: impl Into<String>, payload: Option<Raw>) -> Self {
        Self { event: Some(event.into()), payload, ..Self::of(ReportKind::Event) }
    }

    /// The work goes on outside.
    #[must_use]
    pub fn waiting() -> Self {
        Self::of(ReportKind::Waiting)
    }

    /// The attempt failed; `retry` says whether another one makes sense.
    #[must_use]
    pub fn failed(error: impl Into<String>, retry: bool) -> Self {
        Self { error: Some(error.into()), retry, ..Self::of(ReportKind::Failed) }
    }

    const fn of(kind: ReportKind) -> Self {
        Self {
            kind,
            event: None,
            payload: None,
            error: None,
            retry: true,
            context: BTreeMap::new(),
            schedules: Vec::new(),
            attempt: None,
            supervisor: None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_true(value: &bool) -> bool {
    *value
}

/// A timer that a routine asks for: it fires only while the token is still in the state.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Schedule {
    /// The event to fire.
    pub event: String,
    /// Its payload: a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Raw>,
    /// A duration, counted from the acceptance of the report: `30s`, `10m`, `6h`, `1d`.
    pub after: String,
}

/// Body of `POST /tasks/{n}/note`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct NoteRequest {
    /// 1 to 500 characters, after the blanks at its ends are cut.
    pub text: String,
    /// The attempt that writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
}

/// Body of `PUT /tasks/{n}/memory`.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MemoryRequest {
    /// 1 to 128 characters.
    pub key: String,
    /// Any JSON value; `None` goes out as `null` and deletes the key.
    #[schema(value_type = Value, required)]
    pub value: Option<Raw>,
    /// The attempt that writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &impl Serialize, text: &str) {
        assert_eq!(serde_json::to_string(body).unwrap(), text);
    }

    fn raw(text: &str) -> Raw {
        serde_json::value::RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn reports_send_only_what_they_have() {
        check(&Report::waiting(), r#"{"kind":"waiting"}"#);
        check(&Report::failed("no disk", false), r#"{"kind":"failed","error":"no disk","retry":false}"#);
        check(&Report::failed("no disk", true), r#"{"kind":"failed","error":"no disk"}"#);
        let full = Report {
            context: BTreeMap::from([("n".into(), raw("1.000"))]),
            schedules: vec![Schedule { event: "nudge".into(), payload: None, after: "10m".into() }],
            attempt: Some(2),
            supervisor: Some("vm".into()),
            ..Report::event("done", Some(raw(r#"{"z": 1, "a": 2}"#)))
        };
        check(
            &full,
            r#"{"kind":"event","event":"done","payload":{"z": 1, "a": 2},"context":{"n":1.000},"schedules":[{"event":"nudge","after":"10m"}],"attempt":2,"supervisor":"vm"}"#,
        );
    }

    #[test]
    fn a_deleted_memory_key_is_null() {
        check(
            &MemoryRequest { key: "k".into(), value: None, attempt: Some(1) },
            r#"{"key":"k","value":null,"attempt":1}"#,
        );
    }

    #[test]
    fn dispositions_are_read_back() {
        for one in [Disposition::Run, Disposition::Skip { reason: "the attempt is over".into() }] {
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<Disposition>(&text).unwrap(), one, "{text}");
        }
    }
}
