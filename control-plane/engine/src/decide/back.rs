//! A task goes back into the queue without a failure: its supervisor gives it back, or was started again.

use serde_json::json;

use super::draft::{Draft, Seat};
use super::held::{By, held_by};
use super::report::attempt_failed;
use super::{Decided, Rules, answer, refuse};
use crate::change::Answer;
use crate::limits;
use crate::loaded::Loaded;
use crate::model::{Incarnation, Kind, Task, TaskStatus};
use crate::refusal::Code;
use crate::time::Timestamp;

/// The supervisor claimed it and does not begin it. What has begun is reported, not given back.
pub(super) fn give_back(
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
    id: u64,
    attempt: u64,
    by: By<'_>,
) -> Decided {
    let (task, member) = match held_by(loaded, id, by, Some(attempt)) {
        Ok(found) => found,
        Err(refusal) => return refuse(refusal.code, refusal.message),
    };
    if task.status != TaskStatus::Claimed {
        let message = format!("task {id} has begun and cannot be given back: report how it ended");
        return refuse(Code::TaskNotHeld, message);
    }
    let (mut draft, seat) = match Draft::of(rules, loaded, member, now) {
        Ok(found) => found,
        Err(refusal) => return refuse(Code::TaskNotHeld, refusal.message),
    };
    queue_again(&mut draft, seat, task);
    Ok(draft.finish(Ok(Answer::Done)))
}

/// Its supervisor was started again and cannot know any more how far it was. A task that goes back so often is at fault
/// itself, as when its routine brings the machine down: then it counts as a failed attempt.
pub(super) fn abandon(rules: &Rules, loaded: &Loaded, now: Timestamp, incarnation: &Incarnation) -> Decided {
    let (Some(task), Some(member)) = (&loaded.task, &loaded.member) else { return answer(Answer::Stale) };
    if !task.status.is_held() || !incarnation.follows(task.request.as_deref()) {
        return answer(Answer::Stale);
    }
    let Ok((mut draft, seat)) = Draft::of(rules, loaded, member, now) else { return answer(Answer::Stale) };
    if task.attempt - task.failures <= limits::RETURNS {
        queue_again(&mut draft, seat, task);
        return Ok(draft.finish(Ok(Answer::Done)));
    }
    let who = task.claimed_by.as_deref().unwrap_or("the supervisor");
    let error =
        format!("{who} was started again while it worked on it, after {} such returns", limits::RETURNS);
    attempt_failed(&mut draft, seat, task, &error, true)?;
    Ok(draft.finish(Ok(Answer::Done)))
}

fn queue_again(draft: &mut Draft<'_>, seat: Seat, task: &Task) {
    draft.append(
        seat,
        Kind::TaskReturned,
        json!({"task": task.id, "attempt": task.attempt, "supervisor": task.claimed_by}),
    );
    let again = Task {
        status: TaskStatus::Queued,
        claimed_by: None,
        request: None,
        lease_until: None,
        ..task.clone()
    };
    draft.put_task(seat, again);
}
