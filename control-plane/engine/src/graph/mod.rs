//! The graph file: the compiled workflow that tokens follow, format 1 of the original, taken byte for byte.
//!
//! [`Graph::parse`] checks everything once, so that routing an event later is a look-up that cannot fail: names are
//! known, guards are parsed, schemas are compiled. What the original would find only at run time, or never (a target
//! that is no state, a guard outside the language), is refused here with its place. Writing graph files is the
//! compiler's work; choosing a transition is [`crate::decide`]'s.

mod catalog;
mod pattern;
mod read;
mod schema;
mod workflow;

use sha2::{Digest, Sha256};
use thiserror::Error;

pub use catalog::Catalog;
pub use workflow::{Event, Join, Parallel, State, Transition, Workflow};

use crate::guard::GuardError;
use crate::json::{self, Json, JsonError, Object};

/// Where every token begins. Never declared.
pub const START: &str = "__start__";
/// Where a completed token goes. Never declared; an ended token keeps its last state.
pub const END: &str = "__end__";
/// The event on which a token leaves [`START`]. Only the engine fires it.
pub const STARTED: &str = "__started__";
/// Fired when a state's timeout is over.
pub const TIMEOUT: &str = "timeout";
/// Fired when a task's last attempt failed.
pub const ERROR: &str = "error";
/// Fired on a token in a parallel state when the state's join is met.
pub const JOINED: &str = "joined";

/// The version of the graph file's layout, as its `stateous` key.
pub const FORMAT: u64 = 1;

/// Whether only the engine fires `event`.
#[must_use]
pub fn is_own_event(event: &str) -> bool {
    matches!(event, STARTED | TIMEOUT | ERROR | JOINED)
}

/// Checks that the schema `name` of `schemas` can be used: it exists, and so does whatever it refers to.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn check_schema(name: &str, schemas: &Object) -> Result<(), String> {
    schema::Schema::compile(name, schemas).map(|_| ())
}

/// Why a text is not a graph that we can serve.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum GraphError {
    /// It is not JSON.
    #[error("the graph file cannot be read: {0}")]
    Json(#[from] JsonError),
    /// It is JSON of another shape.
    #[error("the graph file is not a JSON object")]
    NotAnObject,
    /// A key is missing that every graph file has.
    #[error("the graph file has no '{key}'; run `stateous compile` again")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// It has another layout.
    #[error(
        "the graph file has format {found}, but this Stateous reads format {FORMAT}; run `stateous compile` again"
    )]
    Format {
        /// The `stateous` key, as JSON text.
        found: String,
    },
    /// Something in it cannot be used.
    #[error("the graph file's {place}: {problem}")]
    Invalid {
        /// Where, in words: `state 'draft'`.
        place: String,
        /// What was seen and what was expected.
        problem: String,
    },
    /// A guard is outside the guard language.
    #[error("the graph file's {place}: the guard {text:?} at character {}: {error}", character(text, error))]
    Guard {
        /// Where, in words.
        place: String,
        /// The guard.
        text: String,
        /// What is wrong with it.
        error: GuardError,
    },
    /// Two graphs are served together and a workflow's name is in both.
    #[error("two graph files have a workflow named '{name}'; each workflow served needs its own name")]
    DuplicateWorkflow {
        /// The name.
        name: String,
    },
    /// There is nothing to serve.
    #[error("no graph file was given; name at least one")]
    NoGraph,
}

fn character(text: &str, error: &GuardError) -> usize {
    text.get(..error.at.start).map_or(1, |before| before.chars().count() + 1)
}

/// One graph file: the main workflow and the child workflows that its parallel states run.
#[derive(Debug)]
pub struct Graph {
    text: String,
    document: Json,
    checksum: String,
    structure: String,
    /// The main workflow first.
    workflows: Vec<Workflow>,
}

impl Graph {
    /// The graph in a graph file's text.
    ///
    /// # Errors
    /// The first thing in it that cannot be served, with its place.
    pub fn parse(text: &str) -> Result<Self, GraphError> {
        let document = read::document(text)?;
        let checksum = hash(&document);
        let structure = structure_of(&document);
        let workflows = read::workflows(&document, &structure)?;
        Ok(Self { text: text.to_owned(), document: Json::Object(document), checksum, structure, workflows })
    }

    /// The main workflow's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.main().name()
    }

    /// `sha256:` and the hash of the whole document: changes with everything.
    #[must_use]
    pub fn checksum(&self) -> &str {
        &self.checksum
    }

    /// The same hash without timeouts and retries: changes only with where a token can go and what it carries.
    #[must_use]
    pub fn structure(&self) -> &str {
        &self.structure
    }

    /// The document, as loaded.
    #[must_use]
    pub fn document(&self) -> &Json {
        &self.document
    }

    /// The text that it was read from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The main workflow: what a top token follows.
    #[must_use]
    pub fn main(&self) -> &Workflow {
        // `read::workflows` puts the main workflow first, always.
        &self.workflows[0]
    }

    /// The main workflow, then its child workflows in the order of the document.
    #[must_use]
    pub fn workflows(&self) -> &[Workflow] {
        &self.workflows
    }

    /// The main or child workflow of this name.
    #[must_use]
    pub fn workflow(&self, name: &str) -> Option<&Workflow> {
        self.workflows.iter().find(|w| w.name() == name)
    }
}

fn hash(document: &Object) -> String {
    // The canonical writer takes any JSON value; a document is one.
    let canonical = json::canonical(&Json::Object(document.clone()));
    format!("sha256:{}", hex::encode(Sha256::digest(canonical)))
}

fn structure_of(document: &Object) -> String {
    let mut shape = document.clone();
    strip_settings(&mut shape);
    if let Some(Json::Object(children)) = shape.get_mut("workflows") {
        children.values_mut().filter_map(Json::as_object_mut).for_each(strip_settings);
    }
    hash(&shape)
}

/// Removes from a workflow what changes how a state's work is done, not where a token can go.
fn strip_settings(body: &mut Object) {
    if let Some(Json::Object(states)) = body.get_mut("states") {
        for options in states.values_mut().filter_map(Json::as_object_mut) {
            options.shift_remove("timeout");
            options.shift_remove("retries");
        }
    }
}
