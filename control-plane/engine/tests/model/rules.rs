//! The reference model: the rules of Stateous as their documentation tells them, written a second time, as simply as can
//! be. It owns whole histories and scans them for every count, visit and key; what it lacks is speed, and any line in
//! common with the engine. Beginnings and children are in `family`, movement in `moves`, the
//! work of supervisors in `tasks` and `reports`, people's acts in `steer`.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::flow::{Flow, Object};

/// All there is.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) flow: Flow,
    pub(crate) now: i64,
    pub(crate) lease_ms: i64,
    pub(crate) tokens: BTreeMap<String, Token>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) timers: Vec<Timer>,
    /// By token, state and key; the values as JSON text.
    pub(crate) memory: BTreeMap<(String, String, String), String>,
    /// What paused families hold, in the order of arrival.
    pub(crate) held: Vec<Held>,
    /// By token.
    pub(crate) history: BTreeMap<String, Vec<Entry>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) id: String,
    pub(crate) workflow: String,
    pub(crate) parent: Option<String>,
    pub(crate) state: String,
    pub(crate) status: &'static str,
    pub(crate) visit: u64,
    pub(crate) context: Object,
    pub(crate) entered_at: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Task {
    pub(crate) id: u64,
    pub(crate) token: String,
    pub(crate) state: String,
    pub(crate) visit: u64,
    pub(crate) status: &'static str,
    pub(crate) attempt: u64,
    pub(crate) failures: u64,
    pub(crate) held_by: Option<String>,
    pub(crate) request: Option<String>,
    pub(crate) lease_until: Option<i64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Timer {
    pub(crate) id: u64,
    pub(crate) token: String,
    pub(crate) state: String,
    pub(crate) visit: u64,
    pub(crate) event: String,
    pub(crate) payload: Option<Object>,
    pub(crate) set_at: i64,
    pub(crate) due_at: i64,
    /// `timeout` or `timer`.
    pub(crate) kind: &'static str,
    /// Neither fired nor cancelled.
    pub(crate) pending: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Held {
    pub(crate) token: String,
    pub(crate) arrival: u64,
    pub(crate) event: String,
    pub(crate) payload: Option<Object>,
    /// Of a task's outcome: the task with its state and visit.
    pub(crate) origin: Option<(u64, String, u64)>,
    pub(crate) context: Object,
    pub(crate) timers: Vec<AskedTimer>,
}

/// A timer that a routine asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AskedTimer {
    pub(crate) event: String,
    pub(crate) payload: Option<Object>,
    pub(crate) after: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) at: i64,
    pub(crate) kind: &'static str,
    pub(crate) data: Json,
    pub(crate) key: Option<String>,
}

/// What the caller is told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Told {
    Created(String),
    Token(String),
    Duplicate(String),
    Granted(Box<Granted>),
    Run,
    Skip,
    Done,
    Stale,
    /// With the code.
    Refused(&'static str),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Granted {
    pub(crate) task: u64,
    pub(crate) attempt: u64,
    pub(crate) child: bool,
    pub(crate) context: Object,
    pub(crate) memory: BTreeMap<String, String>,
    pub(crate) entered_by: (String, Option<Object>),
    pub(crate) deadline: Option<i64>,
}

impl Model {
    pub(crate) fn new(flow: Flow, now: i64, lease_ms: i64) -> Self {
        Self {
            flow,
            now,
            lease_ms,
            tokens: BTreeMap::new(),
            tasks: Vec::new(),
            timers: Vec::new(),
            memory: BTreeMap::new(),
            held: Vec::new(),
            history: BTreeMap::new(),
        }
    }

    pub(crate) fn token(&self, id: &str) -> &Token {
        &self.tokens[id]
    }

    pub(crate) fn change(&mut self, id: &str) -> &mut Token {
        self.tokens.get_mut(id).expect("the token exists")
    }

    pub(crate) fn is(&self, id: &str, status: &str) -> bool {
        self.tokens.get(id).is_some_and(|t| t.status == status)
    }

