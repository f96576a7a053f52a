//! Guards: the conditions on transitions, `payload.passed == true and count('failed') < 3`.
//!
//! The language is the original's, which borrows Python's expression syntax and meaning and leaves out nearly all of it:
//!
//! ```text
//! comparison   <  <=  >  >=  ==  !=  in  not in, chained too: 1 < payload.v < 5
//! boolean      and  or  not
//! literals     numbers, strings, true, false, null, lists of literals
//! accessors    ctx['key']   payload.<field>   count('event')
//! children     branches.all(condition)   branches.any(condition)      on `joined` only
//!              branches.count(condition)                              how many; ours, to be compared with a number
//!              in the condition: workflow, token, status, final, payload.<field> of that child
//! ```
//!
//! A child's status `completed_with_errors`, which is ours too, is also `completed` to a condition.
//!
//! A guard answers yes or no and never fails: what is missing reads as null, and a comparison that makes no sense is
//! false. [`Guard::parse`] turns text into an [`Expr`], which the compiler may inspect; [`Guard::holds`] walks it. Which
//! accessor exists for which event is the compiler's business.

mod check;
mod eval;
mod lex;
mod parse;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use thiserror::Error;

use crate::json::{Json, Object};
pub use value::Number;

/// A parsed guard.
#[derive(Debug, Clone, PartialEq)]
pub struct Guard {
    /// As written; part of the graph's structure.
    pub text: String,
    /// What it means.
    pub tree: Expr,
    /// What it reads.
    pub reads: Reads,
}

/// What a guard reads, each with the bytes of its text where it is first read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reads {
    /// Keys of the token's context.
    pub context_keys: BTreeMap<String, Range<usize>>,
    /// Fields of the routed event's payload. A child's payload is not in it.
    pub payload_fields: BTreeMap<String, Range<usize>>,
    /// Events that it counts.
    pub events: BTreeMap<String, Range<usize>>,
    /// Where it asks about the ended children, if it does.
    pub branches: Option<Range<usize>>,
    /// Where it reads the payload or the id of one child, if it does: what cannot be told of children by the number.
    pub one_branch: Option<Range<usize>>,
}

/// A node of a guard.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields say no more than the variants")]
pub enum Expr {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number, negative ones included.
    Number(Number),
    /// A string.
    String(String),
    /// A list of literals; inside `branches` also of a child's fields.
    List(Vec<Expr>),
    /// `ctx['key']`.
    Context(String),
    /// `payload.<field>`: of the routed event, or inside `branches` of the child.
    Payload(String),
    /// `count('event')`: how often the token accepted it, the routed event included.
    Count(String),
    /// `workflow`, `token`, `status`, `final`: a field of a child, inside `branches` only.
    Branch(String),
    /// Each pair of neighbours in turn; true when all hold.
    Compare { first: Box<Expr>, rest: Vec<(Comparison, Expr)> },
    /// True when all are truthy.
    And(Vec<Expr>),
    /// True when one is truthy.
    Or(Vec<Expr>),
    /// True when it is not truthy.
    Not(Box<Expr>),
    /// True when the condition holds for every ended child (true without children), or for one of them; or how many
    /// they are for which it holds.
    Branches { quantifier: Quantifier, condition: Box<Expr> },
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Comparison {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    In,
    NotIn,
}

/// What is asked about the children for which a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    /// Are they all?
    All,
    /// Is there one?
    Any,
    /// How many are they?
    Count,
}

/// A text is outside the guard language.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct GuardError {
    /// What was seen, and what is allowed instead.
    pub problem: String,
    /// Where in the text, in bytes; never outside it.
    pub at: Range<usize>,
}

/// All that a guard may read, at the moment an event is routed.
pub struct Facts<'a> {
    /// The token's context, the routine's writes included.
    pub context: &'a Object,
    /// The event's payload; empty when it has none.
    pub payload: &'a Object,
    /// How often the token accepted an event, the routed one included.
    pub counts: &'a dyn Fn(&str) -> u64,
    /// For `joined`: one object per ended child. Empty for every other event.
    pub branches: &'a [Json],
    /// For how many ended children each of `branches` stands; empty when each stands for one.
    pub weights: &'a [u64],
}

impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { context, payload, branches, weights, counts: _ } = self;
        f.debug_struct("Facts")
            .field("context", context)
            .field("payload", payload)
            .field("branches", branches)
            .field("weights", weights)
            .finish_non_exhaustive()
    }
}

impl Guard {
    /// The guard that `text` says.
    ///
    /// # Errors
    /// The first thing in it that is outside the language.
    pub fn parse(text: &str) -> Result<Self, GuardError> {
        let (tree, reads) = check::lower(text, &parse::parse(text)?)?;
        Ok(Self { text: text.to_owned(), tree, reads })
    }

    /// Whether it holds.
    #[must_use]
    pub fn holds(&self, facts: &Facts<'_>) -> bool {
        eval::truth(&self.tree, facts)
    }
}
