//! An event from outside.

use super::draft::Draft;
use super::moves;
use super::words::quote;
use super::{Decided, Rules, answer, deferred, refuse};
use crate::change::{Answer, TokenView};
use crate::graph::is_own_event;
use crate::json::Object;
use crate::loaded::Loaded;
use crate::model::Status;
use crate::refusal::Code;
use crate::time::Timestamp;

/// An event from a person, a program or a webhook. A key that was used answers as a duplicate, whatever else is in the
/// request; a refused event is recorded and does not use up its key. A paused token holds the event, which uses it up.
pub(super) fn fire(
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
    id: &str,
    event: &str,
    payload: Option<&Object>,
    key: Option<&str>,
) -> Decided {
    let Some(member) = &loaded.member else {
        return refuse(Code::TokenNotFound, format!("there is no token {}", quote(id)));
    };
    if loaded.key_used {
        let view = TokenView { token: member.token.clone(), context: member.context.clone() };
        return answer(Answer::Duplicate(view));
    }
    let (mut draft, seat) = match Draft::of(rules, loaded, member, now) {
        Ok(found) => found,
        Err(refusal) => return refuse(refusal.code, refusal.message),
    };
    let (status, workflow) = (draft[seat].status, draft.workflow(seat));
    if status.is_ended() {
        let reason = format!("token {} is {}; it takes no events", quote(id), status.as_str());
        return Ok(draft.finish_rejected(seat, event, reason, Code::TokenNotActive));
    }
    if is_own_event(event) {
        let reason = format!("{} is Stateous's own event; only Stateous fires it", quote(event));
        return Ok(draft.finish_rejected(seat, event, reason, Code::EventNotAllowed));
    }
    if !workflow.declares(event) {
        let reason = format!("the workflow {} has no event {}", quote(workflow.name()), quote(event));
        return Ok(draft.finish_rejected(seat, event, reason, Code::EventNotAllowed));
    }
    let errors = workflow.payload_errors(event, payload);
    if !errors.is_empty() {
        return refuse(Code::InvalidPayload, format!("{event}: {}", errors.join("; ")));
    }
    if status == Status::Paused {
        deferred::hold(&mut draft, seat, event, payload, key);
        return draft.finish_with(seat);
    }
    match moves::route(&mut draft, seat, event, payload, key)? {
        None => draft.finish_with(seat),
        Some(reason) => Ok(draft.finish_rejected(seat, event, reason, Code::EventNotAllowed)),
    }
}
