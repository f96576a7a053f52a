//! A held event: what arrived for a paused token and waits for its resume.

use crate::input::Schedule;
use crate::json::Object;

/// An event from outside, or the whole outcome of a task, that a paused token could not apply. Resume settles all that a
/// family holds, and so does cancel; an event that was settled has no row: the ledger keeps its story.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The token with which it is settled: the nearest child of a fan-out, itself or above it, else the family's top token.
    pub top: String,
    /// Its place among the events that the family holds: 1, 2, 3 and so on. They apply in this order.
    pub arrival: u64,
    /// The token that it is for.
    pub token: String,
    /// The event.
    pub event: String,
    /// Its payload.
    pub payload: Option<Object>,
    /// The task whose outcome it is; `None` for an event from outside, which applies in any state.
    pub origin: Option<Origin>,
    /// The outcome's context writes; saved with the event, or not at all.
    pub context: Object,
    /// The outcome's timers; set with the event, and counted from then.
    pub schedules: Vec<Schedule>,
}

/// The task that a held outcome came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The task.
    pub task: u64,
    /// Its state: the outcome means nothing in another one.
    pub state: String,
    /// Its visit of that state.
    pub visit: u64,
}
