//! One step of a fan-out: a batch of a sweep, a batch of children, or the join.

use serde_json::json;

use super::{FanOut, count, ids, is_met, items, join, refresh, room, sweep};
use crate::change::Answer;
use crate::decide::draft::{Draft, Seat};
use crate::decide::{Decided, Rules, answer, family, start};
use crate::graph::{Each, Parallel, START};
use crate::json::{Json, Object};
use crate::limits;
use crate::loaded::{Loaded, Missing};
use crate::model::{FanOutKey, Kind, Status, Sweep};
use crate::time::Timestamp;

/// Does the next thing that is to be done for a fan-out, if there is one.
pub(in crate::decide) fn unfold(rules: &Rules, loaded: &Loaded, now: Timestamp, key: &FanOutKey) -> Decided {
    let Some(member) = &loaded.member else { return answer(Answer::Stale) };
    let Ok((mut draft, seat)) = Draft::of(rules, loaded, member, now) else { return answer(Answer::Stale) };
    let Some(row) = draft.fan_out(key)?.cloned() else { return answer(Answer::Stale) };
    if !row.pending {
        return answer(Answer::Stale);
    }
    draft.fan_out_mut(key).looked_at = now;
    let token = &draft[seat];
    let active = token.status == Status::Active;
    let here = !token.status.is_ended() && (&token.state, token.visit) == (&key.state, key.visit);
    if !here && row.sweep.is_none() {
        let row = draft.fan_out_mut(key);
        (row.sweep, row.swept) = (Some(Sweep::Cancel), 0);
    }
    if row.sweep.is_some() || !here {
        sweep::sweep(&mut draft, key)?;
        return Ok(draft.finish(Ok(Answer::Done)));
    }
    if active {
        let workflow = draft.workflow(seat);
        let (parallel, each) =
            workflow.fan_out(&key.state).expect("a graph keeps which of its states fan out");
        if row.total == 0 {
            join::nothing(&mut draft, seat, &row)?;
            return Ok(draft.finish(Ok(Answer::Done)));
        }
        if is_met(&row, parallel.join) {
            join::joined(&mut draft, seat, &row, parallel, each)?;
            return Ok(draft.finish(Ok(Answer::Done)));
        }
        start_children(&mut draft, seat, &row, parallel, each)?;
    }
    refresh(&mut draft, key);
    Ok(draft.finish(Ok(Answer::Done)))
}

/// Starts the next children: at most one chunk of items, and no more than may live at once.
fn start_children(
    draft: &mut Draft<'_>,
    seat: Seat,
    row: &FanOut,
    parallel: &Parallel,
    each: &Each,
) -> Result<(), Missing> {
    let from = row.created;
    let chunk = from / items::CHUNK;
    let to = ((chunk + 1) * items::CHUNK)
        .min(from.saturating_add(room(row, each)))
        .min(from + limits::FAN_OUT_BATCH);
    if to == from {
        return Ok(());
    }
    let items = items::read(&draft.chunk(&row.key, chunk)?);
    let ids = ids(row, from, to);
    let taken = draft.taken(&ids)?;
    let context = draft.context(seat)?;
    let inputs = family::inputs_of(parallel, &context);
    draft.append(seat, Kind::BranchesStarted, json!({"workflow": row.workflow, "from": from, "to": to}));
    for ((index, id), taken) in (from..to).zip(&ids).zip(taken) {
        draft.fan_out_mut(&row.key).created = index + 1;
        if taken {
            let reason = "the child id is taken by another token";
            draft.append(seat, Kind::BranchRefused, json!({"index": index, "token": id, "reason": reason}));
            count(draft, &row.key, index, Status::Failed, START);
            continue;
        }
        let place = usize::try_from(index - chunk * items::CHUNK).ok();
        let item = place.and_then(|place| items.get(place)).expect("a chunk holds an item for each place");
        start_child(draft, seat, row, id, index, item, inputs.clone())?;
    }
    Ok(())
}

/// Starts one child. One that cannot start is there all the same, failed, and says why: its siblings are not its hostages.
fn start_child(
    draft: &mut Draft<'_>,
    seat: Seat,
    row: &FanOut,
    id: &str,
    index: u64,
    item: &Json,
    mut context: Object,
) -> Result<(), Missing> {
    let parent = draft[seat].clone();
    let workflow = family::child_workflow(draft, &row.workflow, &parent.structure);
    context.insert(crate::graph::ITEM.to_owned(), item.clone());
    let values = workflow.with_defaults(context);
    let errors = workflow.context_errors(&values);
    let target = if errors.is_empty() {
        start::first_transition(workflow, &values).map(|chosen| chosen.target.clone())
    } else {
        Err(format!("its context breaks the schema: {}", errors.join("; ")))
    };
    let target = match target {
        Ok(target) => {
            let problem = family::cannot_begin(draft, id, &parent.structure, workflow, &target, &values)?;
            problem.map_or(Ok(target), Err)
        }
        Err(problem) => Err(problem),
    };
    let born = start::Born { structure: &parent.structure, id, parent: Some(&parent.id), index: Some(index) };
    match target {
        Ok(target) => start::begin(draft, workflow, &born, values, &target).map(drop),
        Err(problem) => start::stillborn(draft, workflow, &born, values, &problem),
    }
}
