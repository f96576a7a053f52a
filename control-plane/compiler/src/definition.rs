//! A `workflow.toml` as understood: every part with its place in the file, nothing checked against anything else.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::ops::Range;

use stateous_engine::graph::{EMPTY, Join, Key, Listing, Source, is_own_event};
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
    /// What a top token follows.
    pub(crate) main: Flow,
    /// `[workflows.<name>]`: what parallel states run, in the order of the file.
    pub(crate) children: Vec<Flow>,
    pub(crate) schemas: Vec<Schema>,
}

/// One workflow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) name: At<String>,
    pub(crate) context: Option<At<String>>,
    pub(crate) starts: Vec<Edge>,
    pub(crate) states: Vec<State>,
    pub(crate) events: Vec<Event>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) name: At<String>,
    pub(crate) timeout: Option<String>,
    pub(crate) retries: u64,
    pub(crate) parallel: Option<Parallel>,
    pub(crate) edges: Vec<Edge>,
}

impl State {
    pub(crate) fn fans_out(&self) -> bool {
        self.parallel.as_ref().is_some_and(|parallel| parallel.each.is_some())
    }
}

/// What a parallel state runs instead of a routine.
#[derive(Debug)]
pub(crate) struct Parallel {
    pub(crate) workflows: Vec<At<String>>,
    pub(crate) join: Join,
    pub(crate) inputs: Vec<At<String>>,
    /// It fans out.
    pub(crate) each: Option<Each>,
}

/// `each` or `lines` of a parallel state, and what belongs to it.
#[derive(Debug)]
pub(crate) struct Each {
    pub(crate) listing: Listing,
    /// Where the list or text stands; `None` when that was not understood.
    pub(crate) source: Option<Source>,
    /// As written.
    pub(crate) text: At<String>,
    pub(crate) max_live: Option<u64>,
    pub(crate) key: Option<(String, Key)>,
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
    /// Every workflow, the main one first.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &Flow> {
        iter::once(&self.main).chain(&self.children)
    }

    pub(crate) fn child(&self, name: &str) -> Option<&Flow> {
        self.children.iter().find(|flow| flow.name.value == name)
    }

    /// The child workflows that tokens can run, each where it is first named, its own children behind it.
    pub(crate) fn used_children(&self) -> Vec<&Flow> {
        let children = |flow: &Flow| {
            let named = flow.states.iter().filter_map(|s| s.parallel.as_ref()).flat_map(|p| &p.workflows);
            named.filter_map(|name| self.child(&name.value)).collect::<Vec<_>>()
        };
        let mut found: Vec<&Flow> = Vec::new();
        let mut open: Vec<&Flow> = children(&self.main).into_iter().rev().collect();
        while let Some(flow) = open.pop() {
            if found.iter().all(|known| known.name.value != flow.name.value) {
                found.push(flow);
                open.extend(children(flow).into_iter().rev());
            }
        }
        found
    }

    pub(crate) fn schema(&self, name: &str) -> Option<&Schema> {
        self.schemas.iter().find(|s| s.name.value == name)
    }
}

impl Flow {
    /// Every transition with the state that it leaves; `None` is START.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (Option<&State>, &Edge)> {
        let of_states = self.states.iter().flat_map(|s| s.edges.iter().map(move |e| (Some(s), e)));
        self.starts.iter().map(|e| (None, e)).chain(of_states)
    }

    /// Whether only Stateous fires `event` in this workflow.
    pub(crate) fn is_own_event(&self, event: &str) -> bool {
        is_own_event(event) || (event == EMPTY && self.states.iter().any(State::fans_out))
    }

    pub(crate) fn state(&self, name: &str) -> Option<&State> {
        self.states.iter().find(|s| s.name.value == name)
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
        let names = names.filter(|name| !self.is_own_event(name) && seen.insert(*name));
        names.map(|name| (name, payload.get(name).copied())).collect()
    }
}
