//! The model's rules of tasks until they end: claim, begin, renew, note, memory.

use std::collections::BTreeMap;

use serde_json::json;

use stateous_engine::model::Incarnation;

use super::rules::{Granted, Model, Task, Told};

impl Model {
    pub(crate) fn task(&self, task: u64) -> &Task {
        self.tasks.iter().find(|t| t.id == task).expect("the task exists")
    }

    pub(crate) fn change_task(&mut self, task: u64) -> &mut Task {
        self.tasks.iter_mut().find(|t| t.id == task).expect("the task exists")
    }

    pub(crate) fn open_tasks(&self, id: &str) -> Vec<u64> {
        let open = |t: &&Task| ["queued", "claimed", "started", "waiting"].contains(&t.status);
        self.tasks.iter().filter(|t| t.token == id).filter(open).map(|t| t.id).collect()
    }

    pub(crate) fn queue(&mut self, id: &str) {
        let task = self.tasks.len() as u64 + 1;
        let (state, visit) = (self.token(id).state.clone(), self.token(id).visit);
        self.append(id, "task_queued", json!({"task": task, "state": state}));
        self.tasks.push(Task {
            id: task,
            token: id.to_owned(),
            state,
            visit,
            status: "queued",
            attempt: 0,
            failures: 0,
            held_by: None,
            request: None,
            lease_until: None,
        });
    }

    /// The task ends.
    pub(crate) fn close(&mut self, task: u64, status: &'static str) {
        let task = self.change_task(task);
        (task.status, task.lease_until) = (status, None);
    }

    pub(crate) fn claim(&mut self, task: u64, supervisor: &str, request: Option<&str>) -> Told {
        let Some(found) = self.tasks.iter().find(|t| t.id == task).cloned() else { return Told::Stale };
        if found.status != "queued" || !self.is(&found.token, "active") {
            return Told::Stale;
        }
        let until = self.now + self.lease_ms;
        let row = self.change_task(task);
        row.status = "claimed";
        row.attempt += 1;
        row.held_by = Some(supervisor.to_owned());
        row.request = request.map(str::to_owned);
        row.lease_until = Some(until);
        let data = json!({"task": task, "supervisor": supervisor, "attempt": row.attempt});
        self.append(&found.token, "task_claimed", data);
        Told::Granted(Box::new(self.granted(task)))
    }

    /// The same grant again, for a supervisor whose lease still runs.
    pub(crate) fn repeat(&mut self, task: u64, supervisor: &str, request: &str) -> Told {
        let Some(found) = self.tasks.iter().find(|t| t.id == task) else { return Told::Stale };
        let same = found.held_by.as_deref() == Some(supervisor) && found.request.as_deref() == Some(request);
        if !same || !self.lease_runs(task) {
            return Told::Stale;
        }
        self.change_task(task).lease_until = Some(self.now + self.lease_ms);
        Told::Granted(Box::new(self.granted(task)))
    }

    /// A lease is over only when its end lies behind us.
    fn lease_runs(&self, task: u64) -> bool {
        let task = self.task(task);
        ["claimed", "started"].contains(&task.status) && task.lease_until.is_some_and(|at| at >= self.now)
    }

    fn granted(&self, task: u64) -> Granted {
        let task = self.task(task).clone();
        let token = self.token(&task.token);
        let here = |key: &&(String, String, String)| (&key.0, &key.1) == (&task.token, &task.state);
        let memory = self.memory.iter().filter(|(key, _)| here(key));
        let timeout = self.timers.iter().find(|t| t.token == task.token && t.pending && t.kind == "timeout");
        Granted {
            task: task.id,
            attempt: task.attempt,
            child: token.parent.is_some(),
            context: token.context.clone(),
            memory: memory.map(|(key, value)| (key.2.clone(), value.clone())).collect::<BTreeMap<_, _>>(),
            entered_by: self.last_accepted(&task.token),
            deadline: timeout.map(|t| t.due_at),
        }
    }

