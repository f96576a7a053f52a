//! How an attempt ends when it does not fail.

use crate::{Error, Event, RawEvent};

/// How an attempt ends when it does not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The token moves by this event.
    Event(RawEvent),
    /// The token stays; somebody reports the task or fires an event.
    Waiting,
}

/// For a routine that always waits: `fn ask(ctx: &Context) -> Result<Waiting>`.
///
/// One that sometimes waits returns `Result<Option<Out>>`, and waits with `Ok(None)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting;

/// What a routine may return in `Ok`: an [`Event`], an `Option` of one, [`Waiting`] or an [`Outcome`].
#[diagnostic::on_unimplemented(
    message = "a routine cannot end with `{Self}`",
    label = "neither an event nor `Waiting`",
    note = "put `#[derive(Event)]` on the type of the event; to wait, return `Ok(None)` or `Ok(Waiting)`"
)]
pub trait IntoOutcome {
    /// The outcome that this value stands for.
    ///
    /// # Errors
    /// The event's payload cannot be written as JSON, or is not a JSON object.
    fn into_outcome(self) -> Result<Outcome, Error>;
}

impl<E: Event> IntoOutcome for E {
    fn into_outcome(self) -> Result<Outcome, Error> {
        self.into_raw().map(Outcome::Event)
    }
}

impl<E: Event> IntoOutcome for Option<E> {
    fn into_outcome(self) -> Result<Outcome, Error> {
        self.map_or(Ok(Outcome::Waiting), IntoOutcome::into_outcome)
    }
}

impl IntoOutcome for Waiting {
    fn into_outcome(self) -> Result<Outcome, Error> {
        Ok(Outcome::Waiting)
    }
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Result<Outcome, Error> {
        Ok(self)
    }
}
