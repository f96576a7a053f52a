//! The supervisor's side of a task, but for its end: claim, begin, renew, note, memory.

use std::sync::Arc;

use serde_json::json;

use super::draft::{Draft, Seat};
use super::held::{By, held_by, worked_on};
use super::{Decided, Rules, answer, refuse};
use crate::change::{Answer, Change, Decision, Grant};
use crate::limits;
use crate::loaded::{Loaded, Member, Missing};
use crate::model::{Kind, MemoryCell, Private, Status, Task, TaskStatus};
use crate::names;
use crate::refusal::Code;
use crate::time::Timestamp;

/// A queued task becomes the supervisor's, under a lease, as the next attempt.
pub(super) fn claim(
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
    supervisor: &str,
    request: Option<&str>,
) -> Decided {
    let Some((task, member)) = both(loaded) else { return answer(Answer::Stale) };
    if task.status != TaskStatus::Queued || member.token.status != Status::Active {
        return answer(Answer::Stale);
    }
    let Ok((mut draft, seat)) = Draft::of(rules, loaded, member, now) else { return answer(Answer::Stale) };
    let task = Task {
        status: TaskStatus::Claimed,
        attempt: task.attempt + 1,
        claimed_by: Some(supervisor.to_owned()),
        request: request.map(str::to_owned),
        lease_until: Some(now.plus_ms(rules.lease_ms)),
        ..task.clone()
    };
    draft.append(
        seat,
        Kind::TaskClaimed,
        json!({"task": task.id, "supervisor": supervisor, "attempt": task.attempt}),
    );
    hand_out(draft, seat, loaded, task)
}

/// The grant of a claim whose answer was lost, again, while the supervisor still holds that attempt.
pub(super) fn repeat_claim(
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
    supervisor: &str,
    request: &str,
) -> Decided {
    let Some((task, member)) = both(loaded) else { return answer(Answer::Stale) };
    let same = task.claimed_by.as_deref() == Some(supervisor) && task.request.as_deref() == Some(request);
    if !same || !holds(task, now) {
        return answer(Answer::Stale);
    }
    let Ok((draft, seat)) = Draft::of(rules, loaded, member, now) else { return answer(Answer::Stale) };
    let task = Task { lease_until: Some(now.plus_ms(rules.lease_ms)), ..task.clone() };
    hand_out(draft, seat, loaded, task)
}

/// Whether the routine may begin. Asked again after a lost answer, it says the same.
pub(super) fn start(
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
    id: u64,
    attempt: u64,
    by: By<'_>,
) -> Decided {
    let (task, member) = match held_by(loaded, id, by, Some(attempt)) {
        Ok(found) => found,
        Err(refusal) if refusal.code == Code::TaskNotFound => return refuse(refusal.code, refusal.message),
        Err(refusal) => return answer(Answer::Skip(refusal.message)),
    };
    if !holds(task, now) {
        return answer(Answer::Skip(format!("the lease of task {id} is over")));
    }
    if task.status == TaskStatus::Started {
        return answer(Answer::Run);
    }
    let (mut draft, seat) = match Draft::of(rules, loaded, member, now) {
        Ok(found) => found,
        Err(refusal) => return answer(Answer::Skip(refusal.message)),
    };
    draft.append(seat, Kind::TaskStarted, json!({"task": id, "attempt": attempt}));
    draft.put_task(seat, Task { status: TaskStatus::Started, ..task.clone() });
    Ok(draft.finish(Ok(Answer::Run)))
}

/// The lease begins anew. Refused when the supervisor does not hold the task any more.
pub(super) fn renew_lease(rules: &Rules, loaded: &Loaded, now: Timestamp, id: u64, by: By<'_>) -> Decided {
    let (task, _) = match held_by(loaded, id, by, None) {
        Ok(found) => found,
        Err(refusal) => return refuse(refusal.code, refusal.message),
    };
    let task = Task { lease_until: Some(now.plus_ms(rules.lease_ms)), ..task.clone() };
    Ok(Decision { changes: vec![Change::UpdateTask(task)], result: Ok(Answer::Done) })
}

