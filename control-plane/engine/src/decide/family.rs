//! Parallel states: the children that a token starts, what they are told, and what they tell their parent.
//!
//! A family is a top token and all below it. A child is an ordinary token of its own workflow, with an id that is derived
//! from its parent's; so a parent finds the children of its current visit by name, and no query grows with the visits of
//! the past.

use serde_json::json;

use super::draft::{Draft, Seat};
use super::words::quote;
use super::{deferred, moves, start};
use crate::graph::{END, JOINED, Join, Parallel, Workflow};
use crate::json::{Json, Object};
use crate::limits;
use crate::loaded::Missing;
use crate::model::{Kind, Status};
use crate::names::child_id;

/// Why the token cannot enter `state` now with this context: a child that the state would start cannot. These are the
/// checks of the children's start, made before anything is recorded, down through nested parallel states.
pub(super) fn cannot_enter(
    draft: &Draft<'_>,
    seat: Seat,
    state: &str,
    context: &Object,
) -> Result<Option<String>, Missing> {
    let token = &draft[seat];
    let visit = token.visits.get(state).copied().unwrap_or(0) + 1;
    let place = Place { token: &token.id, structure: &token.structure, workflow: draft.workflow(seat) };
    place.cannot_enter(draft, state, visit, context)
}

/// Why a token that does not exist yet cannot begin in `state`.
pub(super) fn cannot_begin(
    draft: &Draft<'_>,
    token: &str,
    structure: &str,
    workflow: &Workflow,
    state: &str,
    context: &Object,
) -> Result<Option<String>, Missing> {
    Place { token, structure, workflow }.cannot_enter(draft, state, 1, context)
}

/// A token, which may not exist yet, and what it follows.
struct Place<'p> {
    token: &'p str,
    structure: &'p str,
    workflow: &'p Workflow,
}

impl Place<'_> {
    fn cannot_enter(
        &self,
        draft: &Draft<'_>,
        state: &str,
        visit: u64,
        context: &Object,
    ) -> Result<Option<String>, Missing> {
        if state == END {
            return Ok(None);
        }
        let Some(parallel) = self.workflow.state(state).and_then(|spec| spec.parallel.as_ref()) else {
            return Ok(None);
        };
        let ids: Vec<String> =
            parallel.workflows.iter().map(|w| child_id(self.token, state, visit, w)).collect();
        let most = limits::TOKEN_ID;
        // An id that is too long cannot be looked up either; each problem is told in the order of the children.
        let fits = ids.iter().take_while(|id| id.len() <= most).cloned().collect::<Vec<_>>();
        let taken = draft.taken(&fits)?;
        let inputs = inputs_of(parallel, context);
        let state = quote(state);
        for (i, (id, name)) in ids.iter().zip(&parallel.workflows).enumerate() {
            let told = quote(id);
            if id.len() > most {
                return Ok(Some(format!(
                    "the child {told} of {state} would have an id longer than {most} characters; use a shorter token id"
                )));
            }
            if taken[i] {
                return Ok(Some(format!("the child id {told} is taken by another token")));
            }
            if let Some(problem) = self.cannot_start(draft, id, name, inputs.clone())? {
                return Ok(Some(format!("the child {} of {state} cannot start: {problem}", quote(name))));
            }
        }
        Ok(None)
    }

    /// Why a child of this token cannot start.
    fn cannot_start(
        &self,
        draft: &Draft<'_>,
        id: &str,
        name: &str,
        context: Object,
    ) -> Result<Option<String>, Missing> {
        let workflow = child_workflow(draft, name, self.structure);
        let values = workflow.with_defaults(context);
        let errors = workflow.context_errors(&values);
        if !errors.is_empty() {
            return Ok(Some(format!("its context breaks the schema: {}", errors.join("; "))));
        }
        match start::first_transition(workflow, &values) {
            Err(problem) => Ok(Some(problem)),
            Ok(chosen) => cannot_begin(draft, id, self.structure, workflow, &chosen.target, &values),
        }
    }
}

/// Starts a child for each workflow of the parallel state that the token has just entered.
pub(super) fn start_children(draft: &mut Draft<'_>, seat: Seat, parallel: &Parallel) -> Result<(), Missing> {
    let context = draft.context(seat)?;
    let inputs = inputs_of(parallel, &context);
    let parent = draft[seat].clone();
    for name in &parallel.workflows {
        let now = &draft[seat];
        if now.status != Status::Active || (&now.state, now.visit) != (&parent.state, parent.visit) {
            // A child of a graph file made by hand can end as it starts, and meet the join. Then the parent has left the
            // state, and starts no more children.
            return Ok(());
        }
        let id = child_id(&parent.id, &parent.state, parent.visit, name);
        draft.append(seat, Kind::BranchStarted, json!({"workflow": name, "token": id}));
        let workflow = child_workflow(draft, name, &parent.structure);
        let values = workflow.with_defaults(inputs.clone());
        // Checked by `cannot_enter` before the parent moved.
        let chosen =
            start::first_transition(workflow, &values).expect("a child that can start has a first state");
        let target = chosen.target.clone();
        start::begin(draft, workflow, &parent.structure, &id, Some(&parent.id), values, &target)?;
    }
    Ok(())
}

