//! That of two guards on one state and event never both hold: proven when compiling, so that no token meets the choice.
//!
//! A guard reads a few values and compares each with literals. Between two neighbouring literals every value fares alike,
//! so one value of each region stands for all of them ([`regions`]), within what the value's schema allows ([`domain`]).
//! Each guard becomes a formula over comparisons of one value ([`formula`]); the engine's own evaluator says which of them
//! each region's value meets, and a search looks for a choice of regions that makes the formula true ([`search`]). What it
//! finds is an example that the engine would stumble over; what it does not find cannot happen. Only where no schema says
//! what `in` searches are there more texts and objects than are tried: the searched ones one by one and all together.
//!
//! The same question asked of one guard tells whether it can hold at all. Every answer costs at most [`Budget`]; where
//! that is not enough, or where a guard compares two values with each other, the answer is that nothing can be proven.

mod domain;
mod formula;
mod regions;
mod search;

#[cfg(test)]
mod tests;

use std::fmt;

use stateous_engine::graph::STARTED;
use stateous_engine::guard::Guard;
use stateous_engine::json::{Json, Object};
use thiserror::Error;

use crate::definition::{Definition, Edge, When};
use crate::diagnostic::Problems;

/// What one answer may cost, in visits of a node of a formula: some 30 ms at most in a release build, mostly a few
/// microseconds. Whatever the original decides within its 200,000 combinations, of at most some dozen comparisons, fits.
const STEPS: u64 = 12_000_000;
/// What one file may cost: some seconds, which it takes a thousand guards on one event to reach.
const STEPS_OF_FILE: u64 = 500_000_000;
/// What the simplest answer costs.
const ASKING: u64 = 500;
/// With how many others a guard is shown to clash: whoever mends one sees the next.
const TOLD: usize = 3;

/// A value that a guard reads.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Atom {
    Context(String),
    Payload(String),
    Count(String),
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Context(key) => write!(f, "ctx['{key}']"),
            Self::Payload(field) => write!(f, "payload.{field}"),
            Self::Count(event) => write!(f, "count('{event}')"),
        }
    }
}

/// Why nothing can be proven.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum Undecidable {
    #[error("they ask about child tokens, of which there can be any number")]
    Branches,
    #[error("one of them compares two values with each other")]
    TwoValues,
    #[error("one of them compares the outcome of a condition")]
    Condition,
    #[error("one of them asks which of two lists is greater")]
    OrdersList,
    #[error("'in' searches {0}, which is not a list")]
    NotAList(String),
    #[error("there are too many cases to try")]
    TooMany,
}

/// What is left to spend on one answer.
struct Budget(u64);

impl Budget {
    fn spend(&mut self, steps: usize) -> Result<(), Undecidable> {
        let left = u64::try_from(steps).ok().and_then(|steps| self.0.checked_sub(steps));
        self.0 = left.ok_or(Undecidable::TooMany)?;
        Ok(())
    }
}

/// Data that makes guards hold: what they read, as far as it matters.
type Example = Vec<(Atom, Json)>;

/// What the guards of one state and event read.
struct Where<'a> {
    /// The event being routed, which is counted already.
    event: &'a str,
    context: Option<&'a Json>,
    payload: Option<&'a Json>,
    /// All schemas by name, for references.
    schemas: &'a Object,
}

/// Data with which all `guards` hold at once; `None` when there is none.
fn ask(guards: &[&Guard], place: &Where<'_>, budget: &mut Budget) -> Result<Option<Example>, Undecidable> {
    let question = formula::Question::of(guards, budget)?;
    let regions = question
        .atoms
        .iter()
        .map(|(atom, reads)| regions::of(atom, &place.domain(atom), reads, budget))
        .collect::<Result<Vec<_>, _>>()?;
    search::run(&question, regions, budget)
}

/// What one file may cost.
struct Purse(u64);

