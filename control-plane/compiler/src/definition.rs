//! A `workflow.toml` as understood: every part with its place in the file, nothing checked against anything else.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use stateous_engine::graph::is_own_event;
use stateous_engine::guard::Guard;
use stateous_engine::json::Json;

/// The word for the place where a completed token goes, as users write it.
pub(crate) const END: &str = "END";

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) at: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) workflow: String,
    pub(crate) context: Option<At<String>>,
    pub(crate) starts: Vec<Edge>,
    pub(crate) states: Vec<State>,
    pub(crate) events: Vec<Event>,
    pub(crate) schemas: Vec<Schema>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) name: At<String>,
    pub(crate) timeout: Option<String>,
    pub(crate) retries: u64,
    pub(crate) edges: Vec<Edge>,
}

/// A transition. Its source is the state that it stands in, or START.
#[derive(Debug)]
pub(crate) struct Edge {
    /// `None` out of START.
    pub(crate) event: Option<At<String>>,
    pub(crate) target: At<String>,
    /// A guard stands here, understood or not.
    pub(crate) guarded: bool,
    /// The guard; `None` too when it was not understood.
    pub(crate) when: Option<When>,
    pub(crate) otherwise: bool,
}

#[derive(Debug)]
pub(crate) struct When {
    pub(crate) guard: Guard,
    /// Where the guard's text stands in the file, quotes included.
    pub(crate) at: Range<usize>,
    /// Where its first character stands, if each character stands for itself.
    pub(crate) inner: Option<usize>,
}

impl When {
    /// The place in the file of a part of the guard's text.
    pub(crate) fn place(&self, part: &Range<usize>) -> Range<usize> {
        place(self.inner, &self.at, part)
    }
}

/// The place in the file of `part` of a text that stands `at`, its first character at `inner`.
pub(crate) fn place(inner: Option<usize>, at: &Range<usize>, part: &Range<usize>) -> Range<usize> {
    inner.map_or_else(|| at.clone(), |start| start + part.start..start + part.end)
}

/// `[events.<name>]`.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: At<String>,
    pub(crate) payload: Option<At<String>>,
}

/// `[schemas.<name>]`.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) name: At<String>,
    pub(crate) json: Json,
    /// The other schemas that it refers to.
    pub(crate) refs: Vec<At<String>>,
    /// The fields that an object of it has; `None` when the schema does not tell.
    pub(crate) fields: Option<Vec<String>>,
}

impl Definition {
    /// Every transition with the state that it leaves; `None` is START.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (Option<&State>, &Edge)> {
        let of_states = self.states.iter().flat_map(|s| s.edges.iter().map(move |e| (Some(s), e)));
        self.starts.iter().map(|e| (None, e)).chain(of_states)
    }

    pub(crate) fn state(&self, name: &str) -> Option<&State> {
        self.states.iter().find(|s| s.name.value == name)
    }

    pub(crate) fn schema(&self, name: &str) -> Option<&Schema> {
        self.schemas.iter().find(|s| s.name.value == name)
    }

    /// The workflow's events in the order in which the file first mentions them, each with its payload's schema.
    pub(crate) fn all_events(&self) -> Vec<(&str, Option<&str>)> {
        let used = self.edges().filter_map(|(_, e)| e.event.as_ref());
        let mut mentions: Vec<_> = used.chain(self.events.iter().map(|e| &e.name)).collect();
        mentions.sort_by_key(|name| name.at.start);
        let declared = self.events.iter().filter_map(|e| Some((e.name.value.as_str(), e.payload.as_ref()?)));
        let payload: HashMap<_, _> = declared.map(|(name, payload)| (name, payload.value.as_str())).collect();
        let mut seen = HashSet::new();
        let names = mentions.into_iter().map(|name| name.value.as_str());
        let names = names.filter(|name| !is_own_event(name) && seen.insert(*name));
        names.map(|name| (name, payload.get(name).copied())).collect()
    }
}
