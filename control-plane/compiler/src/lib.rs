//! `workflow.toml` to graph file.
//!
//! People write a workflow as TOML; the control plane serves a graph file. [`compile`] turns one into the other, or says
//! everything that is wrong with it at once, each with its place, a stable code and a way out. It reads no file and runs
//! no code. What it writes is the graph file of the original, format 1, key for key: [`stateous_engine::Graph`] reads it.
//! [`mermaid`] and [`dot`] draw such a graph, and [`contract`] writes what each state's routine is given and can end with as
//! types of a programming language.
//!
//! # The file
//!
//! ```toml
//! workflow = "sdlc"              # a name: a-z first, then a-z, 0-9, _ and -, at most 64 characters
//! context = "Ticket"             # the schema of a token's context; without it, any object will do
//!
//! [states.coding]
//! start = true                   # a new token begins here
//! timeout = "6h"                 # s, m, h or d; covers all attempts
//! retries = 2                    # failed attempts that are tried again; 0 without it
//! on.done = "testing"            # the event `done` leads to `testing`
//! on.stuck = "END"               # END completes the token
//! on.error = "END"               # the last attempt failed; without it the token fails
//! on.timeout = "END"             # the timeout is over; without it the token fails
//!
//! [states.testing]
//! on.passed = "END"
//! on.failed = [                  # guards choose; `otherwise` is taken when none holds
//!     { to = "coding", when = "count('failed') < 3" },
//!     { to = "END", otherwise = true },
//! ]
//!
//! [events.failed]                # only events with a payload need to be listed
//! payload = "Tests"
//!
//! [schemas.Ticket]
//! repo = "string"
//! [schemas.Tests]
//! failed = "integer"
//! ```
//!
//! **Start.** One state says `start = true`. When guards choose where a token begins, `start` stands at the top instead,
//! before the first `[table]`: `start = [{ to = "a", when = "ctx['size'] > 9" }, { to = "b", otherwise = true }]`. Such
//! guards read the context only.
//!
//! **Guards.** No two guards of one state and event may both hold: which transition is taken is decided when compiling,
//! not by chance. This is proven, and where it is not so, an example of such data is shown. What cannot be proven is refused:
//! a guard that compares two values with each other, orders lists, searches what is no list, or asks about `branches`. Let
//! one of the two be the `otherwise`.
//!
//! **Events.** An event is declared by its use in `on`, and carries no payload unless `[events.<name>]` names a schema.
//! `timeout`, `error` and `joined` are Stateous's own. Guards are described in [`stateous_engine::guard`].
//!
//! **Schemas.** Either a field per line, or one full JSON Schema (Draft 2020-12, without formats) under `json-schema`,
//! which refers to the others as `#/schemas/<Name>`.
//!
//! | short form | means |
//! |---|---|
//! | `"string"`, `"integer"`, `"number"`, `"boolean"` | a required value of that type |
//! | `"string?"` | may be absent or null; in a context, absent becomes null |
//! | `["string"]` | a list of such values |
//! | `"Other"`, `"Other?"`, `["Other"]` | an object of that schema |
//!
//! **Parallel states.** A state can run other workflows of the file instead of a routine, a child token for each:
//!
//! ```toml
//! [states.checks]
//! parallel = ["review", "build"] # entering starts a token of each; the state has no task and no retries
//! join = "all"                   # wait until every child ended; "any" goes on with the first and cancels the others
//! inputs = ["repo"]              # the keys of the context that each child's context starts with
//! on.joined = [
//!     { to = "ship", when = "branches.all(status == 'completed')" },
//!     { to = "END", otherwise = true },
//! ]
//!
//! [workflows.review]             # a workflow like any other: context, start, states, events; schemas are shared
//! context = "Source"
//! [workflows.review.states.look]
//! start = true
//! on.approved = "END"
//! ```
//!
//! The workflow's context has every key of `inputs`, and `inputs` has every key that a child's context requires. A child
//! always knows where it begins. A workflow may run others in turn, but never itself. The id of a child is
//! `<parent>.<state>.<visit>.<workflow>`; names must leave 64 of an id's 128 characters for the top token's.
//!
//! # Codes
//!
//! | code | what is wrong |
//! |---|---|
//! | `syntax`, `wrong_type`, `unknown_key`, `missing_key` | the file's form |
//! | `bad_name`, `bad_duration`, `bad_retries` | a value's form |
//! | `no_states`, `no_start`, `two_starts`, `start_to_end` | where tokens begin |
//! | `unknown_state`, `unknown_schema`, `unknown_type`, `unknown_event` | a name that leads nowhere |
//! | `unreachable`, `dead_end`, `no_end` | where tokens go |
//! | `needs_otherwise`, `two_fallbacks`, `when_and_otherwise` | which transition is taken |
//! | `guard`, `start_guard`, `unknown_field`, `no_payload`, `branches_elsewhere` | what a guard says or reads |
//! | `guards_overlap`, `guards_undecided` | two guards that both hold, or may |
//! | `reserved_event`, `joined_elsewhere`, `parallel_state` | what cannot be declared here |
//! | `unknown_workflow`, `runs_twice`, `runs_itself`, `two_workflows`, `long_ids` | which workflows a parallel state runs |
//! | `bad_join`, `missing_input`, `no_join`, `error_never`, `child_start` | how they begin and end |
//! | `bad_field`, `bad_schema` | a schema |
//! | `graph_refused` | the result is no graph that the control plane takes |
//! | warnings: `unused_event`, `unused_schema`, `unused_workflow`, `cannot_end`, `timeout_never`, `never_holds` | what is allowed but looks like a slip |

mod check;
pub mod contract;
mod definition;
mod diagnostic;
mod drawing;
mod emit;
mod exclusive;
mod guards;
mod parallel;
mod read;
mod schemas;
mod source;

use diagnostic::Problems;
pub use diagnostic::{Diagnostic, Severity};
pub use drawing::{dot, mermaid};
use stateous_engine::Graph;

/// A workflow that compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The graph file's text.
    pub graph_text: String,
    /// What is allowed but looks like a slip, in the order of the file.
    pub warnings: Vec<Diagnostic>,
}

/// Compiles `source`, the text of a `workflow.toml`. `file_name` is only shown.
///
/// # Errors
/// Every mistake in it, in the order of the file. Where the TOML itself is broken, only that is told.
pub fn compile(source: &str, file_name: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let mut problems = Problems::new(file_name, source);
    if let Some(definition) = read::read(source, &mut problems) {
        check::check(&definition, &mut problems);
        guards::check(&definition, &mut problems);
        parallel::check(&definition, &mut problems);
        let schemas = schemas::check(&definition, &mut problems);
        exclusive::check(&definition, &mut problems);
        if !problems.have_errors() {
            let graph_text = emit::graph_text(&definition, schemas);
            match Graph::parse(&graph_text) {
                Ok(_) => return Ok(Compiled { graph_text, warnings: problems.into_sorted() }),
                Err(error) => {
                    problems.error("graph_refused", 0..0, error.to_string());
                }
            }
        }
    }
    let mut found = problems.into_sorted();
    found.retain(|d| d.severity == Severity::Error);
    Err(found)
}
