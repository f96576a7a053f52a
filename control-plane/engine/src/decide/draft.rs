//! A working copy of one token, which remembers what was changed.

use std::sync::Arc;

use serde_json::json;

use super::Rules;
use crate::change::{Answer, Change, Decision, TokenView};
use crate::graph::Workflow;
use crate::json::{Object, parse_stored};
use crate::loaded::{Loaded, Member};
use crate::model::{Entry, Held, Kind, Task, TaskStatus, Timer, TimerKind, Token};
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// Rows as they are so far in this decision, and the changes that made them so.
pub(super) struct Draft<'a> {
    pub(super) rules: &'a Rules,
    pub(super) workflow: &'a Workflow,
    pub(super) now: Timestamp,
    pub(super) token: Token,
    context: Arc<str>,
    /// Open tasks.
    tasks: Vec<Task>,
    /// Pending timers.
    timers: Vec<Timer>,
    /// The top token of the family.
    top: Option<String>,
    /// The place of the next event that the family holds.
    next_arrival: u64,
    next_task: u64,
    next_timer: u64,
    changes: Vec<Change>,
    is_new: bool,
    context_changed: bool,
}

impl<'a> Draft<'a> {
    /// A draft of a token that exists. Refused when its workflow is not served in the structure that it keeps.
    pub(super) fn of(
        rules: &'a Rules,
        loaded: &Loaded,
        member: &Member,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let token = member.token.clone();
        let workflow = rules.catalog.workflow(&token.workflow, &token.structure).ok_or_else(|| {
            Refusal::new(
                Code::TokenNotActive,
                format!(
                    "token {} follows structure {} of workflow {}, which this control plane does not serve; start it \
                     with that graph file",
                    super::words::quote(&token.id),
                    token.structure,
                    super::words::quote(&token.workflow),
                ),
            )
        })?;
        Ok(Self {
            rules,
            workflow,
            now,
            token,
            context: Arc::clone(&member.context),
            tasks: member.tasks.clone(),
            timers: member.timers.clone(),
            top: loaded.top.clone(),
            next_arrival: loaded.next_arrival,
            next_task: loaded.next_task,
            next_timer: loaded.next_timer,
            changes: Vec::new(),
            is_new: false,
            context_changed: false,
        })
    }

    /// A draft of a token that does not exist yet.
    pub(super) fn new(
        rules: &'a Rules,
        workflow: &'a Workflow,
        loaded: &Loaded,
        now: Timestamp,
        token: Token,
        context: &Object,
    ) -> Self {
        Self {
            rules,
            workflow,
            now,
            token,
            context: text(context),
            tasks: Vec::new(),
            timers: Vec::new(),
            top: None,
            next_arrival: 0,
            next_task: loaded.next_task,
            next_timer: loaded.next_timer,
            changes: Vec::new(),
            is_new: true,
            context_changed: false,
        }
    }

    /// The context as an object.
    pub(super) fn context(&self) -> Object {
        parse_stored(&self.context).expect("a stored context is a JSON object")
    }

    /// The context as text.
    pub(super) fn context_text(&self) -> Arc<str> {
        Arc::clone(&self.context)
    }

    /// Replaces the context.
    pub(super) fn put_context(&mut self, context: &Object) {
        self.context = text(context);
        self.context_changed = true;
    }

    /// Adds an entry to the ledger.
    pub(super) fn append(&mut self, kind: Kind, data: serde_json::Value) {
        self.append_keyed(kind, data, None);
    }

    /// Adds an entry that uses up an idempotency key.
    pub(super) fn append_keyed(&mut self, kind: Kind, data: serde_json::Value, key: Option<&str>) {
        let serde_json::Value::Object(data) = data else { unreachable!("the data of an entry is an object") };
        self.token.seq += 1;
        self.changes.push(Change::Append(Entry {
            token: self.token.id.clone(),
            seq: self.token.seq,
            at: self.now,
            kind,
            data,
            key: key.map(str::to_owned),
        }));
    }

