//! Starting a token.

use std::collections::BTreeMap;

use serde_json::json;

use super::draft::{Draft, Seat};
use super::words::{quote, quote_all};
use super::{Decided, Rules, answer, family, moves, refuse};
use crate::change::{Answer, TokenView};
use crate::graph::{START, STARTED, Transition, Workflow};
use crate::guard::Facts;
use crate::json::{Json, Object};
use crate::loaded::{Loaded, Missing};
use crate::model::{EventRecord, Kind, Status, Token};
use crate::names;
use crate::refusal::Code;
use crate::time::Timestamp;

/// A new token leaves START for the state that its context leads to. To start one that exists changes nothing.
pub(super) fn start(
    rules: &Rules,
    loaded: &Loaded,
    now: Timestamp,
    id: &str,
    workflow: Option<&str>,
    context: &Object,
) -> Decided {
    if !names::is_token_id(id) {
        return refuse(
            Code::InvalidTokenId,
            "a token id is a letter or digit, then up to 127 letters, digits, '.', '_' or '-'",
        );
    }
    if let Some(member) = &loaded.member {
        let view = TokenView { token: member.token.clone(), context: member.context.clone() };
        return answer(Answer::Token(view));
    }
    if let Some(taken) = &loaded.folded {
        return refuse(
            Code::InvalidTokenId,
            format!("a token {} already exists; token ids are compared without regard to case", quote(taken)),
        );
    }
    let graph = match workflow {
        None => Some(rules.catalog.default_graph()),
        Some(name) => rules.catalog.graphs().iter().find(|g| g.name() == name),
    };
    let Some(graph) = graph else {
        let known = quote_all(rules.catalog.graphs().iter().map(crate::graph::Graph::name));
        let name = quote(workflow.unwrap_or_default());
        return refuse(
            Code::InvalidArgument,
            format!("this control plane serves no workflow {name}; it serves {known}"),
        );
    };
    let workflow = graph.main();
    let values = workflow.with_defaults(context.clone());
    let errors = workflow.context_errors(&values);
    if !errors.is_empty() {
        return refuse(Code::InvalidContext, format!("{}: {}", workflow.name(), errors.join("; ")));
    }
    let target = match first_transition(workflow, &values) {
        Ok(chosen) => &chosen.target,
        Err(reason) => return refuse(Code::InvalidContext, reason),
    };
    let mut draft = Draft::empty(rules, loaded, now);
    let structure = graph.structure();
    if let Some(problem) = family::cannot_begin(&draft, id, structure, workflow, target, &values)? {
        return refuse(Code::InvalidContext, problem);
    }
    let seat = begin(&mut draft, workflow, structure, id, None, values, target)?;
    let view = draft.view(seat)?;
    Ok(draft.finish(Ok(Answer::Created(view))))
}

/// A new token leaves START for `target`; with `parent`, as a child of that token.
pub(super) fn begin<'a>(
    draft: &mut Draft<'a>,
    workflow: &'a Workflow,
    structure: &str,
    id: &str,
    parent: Option<&str>,
    context: Object,
    target: &str,
) -> Result<Seat, Missing> {
    let by = EventRecord { name: STARTED.to_owned(), payload: None };
    let token = Token {
        id: id.to_owned(),
        workflow: workflow.name().to_owned(),
        structure: structure.to_owned(),
        state: START.to_owned(),
        status: Status::Active,
        visit: 0,
        started_at: draft.now,
        entered_at: draft.now,
        paused_at: None,
        parent: parent.map(str::to_owned),
        seq: 0,
        visits: BTreeMap::new(),
        counts: BTreeMap::new(),
        entered_by: by.clone(),
        ended_by: None,
    };
    let seat = draft.create(workflow, token, &context);
    let mut data = json!({"context": Json::Object(context)});
    if let Some(parent) = parent {
        data["parent"] = json!(parent);
    }
    draft.append(seat, Kind::Started, data);
    // Recorded as any other move: the history shows where the token began, and the first routine is told what brought
    // the token to it.
    moves::accept(draft, seat, STARTED, None, None);
    moves::arrive(draft, seat, target, by)?;
    Ok(seat)
}

/// The transition from START that this context takes. Its guards read the context alone: nothing has happened yet.
pub(super) fn first_transition<'w>(
    workflow: &'w Workflow,
    context: &Object,
) -> Result<&'w Transition, String> {
    let (empty, none) = (Object::new(), |_: &str| 0);
    let facts = Facts { context, payload: &empty, counts: &none, branches: &[] };
    moves::pick(workflow.starts(), &facts)
        .map_err(|targets| {
            format!(
                "more than one transition from START holds ({targets}); compile the workflow again, which refuses such \
                 guards"
            )
        })?
        .ok_or_else(|| "no transition from START holds on this context, and there is no otherwise".to_owned())
}
