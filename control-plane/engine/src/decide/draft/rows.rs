//! What belongs to one token of a draft: its ledger, context, tasks, timers and held events.

use std::sync::Arc;

use serde_json::json;

use super::{Draft, Seat, Working, text};
use crate::change::Change;
use crate::json::Object;
use crate::model::{Entry, Held, Kind, Private, Status, Task, TaskStatus, Timer, TimerKind};
use crate::time::Timestamp;

impl<'a> Draft<'a> {
    fn at(&mut self, seat: Seat) -> &mut Working<'a> {
        &mut self.seats[seat.0]
    }

    /// Replaces the context; answers its text.
    pub(in crate::decide) fn put_context(&mut self, seat: Seat, context: &Object) -> Arc<str> {
        let working = self.at(seat);
        working.context = text(context);
        working.context_changed = true;
        Arc::clone(&working.context)
    }

    /// Adds an entry to the ledger.
    pub(in crate::decide) fn append(&mut self, seat: Seat, kind: Kind, data: serde_json::Value) {
        self.append_whole(seat, kind, data, None, None);
    }

    /// Adds an entry with what replay needs beyond its data.
    pub(in crate::decide) fn append_private(
        &mut self,
        seat: Seat,
        kind: Kind,
        data: serde_json::Value,
        private: Private,
    ) {
        self.append_whole(seat, kind, data, None, Some(private));
    }

    /// Adds an entry that uses up an idempotency key.
    pub(in crate::decide) fn append_keyed(
        &mut self,
        seat: Seat,
        kind: Kind,
        data: serde_json::Value,
        key: Option<&str>,
    ) {
        self.append_whole(seat, kind, data, key, None);
    }

    fn append_whole(
        &mut self,
        seat: Seat,
        kind: Kind,
        data: serde_json::Value,
        key: Option<&str>,
        private: Option<Private>,
    ) {
        let serde_json::Value::Object(data) = data else { unreachable!("the data of an entry is an object") };
        let at = self.now;
        let working = self.at(seat);
        working.token.seq += 1;
        working.moved = true;
        let entry = Entry {
            token: working.token.id.clone(),
            seq: working.token.seq,
            at,
            kind,
            data,
            key: key.map(str::to_owned),
            private,
        };
        self.changes.push(Change::Append(entry));
    }

    /// Records a change that has no working copy here.
    pub(in crate::decide) fn record(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Queues the task of the state that the token is in.
    pub(in crate::decide) fn queue_task(&mut self, seat: Seat) {
        let token = &self[seat];
        let task = Task {
            id: self.next_task,
            token: token.id.clone(),
            workflow: token.workflow.clone(),
            state: token.state.clone(),
            visit: token.visit,
            status: TaskStatus::Queued,
            attempt: 0,
            failures: 0,
            claimed_by: None,
            request: None,
            lease_until: None,
            queued_at: self.now,
        };
        self.next_task += 1;
        self.append(seat, Kind::TaskQueued, json!({"task": task.id, "state": task.state}));
        self.changes.push(Change::InsertTask(task.clone()));
        self.at(seat).tasks.push(task);
    }

    /// Replaces a task by what it has become.
    pub(in crate::decide) fn put_task(&mut self, seat: Seat, task: Task) {
        self.changes.push(Change::UpdateTask(task.clone()));
        let tasks = &mut self.at(seat).tasks;
        tasks.retain(|t| t.id != task.id);
        if task.status.is_open() {
            tasks.push(task);
        }
    }

    /// Takes the open tasks out of the draft, to close each.
    pub(in crate::decide) fn take_tasks(&mut self, seat: Seat) -> Vec<Task> {
        std::mem::take(&mut self.at(seat).tasks)
    }

    /// Sets a timer in the state that the token is in.
    pub(in crate::decide) fn set_timer(
        &mut self,
        seat: Seat,
        event: &str,
        payload: Option<Object>,
        after_ms: i64,
        kind: TimerKind,
    ) {
        let token = &self[seat];
        let timer = Timer {
            id: self.next_timer,
            token: token.id.clone(),
            state: token.state.clone(),
            visit: token.visit,
            event: event.to_owned(),
            payload,
            set_at: self.now,
            due_at: self.now.plus_ms(after_ms),
            kind,
        };
        self.next_timer += 1;
        let data = json!({"event": event, "due_at": timer.due_at.iso()});
        let private = Private::Timer { id: timer.id, payload: timer.payload.clone() };
        self.append_private(seat, Kind::TimerSet, data, private);
        self.changes.push(Change::InsertTimer(timer.clone()));
        self.at(seat).timers.push(timer);
    }

    /// Cancels the pending timers for which `which` holds.
    pub(in crate::decide) fn cancel_timers(&mut self, seat: Seat, which: impl Fn(&Timer) -> bool) {
        let timers = std::mem::take(&mut self.at(seat).timers);
        let (gone, kept) = timers.into_iter().partition::<Vec<_>, _>(which);
        self.at(seat).timers = kept;
        self.changes.extend(gone.into_iter().map(|timer| Change::DeleteTimer(timer.id)));
    }

    /// Gives every pending timer the time back for which it stood still: since `paused_at`, or since it was set.
    pub(in crate::decide) fn shift_timers(&mut self, seat: Seat, paused_at: Timestamp) {
        let now = self.now;
        let mut timers = std::mem::take(&mut self.at(seat).timers);
        for timer in &mut timers {
            timer.due_at = timer.due_at.plus_ms(now.ms_since(paused_at.max(timer.set_at)));
            self.changes.push(Change::UpdateTimer(timer.clone()));
        }
        self.at(seat).timers = timers;
    }

    /// When the timeout of the state fires, if it has one.
    pub(in crate::decide) fn deadline(&self, seat: Seat) -> Option<Timestamp> {
        let Working { token, timers, .. } = &self.seats[seat.0];
        let timeout = timers.iter().find(|t| t.kind == TimerKind::Timeout && t.visit == token.visit);
        timeout.map(|t| t.due_at)
    }

    /// Keeps an event until the family is resumed or cancelled.
    pub(in crate::decide) fn hold(&mut self, held: Held) {
        self.next_arrival = held.arrival + 1;
        self.changes.push(Change::InsertHeld(held));
    }

    /// What a paused token holds, in the order of arrival; empty unless it was loaded.
    pub(in crate::decide) fn held_by(&self, seat: Seat) -> Vec<&'a Held> {
        let token = &self[seat];
        let of_token = self.loaded.held.iter().filter(|held| held.token == token.id);
        // What an active token held was settled when it was resumed.
        of_token.filter(|_| token.status == Status::Paused).collect()
    }

    /// Forgets a held event, which is about to be applied or dropped.
    pub(in crate::decide) fn settle(&mut self, held: &Held) {
        self.changes.push(Change::DeleteHeld { top: held.top.clone(), arrival: held.arrival });
    }
}
