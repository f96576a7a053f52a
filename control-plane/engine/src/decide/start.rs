//! Starting a token.

use std::collections::BTreeMap;

use serde_json::json;

use super::draft::Draft;
use super::moves;
use super::words::{quote, quote_all};
use super::{Rules, answer, refuse};
use crate::change::{Answer, Decision, TokenView};
use crate::graph::{END, START, STARTED, Transition, Workflow};
use crate::guard::Facts;
use crate::json::{Json, Object};
use crate::loaded::Loaded;
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
) -> Decision {
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
    let chosen = match first_transition(workflow, &values) {
        Ok(chosen) => chosen,
        Err(reason) => return refuse(Code::InvalidContext, reason),
    };
    let token = Token {
        id: id.to_owned(),
        workflow: workflow.name().to_owned(),
        structure: graph.structure().to_owned(),
        state: START.to_owned(),
        status: Status::Active,
        visit: 0,
        started_at: now,
        entered_at: now,
        paused_at: None,
        parent: None,
        seq: 0,
        visits: BTreeMap::new(),
        counts: BTreeMap::new(),
        entered_by: EventRecord { name: STARTED.to_owned(), payload: None },
    };
    let mut draft = Draft::new(rules, workflow, loaded, now, token, &values);
    draft.append(Kind::Started, json!({"context": Json::Object(values)}));
    // Recorded as any other move: the history shows where the token began, and the first routine is told what brought
    // the token to it.
    moves::accept(&mut draft, STARTED, None, None);
    if chosen.target == END {
        moves::end(&mut draft, Status::Completed, json!({}));
    } else {
        moves::enter(&mut draft, &chosen.target);
    }
    let view = draft.view();
    draft.finish(Ok(Answer::Created(view)))
}

/// The transition from START that this context takes. Its guards read the context alone: nothing has happened yet.
fn first_transition<'w>(workflow: &'w Workflow, context: &Object) -> Result<&'w Transition, String> {
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
