//! `timers`: events that fire later. They go out with the outcome or not at all.

use super::{Answer, answer};
use crate::attempt::Attempt;
use crate::bindings::stateous::routine::timers::Host;
use crate::bindings::stateous::routine::types as wit;
use crate::forms;
use crate::ports::{PortError, Refusal, RefusalCode as Code};
use crate::task::{Event, Schedule};

/// The most schedules of one attempt.
const SCHEDULES_MAX: usize = 100;
/// What a schedule weighs in a report besides its texts: `{"event": "", "payload": , "after": ""}, `.
const FRAME_BYTES: usize = 40;

/// What was scheduled.
#[derive(Default)]
pub(crate) struct State {
    schedules: Vec<Schedule>,
    bytes: usize,
}

impl State {
    /// What the schedules weigh in a report.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn into_schedules(self) -> Vec<Schedule> {
        self.schedules
    }
}

impl Host for Attempt {
    async fn schedule(&mut self, event: wit::Event, after: String) -> Answer<()> {
        self.work(event.payload.as_ref().map_or(0, String::len)).await;
        answer(schedule(self, event, after))
    }
}

fn schedule(attempt: &mut Attempt, event: wit::Event, after: String) -> Result<(), PortError> {
    forms::event(&event.name)?;
    if let Some(payload) = &event.payload {
        forms::payload(payload, forms::LEVELS_IN_SCHEDULE)?;
    }
    forms::duration(&after)?;
    if attempt.timers.schedules.len() >= SCHEDULES_MAX {
        let message = format!("one attempt schedules at most {SCHEDULES_MAX} events");
        return Err(Refusal::new(Code::TooMany, message).into());
    }
    let bytes = event.name.len() + event.payload.as_ref().map_or(0, String::len) + after.len() + FRAME_BYTES;
    let total = attempt.outgoing_bytes() + bytes;
    if total > forms::BODY_BYTES_MAX {
        let message = format!(
            "context writes and schedules of one attempt come to {total} bytes with this one, at most {} go \
             out with an outcome: put less into the payload",
            forms::BODY_BYTES_MAX
        );
        return Err(Refusal::new(Code::TooLarge, message).into());
    }
    attempt.timers.bytes += bytes;
    attempt
        .timers
        .schedules
        .push(Schedule { event: Event { name: event.name, payload: event.payload }, after });
    Ok(())
}
