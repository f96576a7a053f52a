//! The model's rules of beginnings and families: how a token starts, which children a parallel state starts with it, and
//! what they tell their parent.

use serde_json::json;

use super::flow::{Facts, Flow, Object};
use super::rules::{Model, Token, Told, child_id, told};

impl Model {
    pub(crate) fn start(&mut self, id: &str, workflow: Option<&str>, context: &Object) -> Told {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let first = id.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
        if !first || id.len() > 128 || !id.chars().all(allowed) {
            return Told::Refused("invalid_token_id");
        }
        if self.tokens.contains_key(id) {
            return Told::Token(id.to_owned());
        }
        if self.taken(id) {
            return Told::Refused("invalid_token_id");
        }
        if workflow.is_some_and(|name| name != self.flow.name) {
            return Told::Refused("invalid_argument");
        }
        let flow = self.flow.clone();
        if self.cannot_start(id, &flow, context).is_some() {
            return Told::Refused("invalid_context");
        }
        self.create(id, &flow, context, None);
        Told::Created(id.to_owned())
    }

    /// Ids are compared without regard to case.
    fn taken(&self, id: &str) -> bool {
        self.tokens.keys().any(|other| other.eq_ignore_ascii_case(id))
    }

    /// Where a new token goes with this context.
    fn first_state(flow: &Flow, context: &Object) -> Result<&'static str, String> {
        let facts = Facts { context, payload: &Object::new(), count: &|_| 0 };
        let starts: Vec<_> = flow.moves.iter().filter(|m| m.from == "__start__").collect();
        let holding: Vec<_> =
            starts.iter().filter(|m| m.when.as_ref().is_some_and(|when| when.holds(&facts))).collect();
        if holding.len() > 1 {
            let targets: Vec<_> = holding.iter().map(|m| format!("'{}'", m.to)).collect();
            return Err(format!(
                "more than one transition from START holds ({}); compile the workflow again, which refuses such guards",
                targets.join(", ")
            ));
        }
        let chosen = holding.first().copied().or_else(|| starts.iter().find(|m| m.when.is_none()));
        chosen.map(|m| m.to).ok_or_else(|| {
            "no transition from START holds on this context, and there is no otherwise".to_owned()
        })
    }

    /// Why no token of this id, workflow and context can start.
    fn cannot_start(&self, id: &str, flow: &Flow, context: &Object) -> Option<String> {
        let context = flow.with_defaults(context);
        if !flow.context_fits(&context) {
            return Some("its context breaks the schema: ".to_owned());
        }
        match Self::first_state(flow, &context) {
            Ok(state) => self.cannot_enter(id, flow, state, &context),
            Err(why) => Some(why),
        }
    }

    /// Why the token cannot enter the state: a child that it would start cannot.
    pub(crate) fn cannot_enter(
        &self,
        id: &str,
        flow: &Flow,
        state: &str,
        context: &Object,
    ) -> Option<String> {
        let parallel = flow.state(state).parallel.clone()?;
        let visit = self.visits(id, state) + 1;
        let inputs = inputs(context, &parallel.inputs);
        for workflow in parallel.workflows {
            let child = child_id(id, state, visit, workflow);
            if child.len() > 128 {
                return Some(format!(
                    "the child '{child}' of '{state}' would have an id longer than 128 characters; use a shorter token id"
                ));
            }
            if self.taken(&child) {
                return Some(format!("the child id '{child}' is taken by another token"));
            }
            let flow = self.flow.find(workflow).expect("each workflow is in the graph");
            if let Some(why) = self.cannot_start(&child, flow, &inputs) {
                return Some(format!("the child '{workflow}' of '{state}' cannot start: {why}"));
            }
        }
        None
    }

    pub(crate) fn create(&mut self, id: &str, flow: &Flow, context: &Object, parent: Option<&str>) {
        let context = flow.with_defaults(context);
        let first = Self::first_state(flow, &context).expect("it was asked before");
        let mut data = json!({"context": context});
        if let Some(parent) = parent {
            data["parent"] = parent.into();
        }
        let token = Token {
            id: id.to_owned(),
            workflow: flow.name.to_owned(),
            parent: parent.map(str::to_owned),
            state: "__start__".to_owned(),
            status: "active",
            visit: 0,
            context,
            entered_at: self.now,
        };
        self.tokens.insert(id.to_owned(), token);
        self.append(id, "started", data);
        self.append(
            id,
            "event_accepted",
            json!({"event": "__started__", "payload": null, "state": "__start__"}),
        );
        self.enter(id, first);
    }

    /// The parent joins when all its children ended, or with the first.
    pub(crate) fn child_ended(&mut self, child: &str) {
        let Some(parent) = self.token(child).parent.clone() else { return };
        let siblings = self.children(&parent);
        if !self.is(&parent, "active") || !siblings.iter().any(|s| s == child) {
            return;
        }
        let state = self.token(&parent).state.clone();
        let parallel = self.flow_of(&parent).state(&state).parallel.clone().expect("it has children");
        let ended: Vec<_> = siblings.iter().filter(|s| !self.is_live(s)).cloned().collect();
        if !parallel.any && ended.len() < parallel.workflows.len() {
            return;
        }
        let told = if parallel.any { vec![child.to_owned()] } else { ended };
        let branches: Vec<_> = told.iter().map(|id| self.branch(id)).collect();
        let payload = json!({"branches": branches});
        if let Err(reason) = self.route(&parent, "joined", payload.as_object(), None) {
            self.fail(&parent, &format!("the join of '{state}' cannot move the token: {reason}"));
        }
    }

    /// What a parent is told of a child: `payload` came with the event that brought it into its last state, and `ended_by`
    /// is the event that completed it.
    fn branch(&self, id: &str) -> serde_json::Value {
        let token = self.token(id);
        let (_, payload) = self.entered_by(id);
        let mut branch = json!({
            "workflow": token.workflow, "token": id, "status": token.status, "final": token.state,
            "payload": told(payload.as_ref()),
        });
        if token.status == "completed" {
            let (event, payload) = self.last_accepted(id);
            branch["ended_by"] = json!({"event": event, "payload": told(payload.as_ref())});
        }
        branch
    }
}

/// The part of a context that children start with.
pub(crate) fn inputs(context: &Object, keys: &[&str]) -> Object {
    let part = |key: &&str| context.get(*key).map(|value| ((*key).to_owned(), value.clone()));
    keys.iter().filter_map(part).collect()
}
