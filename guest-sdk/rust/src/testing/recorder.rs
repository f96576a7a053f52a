//! The mock's host: keeps what a routine does, and refuses by the same forms as the real one.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;

use serde_json::{Map, Value};

use super::Ended;
use crate::error::{Refusal, RefusalCode};
use crate::host::{Host, Level};
use crate::task::{EnteredBy, Task};
use crate::{Delay, RawEvent};

const NOTE_CHARS_MAX: usize = 500;
const NOTES_MAX: usize = 1_000;
const SCHEDULES_MAX: usize = 100;
const EVENT_BYTES_MAX: usize = 64;
const MEMORY_KEY_CHARS_MAX: usize = 128;
/// 1 MiB less what is written around a value on its way.
const VALUE_BYTES_MAX: usize = (1 << 20) - (4 << 10);
const MEMORY_BYTES_MAX: usize = 16 << 20;
const DELAY_SECONDS_MAX: u64 = 3_650 * 86_400;

/// An event that a run asked for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduled {
    /// The event's name.
    pub event: String,
    /// Its payload; `{}` when it has none.
    pub payload: Value,
    /// When, as the host is told: `90s`.
    pub after: String,
}

/// What unwinds when the mock kills the machine.
pub(super) struct Killed;

pub(super) struct Recorder {
    pub(super) task: RefCell<Task>,
    pub(super) context: RefCell<Map<String, Value>>,
    pub(super) writes: RefCell<Map<String, Value>>,
    pub(super) memory: RefCell<BTreeMap<String, Value>>,
    pub(super) notes: RefCell<Vec<String>>,
    notes_of_attempt: Cell<usize>,
    pub(super) scheduled: RefCell<Vec<Scheduled>>,
    pub(super) logs: RefCell<Vec<(Level, String)>>,
    pub(super) writes_to_live: Cell<Option<u32>>,
    pub(super) settings: RefCell<BTreeMap<String, String>>,
    pub(super) secrets: RefCell<BTreeSet<String>>,
    #[cfg(feature = "http")]
    pub(super) web: RefCell<Option<Web>>,
}

/// What answers a mock's requests.
#[cfg(feature = "http")]
pub(super) type Web = Box<dyn Fn(&crate::RequestParts) -> Result<crate::Response, crate::HttpError>>;

impl Recorder {
    pub(super) fn new(context: Map<String, Value>) -> Self {
        let task = Task {
            token: "T-1".to_owned(),
            id: 1,
            workflow: "workflow".to_owned(),
            state: "state".to_owned(),
            visit: 1,
            attempt: 1,
            entered_by: EnteredBy { name: "__started__".to_owned(), payload: None },
            now_ms: 0,
        };
        Self {
            task: RefCell::new(task),
            context: RefCell::new(context),
            writes: RefCell::default(),
            memory: RefCell::default(),
            notes: RefCell::default(),
            notes_of_attempt: Cell::new(0),
            scheduled: RefCell::default(),
            logs: RefCell::default(),
            writes_to_live: Cell::new(None),
            settings: RefCell::default(),
            secrets: RefCell::default(),
            #[cfg(feature = "http")]
            web: RefCell::default(),
        }
    }

    pub(super) fn begin(&self) {
        self.notes_of_attempt.set(0);
        self.writes.borrow_mut().clear();
        self.scheduled.borrow_mut().clear();
    }

    /// Makes the task the next one that a control plane would grant, and keeps the writes of an attempt that counts.
    pub(super) fn end(&self, ended: &Ended) {
        self.writes_to_live.set(None);
        let mut task = self.task.borrow_mut();
        match ended {
            Ended::Event { .. } | Ended::Waiting => {
                self.context.borrow_mut().extend(self.writes.borrow().clone());
                task.id += 1;
                task.visit += 1;
                task.attempt = 1;
            }
            Ended::Failed(_) | Ended::Killed => task.attempt += 1,
        }
    }

    fn memory_was_written(&self) {
        match self.writes_to_live.get() {
            Some(1) => resume_unwind(Box::new(Killed)),
            left => self.writes_to_live.set(left.map(|writes| writes - 1)),
        }
    }

    fn merged(&self) -> Map<String, Value> {
        let mut merged = self.context.borrow().clone();
        merged.extend(self.writes.borrow().clone());
        merged
    }
}

impl Host for Recorder {
    fn context_all(&self) -> String {
        Value::Object(self.merged()).to_string()
    }

    fn context_get(&self, key: &str) -> Option<String> {
        let writes = self.writes.borrow();
        writes.get(key).or(self.context.borrow().get(key)).map(Value::to_string)
    }

    fn context_set(&self, key: &str, json: &str) -> Result<(), Refusal> {
        let value = checked(&format!("context value `{key}`"), json)?;
        self.writes.borrow_mut().insert(key.to_owned(), value);
        Ok(())
    }

    fn memory_get(&self, key: &str) -> Option<String> {
        self.memory.borrow().get(key).map(Value::to_string)
    }

