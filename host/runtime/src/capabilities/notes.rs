//! `notes`: lines in the token's history. The port makes each durable.

use super::{Answer, answer};
use crate::attempt::Attempt;
use crate::bindings::stateous::routine::notes::Host;
use crate::forms;
use crate::ports::{PortError, Refusal, RefusalCode as Code};

/// The most notes of one attempt.
const NOTES_MAX: usize = 1000;

/// How many notes there were.
#[derive(Default)]
pub(crate) struct State {
    count: usize,
}

impl Host for Attempt {
    async fn add(&mut self, text: String) -> Answer<()> {
        self.work(text.len()).await;
        answer(add(self, &text).await)
    }
}

async fn add(attempt: &mut Attempt, text: &str) -> Result<(), PortError> {
    let Some(note) = forms::note(text)? else { return Ok(()) };
    if attempt.notes.count >= NOTES_MAX {
        let message = format!(
            "one attempt adds at most {NOTES_MAX} notes: use the log for what only a developer reads"
        );
        return Err(Refusal::new(Code::TooMany, message).into());
    }
    attempt.ports.note(note).await?;
    attempt.notes.count += 1;
    Ok(())
}
