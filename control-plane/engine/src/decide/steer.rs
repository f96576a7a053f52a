//! Pause, resume and cancel: what people do to a whole token.

use serde_json::json;

use super::draft::{Draft, Seat};
use super::words::quote;
use super::{Decided, Rules, deferred, family, moves, refuse};
use crate::loaded::{Loaded, Missing};
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

/// The token and its children stand still: their queued tasks are not given out, their timers stop, and their events are
/// held. A routine that runs goes on, under its lease.
pub(super) fn pause(rules: &Rules, loaded: &Loaded, now: Timestamp, id: &str) -> Decided {
    decided(Act::Pause, rules, loaded, now, id, |draft, top| {
        for member in family::family(draft, top)? {
            if draft[member].status == Status::Active {
                draft[member].status = Status::Paused;
                draft[member].paused_at = Some(now);
                draft.append(member, Kind::Paused, json!({}));
            }
        }
        Ok(())
    })
}

/// The token and its children move again. Their timers get the paused time back, then what they all held applies, as one
/// list in the order of arrival: a child's event can meet a join, and move the parent.
pub(super) fn resume(rules: &Rules, loaded: &Loaded, now: Timestamp, id: &str) -> Decided {
    decided(Act::Resume, rules, loaded, now, id, |draft, top| {
        for member in family::family(draft, top)? {
            if draft[member].status == Status::Paused {
                let paused_at = draft[member].paused_at.take().unwrap_or(now);
                draft.shift_timers(member, paused_at);
                draft[member].status = Status::Active;
                draft.append(member, Kind::Resumed, json!({}));
            }
        }
        for held in &loaded.held {
            if let Some(member) = draft.seat(&held.token)? {
                deferred::replay(draft, member, held)?;
            }
        }
        Ok(())
    })
}

/// The token ends where it is, and its children with it: what they held is dropped, and all that was started stops.
pub(super) fn cancel(rules: &Rules, loaded: &Loaded, now: Timestamp, id: &str) -> Decided {
    decided(Act::Cancel, rules, loaded, now, id, |draft, top| {
        deferred::forget_all(draft, top);
        moves::cancel(draft, top, json!({}))
    })
}

/// The decision of an act on a token that may be steered so, or the refusal.
fn decided(
    act: Act,
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
    id: &str,
    change: impl FnOnce(&mut Draft<'_>, Seat) -> Result<(), Missing>,
) -> Decided {
    match steerable(act, rules, loaded, now, id) {
        Ok((mut draft, top)) => {
            change(&mut draft, top)?;
            draft.finish_with(top)
        }
        Err(refusal) => refuse(refusal.code, refusal.message),
    }
}

/// A draft of the token, if it is a top token in a status that the act takes.
fn steerable<'r>(
    act: Act,
    rules: &'r Rules,
    loaded: &'r Loaded,
    now: Timestamp,
    id: &str,
) -> Result<(Draft<'r>, Seat), Refusal> {
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