impl Purse {
    /// Asks, and pays. The last question may cost more than is left, so that no answer depends on those before it.
    fn ask(&mut self, guards: &[&Guard], place: &Where<'_>) -> Result<Option<Example>, Undecidable> {
        let mut budget = Budget(STEPS);
        let answer = ask(guards, place, &mut budget);
        self.0 = self.0.saturating_sub(STEPS - budget.0 + ASKING);
        answer
    }
}

/// Notes every pair of guards that can both hold or that nothing can be proven of, and every guard that never holds.
pub(crate) fn check(definition: &Definition, problems: &mut Problems<'_>) {
    let schemas: Object = definition.schemas.iter().map(|s| (s.name.value.clone(), s.json.clone())).collect();
    let mut purse = Purse(STEPS_OF_FILE);
    for flow in definition.flows() {
        let payloads = flow.all_events();
        let of_states = flow.states.iter().map(|state| state.edges.as_slice());
        for edges in of_states.chain([flow.starts.as_slice()]) {
            for group in groups(edges) {
                let event = group.event;
                let payload = payloads.iter().find(|(name, _)| *name == event).and_then(|(_, p)| *p);
                let context = flow.context.as_ref().and_then(|context| schemas.get(&context.value));
                let payload = payload.and_then(|name| schemas.get(name));
                let place = Where { event, context, payload, schemas: &schemas };
                if !of_group(&group.guards, &place, &mut purse, problems) {
                    return;
                }
            }
        }
    }
}

/// The guards of one state and event.
struct Group<'d> {
    event: &'d str,
    guards: Vec<&'d When>,
}

fn groups(edges: &[Edge]) -> Vec<Group<'_>> {
    let mut found: Vec<Group<'_>> = Vec::new();
    for edge in edges.iter().filter(|edge| !edge.otherwise) {
        let Some(when) = &edge.when else { continue };
        let event = edge.event.as_ref().map_or(STARTED, |e| e.value.as_str());
        match found.iter_mut().find(|group| group.event == event) {
            Some(group) => group.guards.push(when),
            None => found.push(Group { event, guards: vec![when] }),
        }
    }
    found
}

/// Says whether there is something left to spend on other groups.
fn of_group(guards: &[&When], place: &Where<'_>, purse: &mut Purse, problems: &mut Problems<'_>) -> bool {
    for (i, when) in guards.iter().enumerate() {
        if purse.ask(&[&when.guard], place) == Ok(None) {
            let problem = problems.warning("never_holds", when.at.clone(), "no data makes this guard hold");
            problem.help("mend it, or remove the transition, which is never taken");
            continue;
        }
        let mut told = 0;
        for earlier in &guards[..i] {
            if purse.0 == 0 {
                let message = "the file has more guards than can be held against each other";
                let problem = problems.error("guards_undecided", when.at.clone(), message);
                problem.help("use simpler or fewer guards on one event");
                return false;
            }
            told += usize::from(pair(earlier, when, place, purse, problems));
            if told == TOLD {
                break;
            }
        }
    }
    true
}

/// Says whether there was something to note.
fn pair(
    earlier: &When,
    when: &When,
    place: &Where<'_>,
    purse: &mut Purse,
    problems: &mut Problems<'_>,
) -> bool {
    let other = &earlier.guard.text;
    match purse.ask(&[&earlier.guard, &when.guard], place) {
        Ok(None) => return false,
        Ok(Some(example)) => {
            let data: Vec<_> = example.iter().map(|(atom, value)| format!("{atom} = {value}")).collect();
            let data = if data.is_empty() {
                "whatever the data".to_owned()
            } else {
                format!("when {}", data.join(" and "))
            };
            let message = format!("this guard and `{other}` both hold {data}");
            let problem = problems.error("guards_overlap", when.at.clone(), message);
            problem.help(
                "make them exclude each other, or take one of the two when no guard holds: otherwise = true",
            );
        }
        Err(why) => {
            let message = format!("nothing proves that this guard and `{other}` never both hold: {why}");
            let problem = problems.error("guards_undecided", when.at.clone(), message);
            problem.help(
                "compare each value with literals, or take one of the two when no guard holds: otherwise = true",
            );
        }
    }
    true
}
