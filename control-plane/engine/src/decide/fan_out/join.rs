//! How a fan-out ends: what its parent is told.

use serde_json::json;

use super::{FanOut, ids, items};
use crate::decide::draft::{Draft, Seat};
use crate::decide::words::quote;
use crate::decide::{family, moves};
use crate::graph::{EMPTY, Each, JOINED, Join, Parallel};
use crate::json::{Json, Object};
use crate::limits;
use crate::loaded::Missing;
use crate::model::Kind;

/// The ended children by the number: one object for all that ended alike, and how many they are.
#[derive(Debug, Default)]
pub(in crate::decide) struct Told {
    pub(in crate::decide) branches: Vec<Json>,
    pub(in crate::decide) weights: Vec<u64>,
}

/// What a guard on `joined` reads of the children of the fan-out that the token is in; `None` when it is in none.
pub(in crate::decide) fn by_number(draft: &Draft<'_>, seat: Seat) -> Option<Told> {
    draft.workflow(seat).fan_out(&draft[seat].state)?;
    let row = draft.seated_fan_out(&super::key_of(draft, seat))?;
    let mut told = Told::default();
    for (status, finals) in &row.counts {
        for (last, count) in finals {
            told.branches.push(json!({"workflow": row.workflow, "status": status, "final": last}));
            told.weights.push(*count);
        }
    }
    Some(told)
}

/// There is nothing to do: the token gets `empty` where a transition takes it, else `joined` with no branches.
pub(super) fn nothing(draft: &mut Draft<'_>, seat: Seat, row: &FanOut) -> Result<(), Missing> {
    draft.append(seat, Kind::NoWork, json!({"reason": row.reason}));
    if draft.workflow(seat).candidates(&draft[seat].state, EMPTY).is_empty() {
        return go_on(draft, seat, JOINED, Some(&payload(row, Vec::new())));
    }
    go_on(draft, seat, EMPTY, None)
}

/// The join is met: the token gets `joined` with the counts of all that ended, and the first of them one by one.
pub(super) fn joined(
    draft: &mut Draft<'_>,
    seat: Seat,
    row: &FanOut,
    parallel: &Parallel,
    each: &Each,
) -> Result<(), Missing> {
    // As in a static state, `any` tells the one that met it.
    let (from, to) = match (parallel.join, row.first_ended) {
        (Join::Any, Some(first)) => (first, first + 1),
        _ => (0, row.created.min(limits::BRANCHES)),
    };
    let chunk = from / items::CHUNK;
    let items = items::read(&draft.chunk(&row.key, chunk)?);
    let seats = draft.seats(&ids(row, from, to))?;
    let (mut told, mut bytes) = (Vec::new(), 0);
    for (child, index) in seats.into_iter().zip(from..to) {
        let Some(child) = child.filter(|child| draft[*child].parent.as_ref() == Some(&row.key.token)) else {
            continue;
        };
        if !draft[child].status.is_ended() {
            continue;
        }
        let mut entry = family::branch(draft, child);
        entry["index"] = index.into();
        let item = usize::try_from(index - chunk * items::CHUNK).ok().and_then(|place| items.get(place));
        entry["key"] = item.map_or(Json::Null, |item| items::key(each, item, index));
        bytes += entry.to_string().len();
        if bytes > limits::BRANCHES_BYTES {
            break;
        }
        told.push(entry);
    }
    go_on(draft, seat, JOINED, Some(&payload(row, told)))
}

fn payload(row: &FanOut, told: Vec<Json>) -> Object {
    let more = (told.len() as u64) < row.ended;
    let counts =
        row.counts.iter().map(|(status, finals)| (status.clone(), finals.values().sum::<u64>().into()));
    let mut payload = Object::new();
    payload.insert("branches".to_owned(), Json::Array(told));
    payload.insert("total".to_owned(), row.total.into());
    payload.insert("counts".to_owned(), Json::Object(counts.collect()));
    payload.insert("more".to_owned(), more.into());
    payload
}

/// Only this moves the token on, so an event that no transition takes fails it.
fn go_on(draft: &mut Draft<'_>, seat: Seat, event: &str, payload: Option<&Object>) -> Result<(), Missing> {
    let state = quote(&draft[seat].state);
    if let Some(reason) = moves::route(draft, seat, event, payload, None)? {
        moves::fail(draft, seat, &format!("the join of {state} cannot move the token: {reason}"))?;
    }
    Ok(())
}
