//! Pause, resume and cancel: what people do to a whole token.

use serde_json::json;

use super::draft::Draft;
use super::words::quote;
use super::{Rules, deferred, moves};
use crate::change::Decision;
use crate::loaded::Loaded;
use crate::model::{Kind, Status};
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// One of the three acts, as its sentences name it.
#[derive(Debug, Clone, Copy)]
enum Act {
    Pause,
    Resume,
    Cancel,
}

impl Act {
    const fn verb(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Cancel => "cancelled",
        }
    }

    /// What a token may be for this act, in words, and whether it is.
    const fn takes(self, status: Status) -> (&'static str, bool) {
        match self {
            Self::Pause => ("an active", matches!(status, Status::Active)),
            Self::Resume => ("a paused", matches!(status, Status::Paused)),
            Self::Cancel => ("an active or paused", matches!(status, Status::Active | Status::Paused)),
        }
    }
}

/// The token stands still: its queued task is not given out, its timers stop, and its events are held. A routine that
/// runs goes on, under its lease.
pub(super) fn pause(rules: &Rules, loaded: &Loaded, now: Timestamp, id: &str) -> Decision {
    decided(Act::Pause, rules, loaded, now, id, |draft| {
        draft.token.status = Status::Paused;
        draft.token.paused_at = Some(now);
        draft.append(Kind::Paused, json!({}));
    })
}

/// The token moves again. Its timers get the paused time back, then what it held applies in the order of arrival.
pub(super) fn resume(rules: &Rules, loaded: &Loaded, now: Timestamp, id: &str) -> Decision {
    decided(Act::Resume, rules, loaded, now, id, |draft| {
        let paused_at = draft.token.paused_at.take().unwrap_or(now);
        draft.shift_timers(paused_at);
        draft.token.status = Status::Active;
        draft.append(Kind::Resumed, json!({}));
        for held in &loaded.held {
            deferred::replay(draft, held);
        }
    })
}

/// The token ends where it is: what it held is dropped, and all that its state started stops.
pub(super) fn cancel(rules: &Rules, loaded: &Loaded, now: Timestamp, id: &str) -> Decision {
    decided(Act::Cancel, rules, loaded, now, id, |draft| {
        for held in &loaded.held {
            deferred::forget(draft, held);
        }
        moves::cancel(draft);
    })
}

/// The decision of an act on a token that may be steered so, or the refusal.
fn decided(
    act: Act,
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
    id: &str,
    change: impl FnOnce(&mut Draft<'_>),
) -> Decision {
    match steerable(act, rules, loaded, now, id) {
        Ok(mut draft) => {
            change(&mut draft);
            draft.finish_with_token()
        }
        Err(refusal) => Decision { changes: Vec::new(), result: Err(refusal) },
    }
}

/// A draft of the token, if it is a top token in a status that the act takes.
fn steerable<'r>(
    act: Act,
    rules: &'r Rules,
    loaded: &Loaded,
    now: Timestamp,
    id: &str,
) -> Result<Draft<'r>, Refusal> {
    let Some(member) = &loaded.member else {
        return Err(Refusal::new(Code::TokenNotFound, format!("there is no token {}", quote(id))));
    };
    if let Some(parent) = &member.token.parent {
        let top = loaded.top.as_deref().unwrap_or(parent);
        let message = format!(
            "token {} is a child of {}: it is part of its parent's work, and cannot be {} on its own; {} {} instead",
            quote(id),
            quote(parent),
            act.done(),
            act.verb(),
            quote(top),
        );
        return Err(Refusal::new(Code::ChildToken, message));
    }
    let status = member.token.status;
    let (only, fits) = act.takes(status);
    if !fits {
        let message =
            format!("token {} is {}; only {only} token can be {}", quote(id), status.as_str(), act.done());
        return Err(Refusal::new(Code::TokenNotActive, message));
    }
    Draft::of(rules, loaded, member, now)
}
