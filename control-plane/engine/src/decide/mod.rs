//! What an input does to a token.
//!
//! [`decide`] is one `match` over the inputs; each arm is a file that reads like its paragraph in the rules. All of them
//! work on a [`draft::Draft`], a copy of the loaded rows that remembers what was changed, and all movement of a token goes
//! through [`moves`]; what moves its parent and children with it is in [`family`]. Nothing here does IO: what is not in [`Loaded`] does not exist.

mod back;
mod clock;
mod deferred;
mod draft;
mod family;
mod fire;
mod held;
mod moves;
mod report;
mod retry;
mod start;
mod steer;
mod tasks;
mod words;

use crate::change::{Answer, Decision};
use crate::graph::Catalog;
use crate::input::Input;
use crate::loaded::{Loaded, Missing, Wanted};
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// What decisions go by, besides the rows: the graphs that are served and the length of a lease.
pub struct Rules {
    /// The workflows.
    pub catalog: Catalog,
    /// How long a lease lasts, in milliseconds.
    pub lease_ms: i64,
}

/// Says what `input` does at `now` to what was `loaded` for it (see [`crate::Wanted::for_input`]).
///
/// The same arguments give the same decision, always. Use [`decide_loading`] where rows can be loaded.
///
/// # Errors
/// What else it must see, to be loaded and [added](Loaded::extend).
///
/// # Panics
/// When a row breaks an invariant, such as a context that is not a JSON object: the database was changed behind our
/// back, and to go on would spread the damage. The committer turns the panic into a failure of this input alone.
pub fn decide(rules: &Rules, loaded: &Loaded, input: &Input, now: Timestamp) -> Result<Decision, Missing> {
    match input {
        Input::StartToken { token, workflow, context } => {
            start::start(rules, loaded, now, token, workflow.as_deref(), context)
        }
        Input::FireEvent { token, event, payload, key } => {
            fire::fire(rules, loaded, now, token, event, payload.as_ref(), key.as_deref())
        }
        Input::PauseToken { token } => steer::pause(rules, loaded, now, token),
        Input::ResumeToken { token } => steer::resume(rules, loaded, now, token),
        Input::CancelToken { token } => steer::cancel(rules, loaded, now, token),
        Input::RetryToken { token } => retry::retry(rules, loaded, now, token),
        Input::ClaimTask { supervisor, request, .. } => {
            tasks::claim(rules, loaded, now, supervisor, request.as_deref())
        }
        Input::RepeatClaim { supervisor, request, .. } => {
            tasks::repeat_claim(rules, loaded, now, supervisor, request)
        }
        Input::StartTask { task, attempt, supervisor, incarnation } => {
            let by = held::By { supervisor, incarnation: incarnation.as_ref() };
            tasks::start(rules, loaded, now, *task, *attempt, by)
        }
        Input::ReturnTask { task, attempt, supervisor, incarnation } => {
            let by = held::By { supervisor, incarnation: incarnation.as_ref() };
            back::give_back(rules, loaded, now, *task, *attempt, by)
        }
        Input::AbandonTask { incarnation, .. } => back::abandon(rules, loaded, now, incarnation),
        Input::RenewLease { task, supervisor, incarnation } => {
            let by = held::By { supervisor, incarnation: incarnation.as_ref() };
            tasks::renew_lease(rules, loaded, now, *task, by)
        }
        Input::ReportTask { task, supervisor, attempt, outcome, context, schedules } => {
            let report = report::Report { outcome, context, schedules };
            report::report(rules, loaded, now, *task, supervisor.as_deref(), *attempt, &report)
        }
        Input::AddNote { task, attempt, text } => tasks::add_note(rules, loaded, now, *task, *attempt, text),
        Input::SetMemory { task, attempt, key, value } => {
            tasks::set_memory(rules, loaded, now, *task, *attempt, key, value.as_ref())
        }
        Input::ExpireLease { .. } => clock::expire_lease(rules, loaded, now),
        Input::FireTimer { .. } => clock::fire_timer(rules, loaded, now),
    }
}

/// Loads what `input` wants, decides, and while the decision finds that it must see more, loads that too.
///
/// # Errors
/// What `load` fails with.
///
/// # Panics
/// As [`decide`] does; and when `load` does not bring what it was asked for.
pub fn decide_loading<E>(
    rules: &Rules,
    input: &Input,
    now: Timestamp,
    mut load: impl FnMut(&Wanted) -> Result<Loaded, E>,
) -> Result<Decision, E> {
    let mut loaded = load(&Wanted::for_input(input))?;
    let mut asked = None;
    loop {
        match decide(rules, &loaded, input, now) {
            Ok(decision) => return Ok(decision),
            Err(missing) => {
                assert!(asked.as_ref() != Some(&missing), "what was asked for was not loaded: {missing:?}");
                loaded.extend(load(&missing.wanted())?);
                asked = Some(missing);
            }
        }
    }
}

/// A decision, or what it must still see.
type Decided = Result<Decision, Missing>;

/// A decision that changes nothing and refuses.
#[expect(clippy::unnecessary_wraps, reason = "it ends a function that may also find something missing")]
fn refuse(code: Code, message: impl Into<String>) -> Decided {
    Ok(Decision { changes: Vec::new(), result: Err(Refusal::new(code, message)) })
}

/// A decision that changes nothing and answers.
#[expect(clippy::unnecessary_wraps, reason = "it ends a function that may also find something missing")]
fn answer(answer: Answer) -> Decided {
    Ok(Decision { changes: Vec::new(), result: Ok(answer) })
}
