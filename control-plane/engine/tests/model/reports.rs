//! The model's rules of how attempts end: reports, failures, leases that are over; and of timers that are due.

use serde_json::json;

use super::flow::Object;
use super::moves::No;
use super::rules::{AskedTimer, Model, Task, Told};

/// How an attempt ended.
pub(crate) enum Outcome<'o> {
    Event(&'o str, Option<&'o Object>),
    Waiting,
    /// With the reason, and whether another attempt makes sense.
    Failed(&'o str, bool),
}

impl Model {
    pub(crate) fn report(
        &mut self,
        task: u64,
        supervisor: Option<&str>,
        attempt: Option<u64>,
        outcome: &Outcome<'_>,
        writes: &Object,
        timers: &[AskedTimer],
    ) -> Told {
        if let Some(code) = self.not_worked_on(task, supervisor, attempt) {
            return Told::Refused(code);
        }
        if supervisor.is_none() && matches!(outcome, Outcome::Waiting) {
            return Told::Refused("task_not_held");
        }
        let Task { token: id, state, .. } = self.task(task).clone();
        if let Outcome::Failed(error, again) = outcome {
            let error = if error.is_empty() { "the routine failed, and said no more" } else { error };
            self.attempt_failed(task, error, *again);
            return Told::Token(id);
        }
        let flow = self.flow_of(&id);
        let context = with(&self.token(&id).context, writes);
        if !flow.context_fits(&context) {
            return Told::Refused("invalid_context");
        }
        let good = |timer: &AskedTimer| {
            timer.ms().is_some()
                && flow.declares(&timer.event)
                && flow.payload_fits(&timer.event, timer.payload.as_ref())
        };
        if !timers.iter().all(good) {
            return Told::Refused("invalid_payload");
        }
        let Outcome::Event(event, payload) = outcome else {
            self.save(&id, writes, timers);
            self.append(&id, "task_waiting", json!({"task": task}));
            let row = self.change_task(task);
            (row.status, row.lease_until) = ("waiting", None);
            return Told::Token(id);
        };
        let emits = flow.emits(&state);
        if !emits.contains(event) {
            let may = if emits.is_empty() { "nothing".to_owned() } else { emits.join(", ") };
            let reason = format!("'{state}' may not emit '{event}'; it may emit: {may}");
            return self.reject(&id, event, &reason, "event_not_allowed");
        }
        if !flow.payload_fits(event, *payload) {
            return Told::Refused("invalid_payload");
        }
        // Decided with the routine's writes, paused or not.
        let chosen = self.choose(&id, event, *payload, &context);
        if let Err(No::Refused(reason)) = chosen {
            return self.reject(&id, event, &reason, "event_not_allowed");
        }
        if self.is(&id, "paused") {
            self.hold(&id, event, *payload, None, Some((task, writes, timers)));
            self.append(&id, "task_done", json!({"task": task}));
            self.close(task, "done");
            return Told::Token(id);
        }
        self.save(&id, writes, timers);
        match chosen {
            Ok(target) => self.take(&id, event, *payload, None, target),
            Err(No::Fatal(reason) | No::Refused(reason)) => self.fail(&id, &reason),
        }
        Told::Token(id)
    }

    /// Saves a routine's context writes and sets its timers.
    pub(crate) fn save(&mut self, id: &str, writes: &Object, timers: &[AskedTimer]) {
        if !writes.is_empty() {
            self.change(id).context = with(&self.token(id).context, writes);
            let mut keys: Vec<_> = writes.keys().collect();
            keys.sort();
            self.append(id, "context_changed", json!({"keys": keys}));
        }
        for timer in timers {
            let after = timer.ms().expect("it was checked before");
            self.set_timer(id, &timer.event, timer.payload.as_ref(), after, "timer");
        }
    }

    /// One failed attempt: tried again while the state's retries allow, then `error`.
    pub(crate) fn attempt_failed(&mut self, task: u64, error: &str, again: bool) {
        let Task { token: id, state, attempt, .. } = self.task(task).clone();
        let flow = self.flow_of(&id);
        self.append(&id, "task_failed", json!({"task": task, "error": error}));
        let row = self.change_task(task);
        row.failures += 1;
        if again && row.failures <= flow.state(&state).retries {
            (row.status, row.held_by, row.request, row.lease_until) = ("queued", None, None, None);
            self.append(&id, "task_retrying", json!({"task": task, "attempt": attempt + 1}));
            // The next attempt sets its own timers; the timeout covers all attempts.
            for timer in self.timers.iter_mut().filter(|t| t.token == id && t.kind == "timer") {
                timer.pending = false;
            }
            return;
        }
        self.close(task, "failed");
        if self.is(&id, "paused") {
            self.hold(&id, "error", None, None, Some((task, &Object::new(), &[])));
        } else if !flow.moves.iter().any(|m| m.from == state && m.on == "error") {
            self.fail(&id, &format!("'{state}' failed, and has no transition on 'error': {error}"));
        } else if let Err(reason) = self.route(&id, "error", None, None) {
            self.fail(&id, &format!("'{state}' failed, and 'error' cannot move it: {reason}"));
        }
    }

    pub(crate) fn lease_ends(&mut self, task: u64) -> Told {
        let Some(found) = self.tasks.iter().find(|t| t.id == task) else { return Told::Stale };
        if found.lease_until.is_none_or(|until| until >= self.now) {
            return Told::Stale;
        }
        let who = found.held_by.clone().expect("a lease is somebody's");
        let error = format!("{who} stopped answering: no heartbeat for 2 minutes");
        self.attempt_failed(task, &error, true);
        Told::Done
    }

    pub(crate) fn timer_fires(&mut self, timer: u64) -> Told {
        let Some(timer) = self.timers.iter().find(|t| t.id == timer).cloned() else { return Told::Stale };
        let id = timer.token.as_str();
        if !timer.pending || timer.due_at > self.now || !self.is(id, "active") {
            return Told::Stale;
        }
        for row in self.timers.iter_mut().filter(|t| t.id == timer.id) {
            row.pending = false;
        }
        self.append(id, "timer_fired", json!({"event": timer.event}));
        if let Err(reason) = self.route(id, &timer.event, timer.payload.as_ref(), None) {
            if timer.kind == "timeout" {
                let state = &timer.state;
                self.fail(id, &format!("'{state}' timed out: {reason}"));
            } else {
                self.append(id, "event_rejected", json!({"event": timer.event, "reason": reason}));
            }
        }
        Told::Done
    }
}

/// A context with a routine's writes.
pub(crate) fn with(context: &Object, writes: &Object) -> Object {
    let mut context = context.clone();
    context.extend(writes.clone());
    context
}