    /// Records a change that has no working copy here.
    pub(super) fn record(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Queues the task of the state that the token is in.
    pub(super) fn queue_task(&mut self) {
        let task = Task {
            id: self.next_task,
            token: self.token.id.clone(),
            workflow: self.token.workflow.clone(),
            state: self.token.state.clone(),
            visit: self.token.visit,
            status: TaskStatus::Queued,
            attempt: 0,
            failures: 0,
            claimed_by: None,
            request: None,
            lease_until: None,
            queued_at: self.now,
        };
        self.next_task += 1;
        self.append(Kind::TaskQueued, json!({"task": task.id, "state": task.state}));
        self.changes.push(Change::InsertTask(task.clone()));
        self.tasks.push(task);
    }

    /// Replaces a task by what it has become.
    pub(super) fn put_task(&mut self, task: Task) {
        self.changes.push(Change::UpdateTask(task.clone()));
        self.tasks.retain(|t| t.id != task.id);
        if task.status.is_open() {
            self.tasks.push(task);
        }
    }

    /// Takes the open tasks out of the draft, to close each.
    pub(super) fn take_tasks(&mut self) -> Vec<Task> {
        std::mem::take(&mut self.tasks)
    }

    /// Sets a timer in the state that the token is in.
    pub(super) fn set_timer(&mut self, event: &str, payload: Option<Object>, after_ms: i64, kind: TimerKind) {
        let timer = Timer {
            id: self.next_timer,
            token: self.token.id.clone(),
            state: self.token.state.clone(),
            visit: self.token.visit,
            event: event.to_owned(),
            payload,
            set_at: self.now,
            due_at: self.now.plus_ms(after_ms),
            kind,
        };
        self.next_timer += 1;
        self.append(Kind::TimerSet, json!({"event": event, "due_at": timer.due_at.iso()}));
        self.changes.push(Change::InsertTimer(timer.clone()));
        self.timers.push(timer);
    }

    /// Cancels the pending timers for which `which` holds.
    pub(super) fn cancel_timers(&mut self, which: impl Fn(&Timer) -> bool) {
        let (gone, kept) = std::mem::take(&mut self.timers).into_iter().partition::<Vec<_>, _>(which);
        self.timers = kept;
        self.changes.extend(gone.into_iter().map(|timer| Change::DeleteTimer(timer.id)));
    }

    /// Gives every pending timer the time back for which it stood still: since `paused_at`, or since it was set.
    pub(super) fn shift_timers(&mut self, paused_at: Timestamp) {
        for timer in &mut self.timers {
            timer.due_at = timer.due_at.plus_ms(self.now.ms_since(paused_at.max(timer.set_at)));
            self.changes.push(Change::UpdateTimer(timer.clone()));
        }
    }

    /// The top token of the family.
    pub(super) fn top(&self) -> &str {
        self.top.as_deref().unwrap_or(&self.token.id)
    }

    /// The place of the next event that the family holds.
    pub(super) const fn next_arrival(&self) -> u64 {
        self.next_arrival
    }

    /// Keeps an event until the token is resumed or cancelled.
    pub(super) fn hold(&mut self, held: Held) {
        self.next_arrival = held.arrival + 1;
        self.changes.push(Change::InsertHeld(held));
    }

    /// Forgets a held event, which is about to be applied or dropped.
    pub(super) fn settle(&mut self, held: &Held) {
        self.changes.push(Change::DeleteHeld { top: held.top.clone(), arrival: held.arrival });
    }

    /// When the timeout of the state fires, if it has one.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.timers
            .iter()
            .find(|t| t.kind == TimerKind::Timeout && t.visit == self.token.visit)
            .map(|t| t.due_at)
    }

    /// The token as the caller is told.
    pub(super) fn view(&self) -> TokenView {
        TokenView { token: self.token.clone(), context: Arc::clone(&self.context) }
    }

    /// The decision: what was changed, and `result`.
    pub(super) fn finish(self, result: Result<Answer, Refusal>) -> Decision {
        let Self { token, context, is_new, context_changed, changes: rest, .. } = self;
        let mut changes = Vec::with_capacity(rest.len() + 2);
        if is_new {
            changes.push(Change::InsertToken { token, context });
        } else {
            // Every change of a token adds to its ledger, so its row grows with it.
            let moved = rest.iter().any(|c| matches!(c, Change::Append(_)));
            if context_changed {
                changes.push(Change::PutContext { token: token.id.clone(), context });
            }
            if moved {
                changes.push(Change::UpdateToken(token));
            }
        }
        changes.extend(rest);
        Decision { changes, result }
    }

    /// The decision that tells the token as it is now.
    pub(super) fn finish_with_token(self) -> Decision {
        let view = self.view();
        self.finish(Ok(Answer::Token(view)))
    }
}

fn text(object: &Object) -> Arc<str> {
    serde_json::to_string(object).expect("an object in memory can be written as JSON").into()
}
