//! The model's rules of people's acts on a whole family: pause, resume, cancel, retry.

use serde_json::{Value as Json, json};

use super::moves::No;
use super::reports::with;
use super::rules::{Held, Model, Told};

impl Model {
    /// Why the act is not for this token, which may only be in one of `takes`.
    fn not_steerable(&self, id: &str, takes: &[&str]) -> Option<Told> {
        let Some(token) = self.tokens.get(id) else { return Some(Told::Refused("token_not_found")) };
        if token.parent.is_some() {
            return Some(Told::Refused("child_token"));
        }
        (!takes.contains(&token.status)).then_some(Told::Refused("token_not_active"))
    }

    pub(crate) fn pause(&mut self, id: &str) -> Told {
        if let Some(no) = self.not_steerable(id, &["active"]) {
            return no;
        }
        for member in self.family(id) {
            if self.is(&member, "active") {
                self.change(&member).status = "paused";
                self.append(&member, "paused", json!({}));
            }
        }
        Told::Token(id.to_owned())
    }

    pub(crate) fn resume(&mut self, id: &str) -> Told {
        if let Some(no) = self.not_steerable(id, &["paused"]) {
            return no;
        }
        let now = self.now;
        for member in self.family(id) {
            if !self.is(&member, "paused") {
                continue;
            }
            let paused =
                self.entries(&member).iter().rfind(|e| e.kind == "paused").expect("it was paused").at;
            for timer in self.timers.iter_mut().filter(|t| t.token == member && t.pending) {
                timer.due_at += now - paused.max(timer.set_at);
            }
            self.change(&member).status = "active";
            self.append(&member, "resumed", json!({}));
        }
        let (held, rest) =
            self.held.clone().into_iter().partition::<Vec<_>, _>(|held| self.top(&held.token) == id);
        self.held = rest;
        for held in held {
            self.replay(&held);
        }
        Told::Token(id.to_owned())
    }

    fn replay(&mut self, held: &Held) {
        let (id, event) = (held.token.as_str(), held.event.as_str());
        let token = self.token(id).clone();
        if token.status != "active" {
            return self.drop_held(held, &format!("token '{id}' is {}; it takes no events", token.status));
        }
        if let Some((_, state, visit)) = &held.origin
            && (state, *visit) != (&token.state, token.visit)
        {
            return self.drop_held(held, "the token left the state it came from");
        }
        let context = with(&token.context, &held.context);
        if !held.context.is_empty() && !self.flow_of(id).context_fits(&context) {
            return self.drop_held(held, "the context changes break the schema: ");
        }
        match self.choose(id, event, held.payload.as_ref(), &context) {
            Ok(target) => {
                self.append(id, "event_replayed", json!({"event": event}));
                self.save(id, &held.context, &held.timers);
                self.take(id, event, held.payload.as_ref(), None, target);
            }
            // No task is left that could move a token whose `error` does not fit.
            Err(No::Refused(reason)) if event != "error" => self.drop_held(held, &reason),
            Err(No::Refused(reason) | No::Fatal(reason)) => {
                self.drop_held(held, &reason);
                self.fail(id, &reason);
            }
        }
    }

    fn drop_held(&mut self, held: &Held, reason: &str) {
        self.append(&held.token, "event_dropped", json!({"event": held.event, "reason": reason}));
    }

    pub(crate) fn cancel(&mut self, id: &str) -> Told {
        if let Some(no) = self.not_steerable(id, &["active", "paused"]) {
            return no;
        }
        self.cancel_one(id, json!({}));
        Told::Token(id.to_owned())
    }

    pub(crate) fn retry(&mut self, id: &str) -> Told {
        match self.not_steerable(id, &["failed"]) {
            Some(Told::Refused("token_not_active")) => return Told::Refused("not_retryable"),
            Some(no) => return no,
            None => {}
        }
        let token = self.token(id).clone();
        if self.cannot_enter(id, &self.flow_of(id), &token.state, &token.context).is_some() {
            return Told::Refused("not_retryable");
        }
        self.change(id).status = "active";
        self.append(id, "retried", json!({}));
        self.enter(id, &token.state);
        Told::Token(id.to_owned())
    }

    /// Ends a token and all below it; what it holds is dropped.
    pub(crate) fn cancel_one(&mut self, id: &str, data: Json) {
        let (held, rest) = self.held.clone().into_iter().partition::<Vec<_>, _>(|held| held.token == id);
        self.held = rest;
        for held in held {
            self.drop_held(&held, "the token was cancelled");
        }
        self.leave(id, None, "the parent was cancelled");
        self.end(id, "cancelled", data);
    }
}
