//! Parallel states of a graph file: which workflows they run, over what they fan out, and how they join.

use std::collections::HashSet;

use super::{Place, whole_number};
use crate::graph::GraphError;
use crate::graph::fan_out::{Each, ITEM, Key, Listing, Source};
use crate::graph::workflow::{Join, Parallel, State};
use crate::json::{Json, Object};

/// What the options of a state say of running workflows, of which `children` are there; `None` when it is an ordinary state.
pub(super) fn read(
    options: &Object,
    children: &HashSet<&str>,
    place: &Place,
) -> Result<Option<Parallel>, GraphError> {
    let inputs = place.texts_at(options, "inputs")?;
    let each = each(options, place)?;
    if options.get("parallel").is_none_or(Json::is_null) {
        if each.is_some() {
            return place.fail("it fans out, but names no workflow in 'parallel'");
        }
        return Ok(None);
    }
    let workflows = place.texts_at(options, "parallel")?;
    let place = place.within("'parallel'");
    if workflows.is_empty() {
        return place.fail("it names no workflow; a parallel state runs at least one");
    }
    if let Some(unknown) = workflows.iter().find(|w| !children.contains(w.as_str())) {
        return place.fail(format!("the workflow '{unknown}' is not in 'workflows'"));
    }
    if let Some((_, twice)) = workflows.iter().enumerate().find(|(i, w)| workflows[..*i].contains(w)) {
        return place.fail(format!("it names '{twice}' twice; the two child tokens would have one id"));
    }
    let join = match options.get("join").map(|j| j.as_str()) {
        None | Some(Some("all")) => Join::All,
        Some(Some("any")) => Join::Any,
        Some(_) if each.is_some() => quorum(&options["join"], &place)?,
        Some(_) => return place.within("'join'").expected("'all' or 'any'", &options["join"]),
    };
    if each.is_some() && workflows.len() > 1 {
        return place.fail("a state that fans out runs one workflow");
    }
    if each.is_some() && inputs.iter().any(|input| input == ITEM) {
        return place.fail("'inputs' names 'item', which is each child's own");
    }
    Ok(Some(Parallel { workflows, join, inputs, each }))
}

/// Whether the state starts a child for each item.
pub(super) fn fans_out(state: &State) -> bool {
    state.parallel.as_ref().is_some_and(|parallel| parallel.each.is_some())
}

/// What the options of a state say of fanning out.
fn each(options: &Object, place: &Place) -> Result<Option<Each>, GraphError> {
    let at = |listing: Listing| place.text_at(options, listing.word());
    let (kind, text) = match (at(Listing::Items)?, at(Listing::Lines)?) {
        (Some(_), Some(_)) => return place.fail("it fans out over 'each' or over 'lines', not both"),
        (Some(text), None) => (Listing::Items, text),
        (None, Some(text)) => (Listing::Lines, text),
        (None, None) => {
            if let Some(key) = ["max_live", "key"].into_iter().find(|key| options.contains_key(*key)) {
                return place.fail(format!("'{key}' belongs to a state with 'each' or 'lines'"));
            }
            return Ok(None);
        }
    };
    let source = Source::parse(text).or_else(|p| place.within(&format!("'{}'", kind.word())).fail(p))?;
    let max_live = match options.get("max_live") {
        None | Some(Json::Null) => None,
        Some(json) => match whole_number(json).filter(|n| *n > 0) {
            None => return place.within("'max_live'").expected("a whole number of 1 or more", json),
            some => some,
        },
    };
    let key = match place.text_at(options, "key")? {
        None => None,
        Some(text) => Some(Key::parse(text).or_else(|problem| place.within("'key'").fail(problem))?),
    };
    Ok(Some(Each { kind, source, max_live, key }))
}

/// `{"quorum": 3}`.
fn quorum(json: &Json, place: &Place) -> Result<Join, GraphError> {
    let quorum = json.as_object().filter(|object| object.len() == 1).and_then(|object| object.get("quorum"));
    match quorum.and_then(whole_number).filter(|n| *n > 0) {
        Some(quorum) => Ok(Join::Quorum(quorum)),
        None => place.within("'join'").expected("'all', 'any' or {\"quorum\": <1 or more>}", json),
    }
}
