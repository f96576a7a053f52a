//! What a parallel state says of fanning out: where its items are, what an item is called, how many children live at once.
//!
//! Only the words; which items a context or payload has is found out by [`crate::decide`] when the state is entered.

use std::fmt;

use crate::guard::{Expr, Guard};

/// A parallel state that starts one child for each item of a list, or for each line of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Each {
    /// What is listed.
    pub kind: Listing,
    /// Where it stands.
    pub source: Source,
    /// At most so many children that have not ended; `None` is no bound. Not part of a graph's structure.
    pub max_live: Option<u64>,
    /// What an item is called where its branch is told; `None` is its index.
    pub key: Option<Key>,
}

/// What a fan-out runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// `each`: the items of a list.
    Items,
    /// `lines`: the lines of a text that are not blank.
    Lines,
}

/// Where the list or text stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `ctx['key']`: in the token's context.
    Context(String),
    /// `payload.<field>`: in the payload of the event that enters the state.
    Payload(String),
}

/// What an item is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// `item`: by itself.
    Item,
    /// `item.<field>`: by one of its fields.
    Field(String),
}

/// The key of a child's context that holds its item.
pub const ITEM: &str = "item";

impl Listing {
    /// The key of the graph file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Items => "each",
            Self::Lines => "lines",
        }
    }
}

impl Source {
    /// The source that `text` says.
    ///
    /// # Errors
    /// A sentence that says what a source is.
    pub fn parse(text: &str) -> Result<Self, String> {
        match Guard::parse(text).map(|guard| guard.tree) {
            Ok(Expr::Context(key)) => Ok(Self::Context(key)),
            Ok(Expr::Payload(field)) => Ok(Self::Payload(field)),
            _ => Err(format!("{text:?} names no list or text; write ctx['key'] or payload.<field>")),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Context(key) => write!(f, "ctx['{key}']"),
            Self::Payload(field) => write!(f, "payload.{field}"),
        }
    }
}

impl Key {
    /// The key that `text` says.
    ///
    /// # Errors
    /// A sentence that says what a key is.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('.') {
            None if text == ITEM => Ok(Self::Item),
            Some((ITEM, field)) if !field.is_empty() && !field.contains(['.', '[', '(', ' ']) => {
                Ok(Self::Field(field.to_owned()))
            }
            _ => Err(format!("{text:?} is no key of an item; write item, or item.<field>")),
        }
    }
}
