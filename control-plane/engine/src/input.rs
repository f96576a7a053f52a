//! What happened or is asked. Every change of a token is one of these, and [`crate::decide`] is the only answer.

use std::sync::Arc;

use crate::json::{Json, Object};
use crate::model::Incarnation;

/// One thing that happened or is asked, about one token family.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Somebody starts a token. Starting one that exists changes nothing.
    StartToken {
        /// The id that the token is to have.
        token: String,
        /// The workflow; `None` is the default workflow.
        workflow: Option<String>,
        /// The context as given, without the schema's defaults.
        context: Object,
    },
    /// An event from outside: a person, a program, a webhook.
    FireEvent {
        /// The token.
        token: String,
        /// The event.
        event: String,
        /// Its payload.
        payload: Option<Object>,
        /// With a key, a second delivery is answered as a duplicate and changes nothing.
        key: Option<String>,
    },
    /// Somebody stops a token for a while. Only an active one.
    PauseToken {
        /// The token.
        token: String,
    },
    /// Somebody lets a paused token move again.
    ResumeToken {
        /// The token.
        token: String,
    },
    /// Somebody ends a token for good. Only an active or paused one.
    CancelToken {
        /// The token.
        token: String,
    },
    /// Somebody lets a failed token enter its last state again. The one change of a token that ended.
    RetryToken {
        /// The token.
        token: String,
    },
    /// A supervisor takes one queued task, which the store found for it.
    ClaimTask {
        /// The task.
        task: u64,
        /// The supervisor's name.
        supervisor: String,
        /// The claim's id: its request's, with its incarnation before it if it says one. The same id again gets the same
        /// grant again.
        request: Option<String>,
    },
    /// A supervisor repeats a claim whose answer it did not get: the same grant again, the lease renewed.
    RepeatClaim {
        /// A task that this supervisor got with this request.
        task: u64,
        /// The supervisor's name.
        supervisor: String,
        /// The claim's id.
        request: String,
    },
    /// The supervisor asks whether the routine may begin: run, or skip.
    StartTask {
        /// The task.
        task: u64,
        /// The attempt that the supervisor holds.
        attempt: u64,
        /// The supervisor's name.
        supervisor: String,
        /// Which start of it speaks, if it says so.
        incarnation: Option<Incarnation>,
    },
    /// A supervisor gives back what it claimed and did not begin, as when it stops. No failure is counted.
    ReturnTask {
        /// The task.
        task: u64,
        /// The attempt that the supervisor holds.
        attempt: u64,
        /// The supervisor's name.
        supervisor: String,
        /// Which start of it speaks, if it says so.
        incarnation: Option<Incarnation>,
    },
    /// A supervisor was started again: what an earlier start of it held is free at once.
    AbandonTask {
        /// The task.
        task: u64,
        /// The new start.
        incarnation: Incarnation,
    },
    /// The supervisor still works on a task; its lease begins anew.
    RenewLease {
        /// The task.
        task: u64,
        /// The supervisor's name.
        supervisor: String,
        /// Which start of it speaks, if it says so.
        incarnation: Option<Incarnation>,
    },
    /// A task ended, or goes on outside.
    ReportTask {
        /// The task.
        task: u64,
        /// The supervisor that holds it; `None` is a report from outside.
        supervisor: Option<String>,
        /// Only for this attempt, if given.
        attempt: Option<u64>,
        /// How it ended.
        outcome: Outcome,
        /// The routine's context writes.
        context: Object,
        /// The routine's timers.
        schedules: Vec<Schedule>,
    },
    /// A line of progress in the token's history.
    AddNote {
        /// The task.
        task: u64,
        /// Only for this attempt, if given.
        attempt: Option<u64>,
        /// 1 to 500 characters, blanks at its ends cut.
        text: String,
    },
    /// One key of the routine's memory.
    SetMemory {
        /// The task.
        task: u64,
        /// Only for this attempt, if given.
        attempt: Option<u64>,
        /// 1 to 128 characters.
        key: String,
        /// The value as JSON text; `None` deletes the key.
        value: Option<Arc<str>>,
    },
    /// The clock found that a lease ended.
    ExpireLease {
        /// The task.
        task: u64,
    },
    /// The clock found that a timer is due.
    FireTimer {
        /// The timer.
        timer: u64,
    },
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The token moves by this event.
    Event {
        /// The event's name.
        event: String,
        /// Its payload.
        payload: Option<Object>,
    },
    /// The work goes on outside.
    Waiting,
    /// It failed.
    Failed {
        /// Why, for people.
        error: String,
        /// Whether another attempt makes sense; `false` spends the retries that are left.
        retry: bool,
    },
}

/// A timer that a routine asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The event to fire.
    pub event: String,
    /// Its payload.
    pub payload: Option<Object>,
    /// A duration: `30s`, `10m`, `6h`, `1d`.
    pub after: String,
}

impl Schedule {
    /// The timer as a report says it.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut out = Object::new();
        out.insert("event".into(), self.event.clone().into());
        if let Some(payload) = &self.payload {
            out.insert("payload".into(), Json::Object(payload.clone()));
        }
        out.insert("after".into(), self.after.clone().into());
        Json::Object(out)
    }

    /// A timer as [`Schedule::to_json`] says it; `None` for anything else.
    #[must_use]
    pub fn of_json(json: &Json) -> Option<Self> {
        let fields = json.as_object()?;
        let text = |name: &str| fields.get(name)?.as_str().map(str::to_owned);
        let payload = match fields.get("payload") {
            None => None,
            Some(payload) => Some(payload.as_object()?.clone()),
        };
        Some(Self { event: text("event")?, payload, after: text("after")? })
    }
}
