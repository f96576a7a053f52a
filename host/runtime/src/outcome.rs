//! What a guest's `run` answered, checked and in our own words.

use crate::attempt::Attempt;
use crate::bindings::stateous::routine::types as wit;
use crate::forms;
use crate::task::{Event, Outcome};
use crate::text;

/// The most bytes of a failure's message.
pub(crate) const MESSAGE_BYTES_MAX: usize = 8 << 10;

/// The guest's answer. One that cannot be sent becomes a failure that says why; whether it is tried again is
/// then for the state's retries, since the next attempt may do better.
pub(crate) fn outcome(answer: Result<wit::Outcome, wit::Failure>, attempt: &Attempt) -> Outcome {
    match answer {
        Ok(wit::Outcome::Waiting) => Outcome::Waiting,
        Ok(wit::Outcome::Event(event)) => match check(&event, attempt.outgoing_bytes()) {
            Ok(()) => Outcome::Event(Event { name: event.name, payload: event.payload }),
            Err(why) => Outcome::Failed {
                message: format!("the routine ended with an event that cannot be sent: {why}"),
                retry: true,
            },
        },
        Err(wit::Failure { message, retry }) => {
            let message = text::printable(&text::cut(&message, MESSAGE_BYTES_MAX));
            let message =
                if message.trim().is_empty() { "the routine gave no reason".to_owned() } else { message };
            Outcome::Failed { message, retry }
        }
    }
}

fn check(event: &wit::Event, outgoing: usize) -> Result<(), String> {
    forms::event(&event.name).map_err(|refusal| refusal.message)?;
    let Some(payload) = &event.payload else { return Ok(()) };
    let total = outgoing + payload.len();
    if total > forms::BODY_BYTES_MAX {
        return Err(format!(
            "its payload of {} bytes, the context writes and the schedules come to {total} bytes, at most \
             {} go out",
            payload.len(),
            forms::BODY_BYTES_MAX
        ));
    }
    forms::payload(payload, forms::LEVELS_IN_BODY)
        .map_err(|refusal| format!("its payload: {}", refusal.message))
}
