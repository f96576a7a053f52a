//! A failed token gets another go: the one way back from an end.

use serde_json::json;

use super::draft::Draft;
use super::words::quote;
use super::{Decided, Rules, family, moves, refuse};
use crate::loaded::Loaded;
use crate::model::{Kind, Status};
use crate::refusal::Code;
use crate::time::Timestamp;

/// A failed top token enters its last state again, as a new visit: a new task with all its retries, the state's timeout
/// anew, children anew. Its context is as it was, its memory went when it failed. What brought it there is still told to
/// the routine: nothing happened since.
pub(super) fn retry(rules: &Rules, loaded: &Loaded, now: Timestamp, id: &str) -> Decided {
    let Some(member) = &loaded.member else {
        return refuse(Code::TokenNotFound, format!("there is no token {}", quote(id)));
    };
    if let Some(parent) = &member.token.parent {
        let top = loaded.top.as_deref().unwrap_or(parent);
        let message = format!(
            "token {} is a child of {}: it is part of its parent's work, and cannot be retried on its own; when {} fails, \
             retry that one, which starts its children anew",
            quote(id),
            quote(parent),
            quote(top),
        );
        return refuse(Code::ChildToken, message);
    }
    let status = member.token.status;
    if status != Status::Failed {
        let instead = match status {
            Status::Active => "it is still on its way",
            Status::Paused => "resume it instead",
            Status::Completed | Status::Cancelled | Status::Failed => "start a new token instead",
        };
        let message = format!(
            "token {} is {}; only a failed token can be retried: {instead}",
            quote(id),
            status.as_str()
        );
        return refuse(Code::NotRetryable, message);
    }
    let (mut draft, seat) = match Draft::of(rules, loaded, member, now) {
        Ok(found) => found,
        Err(refusal) => return refuse(refusal.code, refusal.message),
    };
    let state = draft[seat].state.clone();
    let context = draft.context(seat)?;
    if let Some(problem) = family::cannot_enter(&draft, seat, &state, &context)? {
        let message = format!("token {} cannot enter {} again: {problem}", quote(id), quote(&state));
        return refuse(Code::NotRetryable, message);
    }
    draft[seat].status = Status::Active;
    draft.append(seat, Kind::Retried, json!({}));
    moves::enter(&mut draft, seat, &state)?;
    draft.finish_with(seat)
}
