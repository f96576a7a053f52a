//! What each kind of entry says of the rows.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{Replayed, ReplayedHeld, ReplayedTask};
use crate::graph::{START, TIMEOUT};
use crate::input::Schedule;
use crate::json::{Json, Object};
use crate::model::{Entry, EventRecord, Kind, Origin, Private, Status, TaskStatus, Timer, TimerKind};
use crate::time::Timestamp;

/// A ledger, read so far.
pub(super) struct Reading {
    pub(super) token: Replayed,
    /// The last accepted event: where it brings the token is said by an entry that follows.
    accepted: EventRecord,
}

impl Reading {
    /// A token's first entry.
    pub(super) fn begin(entry: &Entry) -> Result<Self, String> {
        if (entry.seq, entry.kind) != (1, Kind::Started) {
            return Err("a ledger begins with entry 1, started".to_owned());
        }
        let context = entry.data.get("context").ok_or("it has no context")?;
        let nothing = EventRecord { name: String::new(), payload: None };
        let token = Replayed {
            token: entry.token.clone(),
            seq: 1,
            parent: entry.data.get("parent").and_then(Json::as_str).map(str::to_owned),
            state: START.to_owned(),
            status: Status::Active,
            visit: 0,
            started_at: entry.at,
            entered_at: entry.at,
            paused_at: None,
            visits: BTreeMap::new(),
            counts: BTreeMap::new(),
            entered_by: nothing.clone(),
            ended_by: None,
            context: Sha256::digest(context.to_string()).into(),
            tasks: BTreeMap::new(),
            timers: BTreeMap::new(),
            held: Vec::new(),
            memory: BTreeMap::new(),
        };
        Ok(Self { token, accepted: nothing })
    }

    /// Any further entry: one arm for each kind, and what does not change rows says so.
    pub(super) fn follow(&mut self, entry: &Entry) -> Result<(), String> {
        let Self { token, accepted } = self;
        if entry.token != token.token || entry.seq != token.seq + 1 {
            let Entry { token: of, seq, .. } = entry;
            return Err(format!(
                "it is entry {seq} of {of}, and entry {} of {} was expected",
                token.seq + 1,
                token.token
            ));
        }
        token.seq = entry.seq;
        let fields = Fields(&entry.data);
        match entry.kind {
            Kind::Started => return Err("a token starts once".to_owned()),
            Kind::EventAccepted => {
                let name = fields.text("event")?;
                *token.counts.entry(name.clone()).or_default() += 1;
                *accepted = EventRecord { name, payload: fields.object("payload") };
            }
            Kind::EventDeferred => token.held.push(fields.held()?),
            // What is held is settled in the order of arrival.
            Kind::EventReplayed | Kind::EventDropped => {
                if token.held.is_empty() {
                    return Err("nothing is held".to_owned());
                }
                token.held.remove(0);
            }
            Kind::Entered => {
                token.state = fields.text("state")?;
                token.visit = fields.number("visit")?;
                token.entered_at = entry.at;
                token.entered_by = accepted.clone();
                token.visits.insert(token.state.clone(), token.visit);
                token.timers.clear();
            }
            Kind::TaskQueued => {
                let task = ReplayedTask {
                    state: token.state.clone(),
                    visit: token.visit,
                    status: TaskStatus::Queued,
                    attempt: 0,
                    failures: 0,
                    queued_at: entry.at,
                };
                token.tasks.insert(fields.number("task")?, task);
            }
            Kind::TaskClaimed => {
                let attempt = fields.number("attempt")?;
                let task = token.task(&fields)?;
                (task.status, task.attempt) = (TaskStatus::Claimed, attempt);
            }
            Kind::TaskReturned => token.task(&fields)?.status = TaskStatus::Queued,
            Kind::TaskStarted => token.task(&fields)?.status = TaskStatus::Started,
            Kind::TaskWaiting => token.task(&fields)?.status = TaskStatus::Waiting,
            Kind::TaskDone => token.task(&fields)?.status = TaskStatus::Done,
            Kind::TaskCancelled => token.task(&fields)?.status = TaskStatus::Cancelled,
            Kind::TaskFailed => {
                let task = token.task(&fields)?;
                (task.status, task.failures) = (TaskStatus::Failed, task.failures + 1);
            }
            Kind::TaskRetrying => {
                token.task(&fields)?.status = TaskStatus::Queued;
                token.timers.retain(|_, timer| timer.kind == TimerKind::Timeout);
            }
            Kind::ContextChanged => token.context = stored(entry)?,
            Kind::TimerSet => {
                let timer = token.timer(entry)?;
                token.timers.insert(timer.id, timer);
            }
            Kind::TimerFired => {
                let (id, _) = which_timer(entry)?;
                token.timers.remove(&id).ok_or_else(|| format!("timer {id} is not pending"))?;
            }
            Kind::MemorySet => {
                token.memory.insert((fields.text("state")?, fields.text("memory_key")?), stored(entry)?);
            }
            Kind::MemoryDeleted => {
                token.memory.remove(&(fields.text("state")?, fields.text("memory_key")?));
            }
            Kind::Paused => (token.status, token.paused_at) = (Status::Paused, Some(entry.at)),
            Kind::Resumed => {
                let paused_at = token.paused_at.take().ok_or("it is not paused")?;
                for timer in token.timers.values_mut() {
                    timer.due_at = timer.due_at.plus_ms(entry.at.ms_since(paused_at.max(timer.set_at)));
                }
                token.status = Status::Active;
            }
            Kind::Completed => {
                token.ended_by = Some(accepted.clone());
                token.end(Status::Completed);
            }
            Kind::Cancelled => token.end(Status::Cancelled),
            Kind::Failed => token.end(Status::Failed),
            // What brought it into its last state is still what brings it there now.
            Kind::Retried => (token.status, *accepted) = (Status::Active, token.entered_by.clone()),
            // They change no row of this token: a child has a ledger of its own.
            Kind::EventRejected | Kind::BranchStarted | Kind::Note => {}
        }
        Ok(())
    }
}

