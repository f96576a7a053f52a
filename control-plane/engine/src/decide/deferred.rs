//! What a paused token holds: keeping an event, and applying or dropping it later.
//!
//! When it is held is decided where events come from (`fire`, `report`); when it is settled, in `steer`.

use serde_json::json;

use super::draft::{Draft, Seat};
use super::moves::{self, Choice};
use super::report;
use super::words::quote;
use crate::graph::is_own_event;
use crate::input::Schedule;
use crate::json::{Json, Object};
use crate::loaded::Missing;
use crate::model::{Held, Kind, Origin, Status, Task};

/// The outcome that an event is part of: bound to its task's state and visit, with what the routine wrote.
pub(super) struct Outcome<'o> {
    pub(super) task: &'o Task,
    pub(super) context: &'o Object,
    pub(super) schedules: &'o [Schedule],
}

/// Holds an event from outside. It is not asked whether it fits: by the time of the resume it may.
pub(super) fn hold(
    draft: &mut Draft<'_>,
    seat: Seat,
    event: &str,
    payload: Option<&Object>,
    key: Option<&str>,
) {
    let arrival = draft.next_arrival();
    let told = payload.map_or(Json::Null, |p| Json::Object(p.clone()));
    let data = json!({"event": event, "payload": told, "arrival": arrival});
    draft.append_keyed(seat, Kind::EventDeferred, data, key);
    draft.hold(Held {
        top: draft.top(seat),
        arrival,
        token: draft[seat].id.clone(),
        event: event.to_owned(),
        payload: payload.cloned(),
        origin: None,
        context: Object::new(),
        schedules: Vec::new(),
    });
}

/// Holds the event of a task's outcome together with all that came with it.
pub(super) fn hold_outcome(
    draft: &mut Draft<'_>,
    seat: Seat,
    event: &str,
    payload: Option<&Object>,
    outcome: &Outcome<'_>,
) {
    let Outcome { task, context, schedules } = *outcome;
    let arrival = draft.next_arrival();
    let told = payload.map_or(Json::Null, |p| Json::Object(p.clone()));
    let mut data = json!({
        "event": event, "payload": told,
        "state": task.state, "visit": task.visit, "task": task.id, "arrival": arrival,
    });
    if !context.is_empty() {
        data["context"] = Json::Object(context.clone());
    }
    if !schedules.is_empty() {
        data["schedules"] = schedules.iter().map(Schedule::to_json).collect();
    }
    draft.append(seat, Kind::EventDeferred, data);
    draft.hold(Held {
        top: draft.top(seat),
        arrival,
        token: draft[seat].id.clone(),
        event: event.to_owned(),
        payload: payload.cloned(),
        origin: Some(Origin { task: task.id, state: task.state.clone(), visit: task.visit }),
        context: context.clone(),
        schedules: schedules.to_vec(),
    });
}

/// Applies a held event of a token that was resumed, or drops it and says why. A dropped outcome saves none of its
/// writes. An own event that does not fit (`error`) fails the token: no task is left that could move it.
pub(super) fn replay(draft: &mut Draft<'_>, seat: Seat, held: &Held) -> Result<(), Missing> {
    draft.settle(held);
    let token = &draft[seat];
    if token.status != Status::Active {
        let reason = format!("token {} is {}; it takes no events", quote(&token.id), token.status.as_str());
        dropped(draft, seat, held, &reason);
        return Ok(());
    }
    if held.origin.as_ref().is_some_and(|from| (&from.state, from.visit) != (&token.state, token.visit)) {
        dropped(draft, seat, held, "the token left the state it came from");
        return Ok(());
    }
    let mut context = draft.context(seat)?;
    if !held.context.is_empty() {
        context.extend(held.context.clone());
        let errors = draft.workflow(seat).context_errors(&context);
        if !errors.is_empty() {
            let reason = format!("the context changes break the schema: {}", errors.join("; "));
            dropped(draft, seat, held, &reason);
            return Ok(());
        }
    }
    match moves::choose(draft, seat, &held.event, held.payload.as_ref(), &context)? {
        Choice::Take(chosen) => {
            draft.append(seat, Kind::EventReplayed, json!({"event": held.event}));
            report::save(draft, seat, &context, &held.context, &held.schedules);
            moves::take(draft, seat, chosen, &held.event, held.payload.as_ref(), None)
        }
        Choice::Refused(reason) if !is_own_event(&held.event) => {
            dropped(draft, seat, held, &reason);
            Ok(())
        }
        Choice::Refused(reason) | Choice::Fatal(reason) => {
            dropped(draft, seat, held, &reason);
            moves::fail(draft, seat, &reason)
        }
    }
}

/// Drops all that a token holds, because it is cancelled.
pub(super) fn forget_all(draft: &mut Draft<'_>, seat: Seat) {
    for held in draft.held_by(seat) {
        draft.settle(held);
        dropped(draft, seat, held, "the token was cancelled");
    }
}

fn dropped(draft: &mut Draft<'_>, seat: Seat, held: &Held, reason: &str) {
    draft.append(seat, Kind::EventDropped, json!({"event": held.event, "reason": reason}));
}
