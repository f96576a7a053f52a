//! The words of [`crate::Runtime::run`]: the task that goes in and the end that comes out.

use std::collections::BTreeMap;
use std::time::Duration;

/// The work of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The token that waits in the state.
    pub token: String,
    /// The task's number, the same for every attempt.
    pub id: u64,
    /// The workflow's name.
    pub workflow: String,
    /// The state's name.
    pub state: String,
    /// How many times the token has entered this state; 1 is the first.
    pub visit: u32,
    /// Which try of the task this is; 1 is the first.
    pub attempt: u32,
    /// The event that brought the token here; `__started__` for the first state.
    pub entered_by: Event,
    /// The token's context: a JSON object as text.
    pub context: String,
    /// The memory of this (token, state): key to JSON text.
    pub memory: BTreeMap<String, String>,
    /// The host's time when the attempt begins, in milliseconds since 1970-01-01 UTC.
    pub now_ms: u64,
}

/// An event with its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The event's name.
    pub name: String,
    /// A JSON object as text, if it has one.
    pub payload: Option<String>,
}

/// An event that fires later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// What fires.
    pub event: Event,
    /// How long after the report: a number and one of s, m, h, d.
    pub after: String,
}

/// How an attempt ended, and all that goes out with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub outcome: Outcome,
    /// Context key to JSON text. Empty unless the outcome is an event or waiting: writes go out with it or
    /// not at all.
    pub context_writes: BTreeMap<String, String>,
    /// In the order of the calls. Empty unless the outcome is an event or waiting.
    pub schedules: Vec<Schedule>,
    /// What the attempt used.
    pub stats: Stats,
}

/// The ways in which an attempt ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The token moves by this event. The name is well-formed and the payload a JSON object; whether the
    /// state may emit it is not known here.
    Event(Event),
    /// The work goes on outside.
    Waiting,
    /// The routine says that it failed.
    Failed {
        /// Why, cut at 8 KiB.
        message: String,
        /// Whether another attempt makes sense.
        retry: bool,
    },
    /// The host stopped the routine.
    Stopped {
        /// Which limit or fault.
        code: StopCode,
        /// For people: what happened, with the guest's own last words and its backtrace where there are any,
        /// at most 8 KiB.
        message: String,
    },
}

/// Why the host stopped a routine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopCode {
    /// It used up its fuel.
    FuelExhausted,
    /// It needed more memory than it may have.
    MemoryExceeded,
    /// It ran longer than it may.
    TimedOut,
    /// It crashed: a panic, an abort, too deep a recursion, an exit, a broken call.
    Trapped,
    /// It used a capability that it was not granted.
    Denied,
    /// Not the routine's fault: the host could not go on.
    Host,
}

impl StopCode {
    /// The spelling in reports and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FuelExhausted => "fuel_exhausted",
            Self::MemoryExceeded => "memory_exceeded",
            Self::TimedOut => "timed_out",
            Self::Trapped => "trapped",
            Self::Denied => "denied",
            Self::Host => "host",
        }
    }
}

/// What an attempt used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Of [`crate::Limits::fuel`].
    pub fuel_used: u64,
    /// The most linear memory that it had, in bytes.
    pub memory_peak: u64,
    /// From instantiation to the end.
    pub wall: Duration,
    /// The part of it that went before the guest's `run` was called.
    pub instantiate: Duration,
    /// Lines that were not passed on to the log, because there were too many.
    pub log_lines_dropped: u64,
}