impl Replayed {
    fn task(&mut self, fields: &Fields<'_>) -> Result<&mut ReplayedTask, String> {
        let id = fields.number("task")?;
        self.tasks.get_mut(&id).ok_or_else(|| format!("task {id} was never queued"))
    }

    fn timer(&self, entry: &Entry) -> Result<Timer, String> {
        let fields = Fields(&entry.data);
        let (id, payload) = which_timer(entry)?;
        let event = fields.text("event")?;
        let due_at = fields.text("due_at")?;
        Ok(Timer {
            id,
            token: self.token.clone(),
            state: self.state.clone(),
            visit: self.visit,
            kind: if event == TIMEOUT { TimerKind::Timeout } else { TimerKind::Timer },
            event,
            payload,
            set_at: entry.at,
            due_at: Timestamp::of_iso(&due_at)
                .ok_or_else(|| format!("'due_at' is {due_at:?}, which is no time"))?,
        })
    }

    fn end(&mut self, status: Status) {
        self.status = status;
        self.paused_at = None;
        self.timers.clear();
        self.memory.clear();
    }
}

/// The data of an entry.
struct Fields<'e>(&'e Object);

impl Fields<'_> {
    fn text(&self, name: &str) -> Result<String, String> {
        let text = self.0.get(name).and_then(Json::as_str);
        text.map(str::to_owned).ok_or_else(|| format!("its '{name}' is not a text"))
    }

    fn number(&self, name: &str) -> Result<u64, String> {
        self.0.get(name).and_then(Json::as_u64).ok_or_else(|| format!("its '{name}' is not a whole number"))
    }

    fn object(&self, name: &str) -> Option<Object> {
        self.0.get(name).and_then(Json::as_object).cloned()
    }

    fn held(&self) -> Result<ReplayedHeld, String> {
        let origin = match self.0.get("task") {
            None => None,
            Some(_) => {
                let (task, state) = (self.number("task")?, self.text("state")?);
                Some(Origin { task, state, visit: self.number("visit")? })
            }
        };
        let asked = self.0.get("schedules").and_then(Json::as_array);
        let schedules = asked.into_iter().flatten().map(Schedule::of_json).collect::<Option<_>>();
        Ok(ReplayedHeld {
            arrival: self.number("arrival")?,
            event: self.text("event")?,
            payload: self.object("payload"),
            origin,
            context: self.object("context").unwrap_or_default(),
            schedules: schedules.ok_or("its 'schedules' are not timers")?,
        })
    }
}

fn which_timer(entry: &Entry) -> Result<(u64, Option<Object>), String> {
    match &entry.private {
        Some(Private::Timer { id, payload }) => Ok((*id, payload.clone())),
        _ => Err("it was kept without the timer that it is about".to_owned()),
    }
}

fn stored(entry: &Entry) -> Result<[u8; 32], String> {
    match &entry.private {
        Some(Private::Stored(digest)) => Ok(*digest),
        _ => Err("it was kept without the digest of what was stored".to_owned()),
    }
}
