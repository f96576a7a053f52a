//! What the clock does: end leases, fire timers. Each looks again, since the row may have moved on meanwhile.

use serde_json::json;

use super::draft::Draft;
use super::report::attempt_failed;
use super::words::quote;
use super::{Decided, Rules, answer, moves};
use crate::change::Answer;
use crate::loaded::Loaded;
use crate::model::{Kind, Private, Status, TimerKind};
use crate::time::{Timestamp, span};

/// A lease that ended counts as a failed attempt.
pub(super) fn expire_lease(rules: &Rules, loaded: &Loaded, now: Timestamp) -> Decided {
    let (Some(task), Some(member)) = (&loaded.task, &loaded.member) else { return answer(Answer::Stale) };
    let over = task.lease_until.is_some_and(|until| until < now);
    if !task.status.is_held() || !over {
        return answer(Answer::Stale);
    }
    let Ok((mut draft, seat)) = Draft::of(rules, loaded, member, now) else { return answer(Answer::Stale) };
    let who = task.claimed_by.as_deref().unwrap_or("the supervisor");
    let error = format!("{who} stopped answering: no heartbeat for {}", span(rules.lease_ms));
    attempt_failed(&mut draft, seat, task, &error, true)?;
    Ok(draft.finish(Ok(Answer::Done)))
}

/// A timer that is due fires as its event, routed as any other.
pub(super) fn fire_timer(rules: &Rules, loaded: &Loaded, now: Timestamp) -> Decided {
    let (Some(timer), Some(member)) = (&loaded.timer, &loaded.member) else { return answer(Answer::Stale) };
    let token = &member.token;
    let here = token.state == timer.state && token.visit == timer.visit;
    if timer.due_at > now || token.status != Status::Active || !here {
        return answer(Answer::Stale);
    }
    let Ok((mut draft, seat)) = Draft::of(rules, loaded, member, now) else { return answer(Answer::Stale) };
    draft.cancel_timers(seat, |t| t.id == timer.id);
    let which = Private::Timer { id: timer.id, payload: None };
    draft.append_private(seat, Kind::TimerFired, json!({"event": timer.event}), which);
    if let Some(reason) = moves::route(&mut draft, seat, &timer.event, timer.payload.as_ref(), None)? {
        match timer.kind {
            TimerKind::Timeout => {
                let state = quote(&draft[seat].state);
                moves::fail(&mut draft, seat, &format!("{state} timed out: {reason}"))?;
            }
            TimerKind::Timer => {
                draft.append(seat, Kind::EventRejected, json!({"event": timer.event, "reason": reason}));
            }
        }
    }
    Ok(draft.finish(Ok(Answer::Done)))
}