/// The children that the token's current visit of a parallel state started, in the order of the state's workflows; none
/// in any other state.
pub(super) fn children(draft: &mut Draft<'_>, seat: Seat) -> Result<Vec<Seat>, Missing> {
    let token = &draft[seat];
    let spec = draft.workflow(seat).state(&token.state);
    let Some(parallel) = spec.and_then(|spec| spec.parallel.as_ref()) else { return Ok(Vec::new()) };
    let id = |name: &String| child_id(&token.id, &token.state, token.visit, name);
    let ids: Vec<String> = parallel.workflows.iter().map(id).collect();
    // A token of somebody else's may have the id of a child that could not start.
    let parent = token.id.clone();
    let found = draft.seats(&ids)?.into_iter().flatten();
    Ok(found.filter(|child| draft[*child].parent.as_ref() == Some(&parent)).collect())
}

/// The token, then each child of its current state and theirs, depth first.
pub(super) fn family(draft: &mut Draft<'_>, seat: Seat) -> Result<Vec<Seat>, Missing> {
    let mut found = vec![seat];
    for child in children(draft, seat)? {
        found.extend(family(draft, child)?);
    }
    Ok(found)
}

/// Cancels each live child of the state that the token leaves.
pub(super) fn cancel_children(draft: &mut Draft<'_>, seat: Seat, why: &str) -> Result<(), Missing> {
    for child in children(draft, seat)? {
        if !draft[child].status.is_ended() {
            deferred::forget_all(draft, child);
            moves::cancel(draft, child, json!({"reason": why}))?;
        }
    }
    Ok(())
}

/// A child ended: its parent gets `joined` when its join is met. With `all`, the payload has an entry for each child;
/// with `any`, for this one. A join that no transition takes fails the parent, since nothing else could move it.
pub(super) fn child_ended(draft: &mut Draft<'_>, seat: Seat) -> Result<(), Missing> {
    let Some(parent) = draft[seat].parent.clone() else { return Ok(()) };
    let Some(above) = draft.seat(&parent)? else { return Ok(()) };
    let token = &draft[above];
    let spec = draft.workflow(above).state(&token.state);
    let Some(parallel) = spec.and_then(|spec| spec.parallel.as_ref()) else { return Ok(()) };
    // A paused parent's children are paused too, and end only after it was resumed. And a parent may have left the state
    // that started this child.
    let started = child_id(&token.id, &token.state, token.visit, &draft[seat].workflow) == draft[seat].id;
    if token.status != Status::Active || !started {
        return Ok(());
    }
    let state = quote(&token.state);
    let told = match parallel.join {
        Join::Any => vec![seat],
        Join::All => {
            let siblings = children(draft, above)?;
            if siblings.len() < parallel.workflows.len()
                || siblings.iter().any(|s| !draft[*s].status.is_ended())
            {
                return Ok(());
            }
            siblings
        }
    };
    let branches: Json = told.into_iter().map(|child| branch(draft, child)).collect();
    let mut payload = Object::new();
    payload.insert("branches".to_owned(), branches);
    if let Some(reason) = moves::route(draft, above, JOINED, Some(&payload), None)? {
        moves::fail(draft, above, &format!("the join of {state} cannot move the token: {reason}"))?;
    }
    Ok(())
}

/// One entry of the payload of `joined`. `final` and `payload` tell of one moment: the event that brought the child into
/// its last state. `ended_by`, which is ours, tells the event that completed it.
fn branch(draft: &Draft<'_>, child: Seat) -> Json {
    let token = &draft[child];
    let payload = |p: &Option<Object>| p.as_ref().map_or(Json::Null, |p| Json::Object(p.clone()));
    let mut entry = json!({
        "workflow": token.workflow,
        "token": token.id,
        "status": token.status.as_str(),
        "final": token.state,
        "payload": payload(&token.entered_by.payload),
    });
    if let Some(by) = &token.ended_by {
        entry["ended_by"] = json!({"event": by.name, "payload": payload(&by.payload)});
    }
    entry
}

/// The keys of the parent's context that each child starts with, where they are there.
fn inputs_of(parallel: &Parallel, context: &Object) -> Object {
    let found = |key: &String| context.get(key).map(|value| (key.clone(), value.clone()));
    parallel.inputs.iter().filter_map(found).collect()
}

fn child_workflow<'a>(draft: &Draft<'a>, name: &str, structure: &str) -> &'a Workflow {
    let rules = draft.rules;
    rules.catalog.workflow(name, structure).expect("a graph has every workflow that its parallel states name")
}
