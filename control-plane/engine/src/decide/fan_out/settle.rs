//! What was done to the tokens above a token, but has not reached it yet, reaches it before anything else happens to it.

use super::sweep::{carry, prepare};
use crate::change::Change;
use crate::decide::Rules;
use crate::decide::draft::Draft;
use crate::loaded::{Loaded, Missing};
use crate::model::{Status, Sweep, Token};
use crate::names::item_child_id;
use crate::time::Timestamp;

/// What the rows are once the token that the input is about stands or moves or has ended as those above it do, with the
/// changes that made them so; `None` when nothing is outstanding, which is nearly always.
pub(in crate::decide) fn settle(
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
) -> Result<Option<(Loaded, Vec<Change>)>, Missing> {
    let Some(member) = loaded.member.as_ref().filter(|_| !loaded.ancestors.is_empty()) else {
        return Ok(None);
    };
    let served = rules.catalog.workflow(&member.token.workflow, &member.token.structure);
    let line: Vec<&Token> = std::iter::once(&member.token).chain(&loaded.ancestors).collect();
    let behind = line.windows(2).any(|pair| outstanding(pair[0], pair[1]).is_some());
    if !behind || served.is_none() {
        return Ok(None);
    }
    let mut draft = Draft::empty(rules, loaded, now);
    // From the top down: what reaches a token is then known to those below.
    for pair in line.windows(2).rev().filter(|pair| pair[0].index.is_some()) {
        let [child, parent] = &draft.seats(&[pair[0].id.clone(), pair[1].id.clone()])?[..] else { continue };
        let (Some(child), Some(parent)) = (*child, *parent) else { continue };
        if let Some((act, why)) = outstanding(&draft[child], &draft[parent]) {
            prepare(&draft, &[child], act)?;
            carry(&mut draft, child, act, why)?;
        }
    }
    Ok(Some(draft.into_loaded()))
}

/// What was done to the parent of a fan-out's child, and not yet to the child.
fn outstanding(child: &Token, parent: &Token) -> Option<(Sweep, &'static str)> {
    let index = child.index.filter(|_| !child.status.is_ended())?;
    let id = item_child_id(&parent.id, &parent.state, parent.visit, &child.workflow, index);
    match (parent.status, child.status) {
        _ if parent.status.is_ended() => Some((Sweep::Cancel, "the parent ended")),
        _ if id != child.id => Some((Sweep::Cancel, "the parent left the state")),
        (Status::Paused, Status::Active) => Some((Sweep::Pause, "")),
        (Status::Active, Status::Paused) => Some((Sweep::Resume, "")),
        _ => None,
    }
}