/// A line of progress in the token's history.
pub(super) fn add_note(
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
    id: u64,
    attempt: Option<u64>,
    text: &str,
) -> Decided {
    let line = text.trim();
    if !(1..=limits::NOTE).contains(&line.chars().count()) {
        return refuse(Code::InvalidPayload, format!("a note is 1 to {} characters", limits::NOTE));
    }
    let (task, member) = match worked_on(loaded, id, None, attempt) {
        Ok(found) => found,
        Err(refusal) => return refuse(refusal.code, refusal.message),
    };
    let (mut draft, seat) = match Draft::of(rules, loaded, member, now) {
        Ok(found) => found,
        Err(refusal) => return refuse(Code::TaskNotHeld, refusal.message),
    };
    draft.append(seat, Kind::Note, json!({"task": task.id, "text": line}));
    Ok(draft.finish(Ok(Answer::Done)))
}

/// One key of the memory of the task's (token, state). The ledger records the key, never the value.
pub(super) fn set_memory(
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
    id: u64,
    attempt: Option<u64>,
    key: &str,
    value: Option<&Arc<str>>,
) -> Decided {
    if !(1..=limits::MEMORY_KEY).contains(&key.chars().count()) || names::has_nul(key) {
        let most = limits::MEMORY_KEY;
        return refuse(
            Code::InvalidPayload,
            format!("a memory key is 1 to {most} characters, none of them NUL"),
        );
    }
    let (task, member) = match worked_on(loaded, id, None, attempt) {
        Ok(found) => found,
        Err(refusal) => return refuse(refusal.code, refusal.message),
    };
    let (mut draft, seat) = match Draft::of(rules, loaded, member, now) {
        Ok(found) => found,
        Err(refusal) => return refuse(Code::TaskNotHeld, refusal.message),
    };
    let (token, state) = (task.token.clone(), task.state.clone());
    let data = json!({"state": state, "memory_key": key});
    match value {
        Some(value) => {
            let bytes = loaded.memory_bytes_of_others + (key.len() + value.len()) as u64;
            if bytes > limits::MEMORY_BYTES {
                return refuse(
                    Code::InvalidPayload,
                    format!(
                        "the memory of one token and state holds at most {} MiB, and {key:?} would make it {bytes} \
                         bytes; delete keys, or keep less",
                        limits::MEMORY_BYTES >> 20,
                    ),
                );
            }
            draft.append_private(seat, Kind::MemorySet, data, Private::stored(value));
            let cell = MemoryCell { key: key.to_owned(), value: Arc::clone(value) };
            draft.record(Change::PutMemory { token, state, cell });
        }
        None if loaded.memory_key_exists => {
            draft.append(seat, Kind::MemoryDeleted, data);
            draft.record(Change::DeleteMemory { token, state, key: key.to_owned() });
        }
        // To delete what is not there is done already, and no news for the history.
        None => {}
    }
    Ok(draft.finish(Ok(Answer::Done)))
}

fn both(loaded: &Loaded) -> Option<(&Task, &Member)> {
    Some((loaded.task.as_ref()?, loaded.member.as_ref()?))
}

/// Whether the lease still runs. It is over only once its end lies behind us.
fn holds(task: &Task, now: Timestamp) -> bool {
    task.status.is_held() && task.lease_until.is_some_and(|until| until >= now)
}

/// The decision that gives the task out as it is now.
fn hand_out(mut draft: Draft<'_>, seat: Seat, loaded: &Loaded, task: Task) -> Decided {
    draft.put_task(seat, task.clone());
    let grant = grant(&draft, seat, loaded, task)?;
    Ok(draft.finish(Ok(Answer::Granted(Box::new(grant)))))
}

fn grant(draft: &Draft<'_>, seat: Seat, loaded: &Loaded, task: Task) -> Result<Grant, Missing> {
    let token = &draft[seat];
    Ok(Grant {
        task,
        structure: token.structure.clone(),
        child: token.parent.is_some(),
        context: draft.context_text(seat)?,
        memory: loaded.memory.clone(),
        entered_by: token.entered_by.clone(),
        lease_ms: draft.rules.lease_ms,
        deadline: draft.deadline(seat),
    })
}
