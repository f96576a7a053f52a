//! Who may speak for a task.

use super::words::quote;
use crate::loaded::{Loaded, Member};
use crate::model::{Incarnation, Task, TaskStatus};
use crate::refusal::{Code, Refusal};

/// A supervisor that speaks for a task that it holds.
#[derive(Clone, Copy)]
pub(super) struct By<'i> {
    /// Its name.
    pub(super) supervisor: &'i str,
    /// Which start of it, if it says so.
    pub(super) incarnation: Option<&'i Incarnation>,
}

/// The task, if this very supervisor works on it; with `attempt`, on that attempt. Another one with its name does not.
pub(super) fn held_by<'l>(
    loaded: &'l Loaded,
    id: u64,
    by: By<'_>,
    attempt: Option<u64>,
) -> Result<(&'l Task, &'l Member), Refusal> {
    let (task, member) = worked_on(loaded, id, Some(by.supervisor), attempt)?;
    if by.incarnation.is_some_and(|incarnation| !incarnation.speaks_for(task.request.as_deref())) {
        let message =
            format!("task {id} is held by another supervisor that is named {}", quote(by.supervisor));
        return Err(Refusal::new(Code::TaskNotHeld, message));
    }
    Ok((task, member))
}

/// The task, if it is still worked on; with `supervisor`, by it; with `attempt`, on that attempt.
pub(super) fn worked_on<'l>(
    loaded: &'l Loaded,
    id: u64,
    supervisor: Option<&str>,
    attempt: Option<u64>,
) -> Result<(&'l Task, &'l Member), Refusal> {
    let (Some(task), Some(member)) = (&loaded.task, &loaded.member) else {
        return Err(Refusal::new(Code::TaskNotFound, format!("there is no task {id}")));
    };
    if let Some(attempt) = attempt
        && attempt != task.attempt
    {
        // An older attempt is over; a newer one has not begun, so nobody works on it.
        let code = if attempt < task.attempt { Code::AttemptOver } else { Code::TaskNotHeld };
        return Err(Refusal::new(
            code,
            format!("task {id} is at attempt {}, not attempt {attempt}", task.attempt),
        ));
    }
    if !task.status.is_held() && task.status != TaskStatus::Waiting {
        return Err(Refusal::new(
            Code::TaskNotHeld,
            format!("task {id} is {}; no one works on it now", task.status.told()),
        ));
    }
    if let Some(supervisor) = supervisor
        && (!task.status.is_held() || task.claimed_by.as_deref() != Some(supervisor))
    {
        return Err(Refusal::new(
            Code::TaskNotHeld,
            format!("task {id} is not held by {}", quote(supervisor)),
        ));
    }
    Ok((task, member))
}
