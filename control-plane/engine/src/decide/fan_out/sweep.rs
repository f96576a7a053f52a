//! What is done to a parent reaches its children: pause, resume, and the cancelling of those that it leaves behind.
//!
//! The members of a family that are no children of fan-outs are steered at once, as ever. For each fan-out among them the
//! act is put on its row, and goes through its children a batch at a time; few children are swept with the act itself.

use serde_json::json;

use super::{ids, key_of, refresh};
use crate::decide::draft::{Draft, Seat};
use crate::decide::{deferred, family, moves};
use crate::loaded::Missing;
use crate::model::{FanOutKey, Held, Kind, Status, Sweep};
use crate::time::Timestamp;

/// The token stands still since `at`, and so does all below it that no fan-out started.
pub(in crate::decide) fn pause_family(
    draft: &mut Draft<'_>,
    seat: Seat,
    at: Timestamp,
) -> Result<(), Missing> {
    for member in family::family(draft, seat)? {
        if draft[member].status == Status::Active {
            draft[member].status = Status::Paused;
            draft[member].paused_at = Some(at);
            let data = if at == draft.now { json!({}) } else { json!({"since": at.iso()}) };
            draft.append(member, Kind::Paused, data);
        }
        tell(draft, member, Sweep::Pause)?;
    }
    Ok(())
}

/// The token moves again, and so does all below it that no fan-out started. Their timers get the paused time back, then
/// what they all held applies, as one list in the order of arrival: a child's event can meet a join, and move the parent.
pub(in crate::decide) fn resume_family(
    draft: &mut Draft<'_>,
    seat: Seat,
    held: &[Held],
) -> Result<(), Missing> {
    let now = draft.now;
    for member in family::family(draft, seat)? {
        if draft[member].status == Status::Paused {
            let paused_at = draft[member].paused_at.take().unwrap_or(now);
            draft.shift_timers(member, paused_at);
            draft[member].status = Status::Active;
            draft.append(member, Kind::Resumed, json!({}));
        }
        tell(draft, member, Sweep::Resume)?;
    }
    for held in held {
        if let Some(member) = draft.seat(&held.token)? {
            deferred::replay(draft, member, held)?;
        }
    }
    Ok(())
}

/// The token is about to leave its state: a fan-out that it was in lets go of its children.
pub(in crate::decide) fn leave(draft: &mut Draft<'_>, seat: Seat, why: &str) -> Result<(), Missing> {
    if draft.workflow(seat).fan_out(&draft[seat].state).is_none() {
        return Ok(());
    }
    let key = key_of(draft, seat);
    let Some(row) = draft.fan_out(&key)? else { return Ok(()) };
    let (errors, live) = (row.has_errors(), row.live());
    draft[seat].errors |= errors;
    if live == 0 {
        draft.delete_fan_out(&key);
        return Ok(());
    }
    let row = draft.fan_out_mut(&key);
    row.sweep = Some(Sweep::Cancel);
    row.reason = Some(why.to_owned());
    begin(draft, &key)
}

/// Puts an act on the row of the fan-out that the token is in, if it is in one.
fn tell(draft: &mut Draft<'_>, seat: Seat, sweep: Sweep) -> Result<(), Missing> {
    if draft.workflow(seat).fan_out(&draft[seat].state).is_none() {
        return Ok(());
    }
    let key = key_of(draft, seat);
    if draft.fan_out(&key)?.is_some() {
        draft.fan_out_mut(&key).sweep = Some(sweep);
        begin(draft, &key)?;
    }
    Ok(())
}

/// Begins a sweep at the first child, and does all of it when that is not more than this decision may still do.
fn begin(draft: &mut Draft<'_>, key: &FanOutKey) -> Result<(), Missing> {
    let row = draft.fan_out_mut(key);
    (row.swept, row.pending) = (0, true);
    if row.created <= draft.budget { sweep(draft, key) } else { Ok(()) }
}

/// Does the next batch of a sweep.
pub(super) fn sweep(draft: &mut Draft<'_>, key: &FanOutKey) -> Result<(), Missing> {
    let row = draft.fan_out_ref(key).clone();
    let Some(act) = row.sweep else { return Ok(()) };
    let to = row.created.min(row.swept.saturating_add(draft.budget));
    draft.budget -= to - row.swept;
    let found = draft.seats(&ids(&row, row.swept, to))?;
    // A token of somebody else's may have the id of a child that could not start.
    let ours = found.into_iter().flatten().filter(|child| draft[*child].parent.as_ref() == Some(&key.token));
    let ours: Vec<Seat> = ours.collect();
    prepare(draft, &ours, act)?;
    let why = row.reason.as_deref().unwrap_or("the parent left the state");
    for child in ours {
        carry(draft, child, act, why)?;
    }
    let row = draft.fan_out_mut(key);
    row.swept = to;
    if to == row.created {
        row.sweep = None;
        if act == Sweep::Cancel {
            draft.delete_fan_out(key);
            return Ok(());
        }
    }
    refresh(draft, key);
    Ok(())
}

/// Sees to it that what the children hold is there, all at once.
pub(super) fn prepare(draft: &Draft<'_>, children: &[Seat], act: Sweep) -> Result<(), Missing> {
    let paused = children.iter().filter(|child| draft[**child].status == Status::Paused);
    let paused: Vec<String> = paused.map(|child| draft[*child].id.clone()).collect();
    if act != Sweep::Pause && !paused.is_empty() {
        let held = draft.held_of(&paused)?;
        let tokens: Vec<String> = held.into_iter().map(|held| held.token.clone()).collect();
        draft.contexts(tokens)?;
    }
    Ok(())
}

/// Does to a child of a fan-out, and to all below it, what was done to its parent; if that is still to be done.
pub(super) fn carry(draft: &mut Draft<'_>, child: Seat, act: Sweep, why: &str) -> Result<(), Missing> {
    match (act, draft[child].status) {
        (Sweep::Pause, Status::Active) => {
            let parent = draft[child].parent.clone().unwrap_or_default();
            let since = draft.known(&parent)?.and_then(|parent| parent.paused_at);
            let since = since.unwrap_or(draft.now);
            pause_family(draft, child, since)
        }
        (Sweep::Resume, Status::Paused) => {
            let id = draft[child].id.clone();
            let held: Vec<Held> = draft.held_of(&[id])?.into_iter().cloned().collect();
            resume_family(draft, child, &held)
        }
        (Sweep::Cancel, Status::Active | Status::Paused) => {
            if draft[child].status == Status::Paused {
                let id = draft[child].id.clone();
                draft.held_of(&[id])?;
            }
            deferred::forget_all(draft, child);
            moves::cancel(draft, child, json!({"reason": why}))
        }
        _ => Ok(()),
    }
}
