//! The model's rules of movement: fire, hold, choose, leave, enter, end.

use serde_json::json;

use super::family::inputs;
use super::flow::{Facts, Object};
use super::rules::{AskedTimer, Held, Model, Timer, Told, child_id, duration, told};

/// Why an event moves nothing.
pub(crate) enum No {
    Refused(String),
    /// Two guards hold: the token fails.
    Fatal(String),
}

impl Model {
    pub(crate) fn fire(
        &mut self,
        id: &str,
        event: &str,
        payload: Option<&Object>,
        key: Option<&str>,
    ) -> Told {
        if !self.tokens.contains_key(id) {
            return Told::Refused("token_not_found");
        }
        if key.is_some() && self.entries(id).iter().any(|e| e.key.as_deref() == key) {
            return Told::Duplicate(id.to_owned());
        }
        let flow = self.flow_of(id);
        if !self.is_live(id) {
            let reason = format!("token '{id}' is {}; it takes no events", self.token(id).status);
            return self.reject(id, event, &reason, "token_not_active");
        }
        if ["__started__", "timeout", "error", "joined"].contains(&event) {
            let reason = format!("'{event}' is Stateous's own event; only Stateous fires it");
            return self.reject(id, event, &reason, "event_not_allowed");
        }
        if !flow.declares(event) {
            let reason = format!("the workflow '{}' has no event '{event}'", flow.name);
            return self.reject(id, event, &reason, "event_not_allowed");
        }
        if !flow.payload_fits(event, payload) {
            return Told::Refused("invalid_payload");
        }
        if self.is(id, "paused") {
            self.hold(id, event, payload, key, None);
            return Told::Token(id.to_owned());
        }
        match self.route(id, event, payload, key) {
            Ok(()) => Told::Token(id.to_owned()),
            Err(reason) => self.reject(id, event, &reason, "event_not_allowed"),
        }
    }

    pub(crate) fn reject(&mut self, id: &str, event: &str, reason: &str, code: &'static str) -> Told {
        self.append(id, "event_rejected", json!({"event": event, "reason": reason}));
        Told::Refused(code)
    }

    /// Keeps an event for the resume. The outcome of a task is kept whole and bound to the task's state and visit.
    pub(crate) fn hold(
        &mut self,
        id: &str,
        event: &str,
        payload: Option<&Object>,
        key: Option<&str>,
        outcome: Option<(u64, &Object, &[AskedTimer])>,
    ) {
        let top = self.top(id);
        let arrival = 1 + self.held.iter().filter(|h| self.top(&h.token) == top).count() as u64;
        let mut data = json!({"event": event, "payload": told(payload), "arrival": arrival});
        let mut held = Held {
            token: id.to_owned(),
            arrival,
            event: event.to_owned(),
            payload: payload.cloned(),
            origin: None,
            context: Object::new(),
            timers: Vec::new(),
        };
        if let Some((task, context, timers)) = outcome {
            let (state, visit) = (self.task(task).state.clone(), self.task(task).visit);
            data["task"] = task.into();
            data["state"] = state.clone().into();
            data["visit"] = visit.into();
            if !context.is_empty() {
                data["context"] = json!(context);
            }
            if !timers.is_empty() {
                data["schedules"] = timers.iter().map(AskedTimer::told).collect();
            }
            held.origin = Some((task, state, visit));
            held.context = context.clone();
            held.timers = timers.to_vec();
        }
        self.append_keyed(id, "event_deferred", data, key);
        self.held.push(held);
    }