    /// Why nobody works on the task, or not the one who speaks, or not on this attempt.
    pub(crate) fn not_worked_on(
        &self,
        task: u64,
        supervisor: Option<&str>,
        attempt: Option<u64>,
    ) -> Option<&'static str> {
        let Some(task) = self.tasks.iter().find(|t| t.id == task) else { return Some("task_not_found") };
        if let Some(attempt) = attempt.filter(|attempt| *attempt != task.attempt) {
            return Some(if attempt < task.attempt { "attempt_over" } else { "task_not_held" });
        }
        let held = ["claimed", "started"].contains(&task.status);
        if !held && task.status != "waiting" {
            return Some("task_not_held");
        }
        let other = supervisor.is_some_and(|name| !held || task.held_by.as_deref() != Some(name));
        other.then_some("task_not_held")
    }

    /// May the routine begin?
    pub(crate) fn begin(
        &mut self,
        task: u64,
        attempt: u64,
        supervisor: &str,
        of: Option<&Incarnation>,
    ) -> Told {
        match self.not_worked_on(task, Some(supervisor), Some(attempt)) {
            Some(code @ "task_not_found") => return Told::Refused(code),
            Some(_) => return Told::Skip,
            None if !self.lease_runs(task) || self.is_anothers(task, of) => return Told::Skip,
            None => {}
        }
        if self.task(task).status == "claimed" {
            self.change_task(task).status = "started";
            let token = self.task(task).token.clone();
            self.append(&token, "task_started", json!({"task": task, "attempt": attempt}));
        }
        Told::Run
    }

    /// A heartbeat counts until the clock has ended the lease.
    pub(crate) fn renew(&mut self, task: u64, supervisor: &str, of: Option<&Incarnation>) -> Told {
        if let Some(code) = self.not_worked_on(task, Some(supervisor), None) {
            return Told::Refused(code);
        }
        if self.is_anothers(task, of) {
            return Told::Refused("task_not_held");
        }
        self.change_task(task).lease_until = Some(self.now + self.lease_ms);
        Told::Done
    }

    /// Whether another supervisor with the same name holds the task: one of another folder, or a later start.
    fn is_anothers(&self, task: u64, of: Option<&Incarnation>) -> bool {
        let holder = self.task(task).request.as_deref().and_then(holder);
        of.zip(holder).is_some_and(|(of, (folder, start))| folder != of.folder || start > of.start)
    }

    /// What was claimed and did not begin goes back, and nobody failed.
    pub(crate) fn give_back(
        &mut self,
        task: u64,
        attempt: u64,
        supervisor: &str,
        of: Option<&Incarnation>,
    ) -> Told {
        if let Some(code) = self.not_worked_on(task, Some(supervisor), Some(attempt)) {
            return Told::Refused(code);
        }
        if self.is_anothers(task, of) || self.task(task).status != "claimed" {
            return Told::Refused("task_not_held");
        }
        self.queue_again(task);
        Told::Done
    }

    /// A supervisor was started again; ten times nobody is blamed.
    pub(crate) fn abandon(&mut self, task: u64, by: &Incarnation) -> Told {
        let Some(found) = self.tasks.iter().find(|t| t.id == task).cloned() else { return Told::Stale };
        let holder = found.request.as_deref().and_then(holder);
        let earlier = holder.is_some_and(|(folder, start)| folder == by.folder && start < by.start);
        if !["claimed", "started"].contains(&found.status) || !earlier {
            return Told::Stale;
        }
        if found.attempt - found.failures > 10 {
            let who = found.held_by.expect("a lease is somebody's");
            let error = format!("{who} was started again while it worked on it, after 10 such returns");
            self.attempt_failed(task, &error, true);
        } else {
            self.queue_again(task);
        }
        Told::Done
    }

    fn queue_again(&mut self, task: u64) {
        let row = self.change_task(task);
        let who = row.held_by.take();
        (row.status, row.request, row.lease_until) = ("queued", None, None);
        let (token, attempt) = (row.token.clone(), row.attempt);
        self.append(&token, "task_returned", json!({"task": task, "attempt": attempt, "supervisor": who}));
    }

    pub(crate) fn note(&mut self, task: u64, attempt: Option<u64>, line: &str) -> Told {
        let line = line.trim();
        if line.is_empty() || line.chars().count() > 500 {
            return Told::Refused("invalid_payload");
        }
        if let Some(code) = self.not_worked_on(task, None, attempt) {
            return Told::Refused(code);
        }
        let token = self.task(task).token.clone();
        self.append(&token, "note", json!({"task": task, "text": line}));
        Told::Done
    }

    pub(crate) fn remember(
        &mut self,
        task: u64,
        attempt: Option<u64>,
        key: &str,
        value: Option<&str>,
    ) -> Told {
        if key.is_empty() || key.chars().count() > 128 || key.contains('\0') {
            return Told::Refused("invalid_payload");
        }
        if let Some(code) = self.not_worked_on(task, None, attempt) {
            return Told::Refused(code);
        }
        let Task { token, state, .. } = self.task(task).clone();
        let cell = (token.clone(), state.clone(), key.to_owned());
        let data = json!({"state": state, "memory_key": key});
        match value {
            Some(value) => {
                self.memory.insert(cell, value.to_owned());
                self.append(&token, "memory_set", data);
            }
            None => {
                if self.memory.remove(&cell).is_some() {
                    self.append(&token, "memory_deleted", data);
                }
            }
        }
        Told::Done
    }
}

/// The folder and the start of which a claim's id speaks.
fn holder(claim: &str) -> Option<(String, u64)> {
    let mut parts = claim.splitn(3, ':');
    let (folder, start, _) = (parts.next()?, parts.next()?, parts.next()?);
    Some((folder.to_owned(), start.parse().ok()?))
}