    fn memory_set(&self, key: &str, json: &str) -> Result<(), Refusal> {
        check_memory_key(key)?;
        let value = checked(&format!("memory value `{key}`"), json)?;
        if value.is_null() {
            let text = format!("memory value `{key}` is null, which means \"delete\": call `delete`");
            return Err(Refusal::new(RefusalCode::InvalidJson, text));
        }
        let others = self.memory.borrow().iter().filter(|(other, _)| *other != key).map(bytes).sum::<usize>();
        if others + key.len() + json.len() > MEMORY_BYTES_MAX {
            let text = format!("the memory of this token and state would exceed {MEMORY_BYTES_MAX} bytes");
            return Err(Refusal::new(RefusalCode::TooLarge, text));
        }
        self.memory.borrow_mut().insert(key.to_owned(), value);
        self.memory_was_written();
        Ok(())
    }

    fn memory_delete(&self, key: &str) -> Result<bool, Refusal> {
        let was_there = self.memory.borrow_mut().remove(key).is_some();
        if was_there {
            self.memory_was_written();
        }
        Ok(was_there)
    }

    fn memory_keys(&self) -> Vec<String> {
        self.memory.borrow().keys().cloned().collect()
    }

    fn note(&self, text: &str) -> Result<(), Refusal> {
        let text = text.trim();
        let chars = text.chars().count();
        if chars > NOTE_CHARS_MAX {
            let text = format!("a note of {chars} characters; the most is {NOTE_CHARS_MAX}");
            return Err(Refusal::new(RefusalCode::TooLarge, text));
        }
        if !text.is_empty() {
            let count = self.notes_of_attempt.get();
            check_room("notes", count, NOTES_MAX)?;
            self.notes_of_attempt.set(count + 1);
            self.notes.borrow_mut().push(text.to_owned());
        }
        Ok(())
    }

    fn schedule(&self, event: RawEvent, after: &str) -> Result<(), Refusal> {
        check_event(event.name())?;
        if Delay::from(after).seconds().is_none_or(|seconds| seconds > DELAY_SECONDS_MAX) {
            let text = format!(
                "`{after}` is no duration: expected a number and one of s, m, h, d, as in 90s or 6h; at most 3650d"
            );
            return Err(Refusal::new(RefusalCode::InvalidDuration, text));
        }
        check_room("events", self.scheduled.borrow().len(), SCHEDULES_MAX)?;
        let payload = checked("payload", event.payload_json().unwrap_or("{}"))?;
        self.scheduled.borrow_mut().push(Scheduled { event: event.name, payload, after: after.to_owned() });
        Ok(())
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.settings.borrow().get(name).cloned()
    }

    fn settings(&self) -> Vec<String> {
        self.settings.borrow().keys().cloned().collect()
    }

    fn secrets(&self) -> Vec<String> {
        self.secrets.borrow().iter().cloned().collect()
    }

    #[cfg(feature = "http")]
    fn http(&self, request: &crate::RequestParts) -> Result<crate::Response, crate::HttpError> {
        match &*self.web.borrow() {
            Some(web) => web(request),
            None => Err(crate::HttpError::new(request, "HTTP-request-denied")),
        }
    }

    fn log(&self, level: Level, text: &str) {
        self.logs.borrow_mut().push((level, text.to_owned()));
    }
}

fn bytes((key, value): (&String, &Value)) -> usize {
    key.len() + value.to_string().len()
}

fn checked(what: &str, json: &str) -> Result<Value, Refusal> {
    if json.len() > VALUE_BYTES_MAX {
        let text = format!("{what} has {} bytes; the most is {VALUE_BYTES_MAX}", json.len());
        return Err(Refusal::new(RefusalCode::TooLarge, text));
    }
    serde_json::from_str(json)
        .map_err(|error| Refusal::new(RefusalCode::InvalidJson, format!("{what} is not JSON: {error}")))
}

fn check_room(what: &str, count: usize, max: usize) -> Result<(), Refusal> {
    if count < max {
        return Ok(());
    }
    Err(Refusal::new(RefusalCode::TooMany, format!("one attempt adds at most {max} {what}")))
}

fn check_event(name: &str) -> Result<(), Refusal> {
    let has_form = name.len() <= EVENT_BYTES_MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
        && !["timeout", "error", "joined"].contains(&name);
    if has_form {
        return Ok(());
    }
    let text = format!("`{name}` is no event of a workflow: expected a letter, then up to 63 of a-z 0-9 _ -");
    Err(Refusal::new(RefusalCode::InvalidEvent, text))
}

fn check_memory_key(key: &str) -> Result<(), Refusal> {
    let chars = key.chars().count();
    if chars == 0 || chars > MEMORY_KEY_CHARS_MAX || key.contains('\0') {
        let text =
            format!("memory key {key:?}: expected 1 to {MEMORY_KEY_CHARS_MAX} characters, none of them NUL");
        return Err(Refusal::new(RefusalCode::InvalidKey, text));
    }
    Ok(())
}