    /// Where an event leads from where the token is, with this context. Changes nothing.
    pub(crate) fn choose(
        &self,
        id: &str,
        event: &str,
        payload: Option<&Object>,
        context: &Object,
    ) -> Result<&'static str, No> {
        let flow = self.flow_of(id);
        let state = self.token(id).state.clone();
        let ways: Vec<_> = flow.moves.iter().filter(|m| m.from == state && m.on == event).collect();
        if ways.is_empty() {
            return Err(No::Refused(format!("no transition for '{event}' from '{state}'")));
        }
        let nothing = Object::new();
        let count = |name: &str| self.count(id, name) + u64::from(name == event);
        let facts = Facts { context, payload: payload.unwrap_or(&nothing), count: &count };
        let holding: Vec<_> =
            ways.iter().filter(|m| m.when.as_ref().is_some_and(|when| when.holds(&facts))).collect();
        if holding.len() > 1 {
            let targets: Vec<_> = holding.iter().map(|m| format!("'{}'", m.to)).collect();
            return Err(No::Fatal(format!(
                "'{event}' from '{state}' matched more than one guard ({}); compile the workflow again, which refuses such \
                 guards",
                targets.join(", ")
            )));
        }
        let chosen = holding.first().copied().or_else(|| ways.iter().find(|m| m.when.is_none()));
        let Some(chosen) = chosen else {
            return Err(No::Refused(format!("no guard matched '{event}' from '{state}', and no otherwise")));
        };
        if chosen.to != "__end__"
            && let Some(why) = self.cannot_enter(id, &flow, chosen.to, context)
        {
            return Err(No::Refused(why));
        }
        Ok(chosen.to)
    }

    /// Moves an active token by an event, or fails it, or says why not.
    pub(crate) fn route(
        &mut self,
        id: &str,
        event: &str,
        payload: Option<&Object>,
        key: Option<&str>,
    ) -> Result<(), String> {
        let context = self.token(id).context.clone();
        match self.choose(id, event, payload, &context) {
            Ok(target) => self.take(id, event, payload, key, target),
            Err(No::Fatal(reason)) => self.fail(id, &reason),
            Err(No::Refused(reason)) => return Err(reason),
        }
        Ok(())
    }

    pub(crate) fn take(
        &mut self,
        id: &str,
        event: &str,
        payload: Option<&Object>,
        key: Option<&str>,
        target: &str,
    ) {
        let state = self.token(id).state.clone();
        let data = json!({"event": event, "payload": told(payload), "state": state});
        self.append_keyed(id, "event_accepted", data, key);
        self.leave(id, Some(event), &format!("the parent left '{state}' on '{event}'"));
        if target == "__end__" {
            self.end(id, "completed", json!({}));
        } else {
            self.enter(id, target);
        }
    }

    /// Stops all that the present state has started: its task is done when the state's own outcome ends it while somebody
    /// works on it, else cancelled; timers and live children are cancelled.
    pub(crate) fn leave(&mut self, id: &str, via: Option<&str>, why: &str) {
        let emits = self.flow_of(id).emits(&self.token(id).state);
        let own = via.is_some_and(|event| emits.contains(&event));
        for task in self.open_tasks(id) {
            let worked_on = ["claimed", "started", "waiting"].contains(&self.task(task).status);
            let (status, kind) =
                if own && worked_on { ("done", "task_done") } else { ("cancelled", "task_cancelled") };
            self.close(task, status);
            self.append(id, kind, json!({"task": task}));
        }
        for timer in self.timers.iter_mut().filter(|t| t.token == id) {
            timer.pending = false;
        }
        for child in self.children(id) {
            if self.is_live(&child) {
                self.cancel_one(&child, json!({"reason": why}));
            }
        }
    }

    pub(crate) fn enter(&mut self, id: &str, state: &str) {
        let flow = self.flow_of(id);
        let spec = flow.state(state).clone();
        let visit = self.visits(id, state) + 1;
        let now = self.now;
        self.append(id, "entered", json!({"state": state, "visit": visit}));
        let token = self.change(id);
        (token.state, token.visit, token.entered_at) = (state.to_owned(), visit, now);
        if spec.parallel.is_none() {
            self.queue(id);
        }
        if let Some((_, ms)) = spec.timeout {
            self.set_timer(id, "timeout", None, ms, "timeout");
        }
        let Some(parallel) = spec.parallel else { return };
        let inputs = inputs(&self.token(id).context, &parallel.inputs);
        for workflow in parallel.workflows {
            let child = child_id(id, state, visit, workflow);
            self.append(id, "branch_started", json!({"workflow": workflow, "token": child}));
            let flow = self.flow.find(workflow).expect("each workflow is in the graph").clone();
            self.create(&child, &flow, &inputs, Some(id));
        }
    }

    pub(crate) fn set_timer(
        &mut self,
        id: &str,
        event: &str,
        payload: Option<&Object>,
        after: i64,
        kind: &'static str,
    ) {
        let timer = Timer {
            id: self.timers.len() as u64 + 1,
            token: id.to_owned(),
            state: self.token(id).state.clone(),
            visit: self.token(id).visit,
            event: event.to_owned(),
            payload: payload.cloned(),
            set_at: self.now,
            due_at: self.now + after,
            kind,
            pending: true,
        };
        let due = stateous_engine::Timestamp(timer.due_at).iso();
        self.append(id, "timer_set", json!({"event": event, "due_at": due}));
        self.timers.push(timer);
    }

    pub(crate) fn end(&mut self, id: &str, status: &'static str, data: serde_json::Value) {
        self.change(id).status = status;
        self.append(id, status, data);
        self.memory.retain(|(token, ..), _| token != id);
        if status != "cancelled" {
            self.child_ended(id);
        }
    }

    pub(crate) fn fail(&mut self, id: &str, reason: &str) {
        self.leave(id, None, &format!("the parent failed: {reason}"));
        self.end(id, "failed", json!({"reason": reason}));
    }
}

impl AskedTimer {
    fn told(&self) -> serde_json::Value {
        let mut out = json!({"event": self.event, "after": self.after});
        if let Some(payload) = &self.payload {
            out["payload"] = json!(payload);
        }
        out
    }

    pub(crate) fn ms(&self) -> Option<i64> {
        duration(&self.after)
    }
}
