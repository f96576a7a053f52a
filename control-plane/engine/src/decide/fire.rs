//! An event from outside.

use serde_json::json;

use super::draft::Draft;
use super::moves;
use super::words::quote;
use super::{Rules, answer, deferred, refuse};
use crate::change::{Answer, Decision, TokenView};
use crate::graph::is_own_event;
use crate::json::Object;
use crate::loaded::Loaded;
use crate::model::{Kind, Status};
use crate::refusal::{Code, Refusal};
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
) -> Decision {
    let Some(member) = &loaded.member else {
        return refuse(Code::TokenNotFound, format!("there is no token {}", quote(id)));
    };
    if loaded.key_used {
        let view = TokenView { token: member.token.clone(), context: member.context.clone() };
        return answer(Answer::Duplicate(view));
    }
    let mut draft = match Draft::of(rules, loaded, member, now) {
        Ok(draft) => draft,
        Err(refusal) => return Decision { changes: Vec::new(), result: Err(refusal) },
    };
    let status = draft.token.status;
    if status.is_ended() {
        let reason = format!("token {} is {}; it takes no events", quote(id), status.as_str());
        return reject(draft, event, reason, Code::TokenNotActive);
    }
    if is_own_event(event) {
        let reason = format!("{} is Stateous's own event; only Stateous fires it", quote(event));
        return reject(draft, event, reason, Code::EventNotAllowed);
    }
    if !draft.workflow.declares(event) {
        let reason = format!("the workflow {} has no event {}", quote(draft.workflow.name()), quote(event));
        return reject(draft, event, reason, Code::EventNotAllowed);
    }
    let errors = draft.workflow.payload_errors(event, payload);
    if !errors.is_empty() {
        return refuse(Code::InvalidPayload, format!("{event}: {}", errors.join("; ")));
    }
    if status == Status::Paused {
        deferred::hold(&mut draft, event, payload, key);
        return draft.finish_with_token();
    }
    match moves::route(&mut draft, event, payload, key) {
        Ok(()) => draft.finish_with_token(),
        Err(reason) => reject(draft, event, reason, Code::EventNotAllowed),
    }
}

/// Records a refused event and refuses.
pub(super) fn reject(mut draft: Draft<'_>, event: &str, reason: String, code: Code) -> Decision {
    draft.append(Kind::EventRejected, json!({"event": event, "reason": reason}));
    draft.finish(Err(Refusal::new(code, reason)))
}
