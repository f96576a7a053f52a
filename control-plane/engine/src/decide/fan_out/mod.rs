//! Fan-out: a state that starts a child for each item, of which there can be a million.
//!
//! Nothing here costs more than a batch. Entering only pins the items ([`enter`]); [`unfold`], which a loop asks for as
//! long as the fan-out's row says that something is [pending](FanOut::pending), starts children or joins; a child's end
//! changes one row ([`child_ended`]); and what is done to the parent reaches the children in batches ([`sweep`]). A child
//! that is touched before the sweep reached it is [settled](settle) first, so that nothing moves after the act was answered.

mod items;
mod join;
mod settle;
mod sweep;
mod unfold;

use serde_json::json;
use sha2::{Digest, Sha256};

use super::draft::{Draft, Seat};
use super::moves;
use super::words::quote;
use crate::graph::{Each, Join, Parallel};
use crate::json::{Json, Object};
use crate::limits;
use crate::loaded::Missing;
use crate::model::{FanOut, FanOutKey, Kind, Status};
use crate::names::{child_id, item_child_id};

pub(super) use join::{Told, by_number};
pub(super) use settle::settle;
pub(super) use sweep::{leave, pause_family, resume_family};
pub(super) use unfold::unfold;

/// Why the state cannot be entered with this context by an event with this payload: its items are not there, or too many.
/// Whether each child can start is found out as it starts.
pub(super) fn cannot_enter(
    token: &str,
    (state, visit): (&str, u64),
    (parallel, each): (&Parallel, &Each),
    context: &Object,
    payload: Option<&Object>,
) -> Option<String> {
    let listed = match items::listed(each, context, payload) {
        Ok(listed) => listed,
        Err(problem) => return Some(format!("{} cannot be entered: {problem}", quote(state))),
    };
    let last = listed.items.len().saturating_sub(1);
    let longest = child_id(token, state, visit, &parallel.workflows[0]).len() + 1 + last.to_string().len();
    (longest > limits::TOKEN_ID).then(|| {
        format!(
            "the children of {} would have ids longer than {} characters; use a shorter token id",
            quote(state),
            limits::TOKEN_ID
        )
    })
}

/// Pins the items of the state that the token has just entered. Its children start later.
pub(super) fn enter(
    draft: &mut Draft<'_>,
    seat: Seat,
    parallel: &Parallel,
    each: &Each,
) -> Result<(), Missing> {
    let context = draft.context(seat)?;
    let payload = draft[seat].entered_by.payload.clone();
    let items::Listed { items, nothing } = match items::listed(each, &context, payload.as_ref()) {
        Ok(listed) => listed,
        // Checked by `cannot_enter` on every way here but a repetition of a visit.
        Err(problem) => return moves::fail(draft, seat, &problem),
    };
    let workflow = parallel.workflows[0].clone();
    let total = items.len() as u64;
    let chunks = items.chunks(items::CHUNK as usize).map(items::written).collect();
    let text = Json::Array(items).to_string();
    let digest = format!("sha256:{}", hex::encode(Sha256::digest(text)));
    draft.append(seat, Kind::FannedOut, json!({"workflow": workflow, "total": total, "digest": digest}));
    let row = FanOut {
        key: key_of(draft, seat),
        top: draft.top(seat),
        workflow,
        digest,
        total,
        created: 0,
        ended: 0,
        counts: std::collections::BTreeMap::new(),
        first_ended: None,
        sweep: None,
        reason: nothing.map(str::to_owned),
        swept: 0,
        pending: true,
        looked_at: draft.now,
    };
    draft.insert_fan_out(row, chunks);
    Ok(())
}

/// A child ended: its parent's counts grow, and nothing else is looked at.
pub(super) fn child_ended(draft: &mut Draft<'_>, seat: Seat) -> Result<(), Missing> {
    let child = &draft[seat];
    let (Some(parent), Some(index)) = (child.parent.clone(), child.index) else { return Ok(()) };
    let Some(parent) = draft.known(&parent)? else { return Ok(()) };
    let child = &draft[seat];
    // The parent may have left the state that started this child.
    if item_child_id(&parent.id, &parent.state, parent.visit, &child.workflow, index) != child.id {
        return Ok(());
    }
    let key = FanOutKey { token: parent.id.clone(), state: parent.state.clone(), visit: parent.visit };
    let (status, last) = (child.status, child.state.clone());
    if draft.fan_out(&key)?.is_some() {
        count(draft, &key, index, status, &last);
        refresh(draft, &key);
    }
    Ok(())
}

/// Counts an ended child.
fn count(draft: &mut Draft<'_>, key: &FanOutKey, index: u64, status: Status, last: &str) {
    let row = draft.fan_out_mut(key);
    row.ended += 1;
    row.first_ended.get_or_insert(index);
    let of_status = row.counts.entry(status.as_str().to_owned()).or_default();
    *of_status.entry(last.to_owned()).or_default() += 1;
}

/// Finds out anew whether there is something to do for the fan-out.
fn refresh(draft: &mut Draft<'_>, key: &FanOutKey) {
    let row = draft.fan_out_ref(key);
    let pending = row.sweep.is_some() || {
        let parent = draft.known(&key.token).ok().flatten();
        let here =
            parent.filter(|p| p.status == Status::Active && (&p.state, p.visit) == (&key.state, key.visit));
        here.and_then(|p| draft.rules.catalog.workflow(&p.workflow, &p.structure))
            .and_then(|workflow| workflow.fan_out(&key.state))
            .is_some_and(|(parallel, each)| {
                row.total == 0 || room(row, each) > 0 || is_met(row, parallel.join)
            })
    };
    draft.fan_out_mut(key).pending = pending;
}

/// How many children may start now.
fn room(row: &FanOut, each: &Each) -> u64 {
    let most = each.max_live.map_or(u64::MAX, |most| most.saturating_sub(row.live()));
    most.min(row.total.saturating_sub(row.created))
}

/// Whether the token may go on. `all` waits until every child was started and ended, whatever else is true.
fn is_met(row: &FanOut, join: Join) -> bool {
    let all = row.created == row.total && row.ended == row.total;
    match join {
        Join::All => all,
        Join::Any => row.ended > 0,
        Join::Quorum(quorum) => all || row.completed() >= quorum,
    }
}

/// The fan-out of the visit that the token is in.
fn key_of(draft: &Draft<'_>, seat: Seat) -> FanOutKey {
    let token = &draft[seat];
    FanOutKey { token: token.id.clone(), state: token.state.clone(), visit: token.visit }
}

/// The ids of the children from one index to before another.
fn ids(row: &FanOut, from: u64, to: u64) -> Vec<String> {
    let FanOutKey { token, state, visit } = &row.key;
    (from..to).map(|index| item_child_id(token, state, *visit, &row.workflow, index)).collect()
}