    pub(crate) fn is_live(&self, id: &str) -> bool {
        self.is(id, "active") || self.is(id, "paused")
    }

    /// The workflow that a token follows.
    pub(crate) fn flow_of(&self, id: &str) -> Flow {
        self.flow.find(&self.token(id).workflow).expect("each workflow is in the graph").clone()
    }

    pub(crate) fn entries(&self, id: &str) -> &[Entry] {
        self.history.get(id).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn append(&mut self, id: &str, kind: &'static str, data: Json) {
        self.append_keyed(id, kind, data, None);
    }

    pub(crate) fn append_keyed(&mut self, id: &str, kind: &'static str, data: Json, key: Option<&str>) {
        let entry = Entry { at: self.now, kind, data, key: key.map(str::to_owned) };
        self.history.entry(id.to_owned()).or_default().push(entry);
    }

    /// How often a token has accepted an event.
    pub(crate) fn count(&self, id: &str, event: &str) -> u64 {
        let accepted = |e: &&Entry| e.kind == "event_accepted" && e.data["event"] == event;
        self.entries(id).iter().filter(accepted).count() as u64
    }

    /// How often a token has entered a state.
    pub(crate) fn visits(&self, id: &str, state: &str) -> u64 {
        let entered = |e: &&Entry| e.kind == "entered" && e.data["state"] == state;
        self.entries(id).iter().filter(entered).count() as u64
    }

    /// The last event that a token has accepted.
    pub(crate) fn last_accepted(&self, id: &str) -> (String, Option<Object>) {
        last_accepted(self.entries(id))
    }

    /// The event that brought a token into its last state.
    pub(crate) fn entered_by(&self, id: &str) -> (String, Option<Object>) {
        let entries = self.entries(id);
        last_accepted(
            &entries[..entries.iter().rposition(|e| e.kind == "entered").expect("it entered a state")],
        )
    }

    /// The children that the token's present visit of a parallel state has started, in the order of its workflows.
    pub(crate) fn children(&self, id: &str) -> Vec<String> {
        let token = self.token(id);
        if token.state == "__start__" {
            return Vec::new();
        }
        let Some(parallel) = self.flow_of(id).state(&token.state).parallel.clone() else { return Vec::new() };
        let ids = parallel.workflows.iter().map(|w| child_id(id, &token.state, token.visit, w));
        ids.filter(|child| self.tokens.get(child).is_some_and(|t| t.parent.as_deref() == Some(id))).collect()
    }

    /// The token and all below it, each before its children.
    pub(crate) fn family(&self, id: &str) -> Vec<String> {
        let mut all = vec![id.to_owned()];
        for child in self.children(id) {
            all.extend(self.family(&child));
        }
        all
    }

    /// The token at the top of a family.
    pub(crate) fn top(&self, id: &str) -> String {
        self.token(id).parent.as_ref().map_or_else(|| id.to_owned(), |parent| self.top(parent))
    }
}

fn last_accepted(entries: &[Entry]) -> (String, Option<Object>) {
    let last = entries.iter().rfind(|e| e.kind == "event_accepted");
    let last = last.expect("every token accepted the event that started it");
    (text(&last.data["event"]), last.data["payload"].as_object().cloned())
}

/// The id of the child that runs `workflow`.
pub(crate) fn child_id(parent: &str, state: &str, visit: u64, workflow: &str) -> String {
    format!("{parent}.{state}.{visit}.{workflow}")
}

fn text(json: &Json) -> String {
    json.as_str().expect("it is a text").to_owned()
}

/// An object or null.
pub(crate) fn told(payload: Option<&Object>) -> Json {
    payload.map_or(Json::Null, |p| json!(p))
}

/// `30s`, `10m`, `6h`, `1d` in milliseconds.
pub(crate) fn duration(after: &str) -> Option<i64> {
    let (number, unit) = after.split_at_checked(after.len().checked_sub(1)?)?;
    let unit = match unit {
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let number: i64 = number.parse().ok().filter(|n: &i64| *n > 0)?;
    Some(number * unit)
}
