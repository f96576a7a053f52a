//! A failed attempt, and how every error becomes one.

use std::error::Error as StdError;
use std::fmt;
use std::panic::Location;

/// Why the attempt failed. The message goes into the token's history.
///
/// `?` turns any error, `String` or `&str` into a retryable failure: its text, the texts of its sources, and the line
/// of the `?`. Say [`Failure::fatal`] when another attempt could not do better:
///
/// ```
/// # use stateous_routine::prelude::*;
/// fn port(text: &str) -> Result<u16> {
///     text.parse().map_err(Failure::fatal)
/// }
/// assert_eq!(port("http").unwrap_err().message(), "invalid digit found in string");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use = "a failure does nothing until it is returned: `return Err(failure)`"]
pub struct Failure {
    message: String,
    is_retryable: bool,
}

impl Failure {
    /// A failure after which another attempt makes sense, if the state has retries left.
    pub fn retryable(reason: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { message: with_sources(&*reason.into()), is_retryable: true }
    }

    /// A failure that no other attempt would change: it spends the task's remaining retries.
    pub fn fatal(reason: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { message: with_sources(&*reason.into()), is_retryable: false }
    }

    /// What the history will say.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether another attempt makes sense.
    pub fn is_retryable(&self) -> bool {
        self.is_retryable
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Self {
        let place = Location::caller();
        let mut failure = Self::retryable(error);
        failure.message = format!("{} ({}:{})", failure.message, place.file(), place.line());
        failure
    }
}

/// A failure is not a `std::error::Error`, or `?` could not take every error into it; it prints like one.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_retryable { "retryable" } else { "fatal" };
        write!(f, "Failure::{kind}({:?})", self.message)
    }
}

/// The error's text and its sources' texts, from the outside in. Many errors repeat their source: said once here.
fn with_sources(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut last = text.clone();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !last.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        last = more;
        next = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the ledger cannot be read")]
    struct Outer(#[source] Middle);
    #[derive(Debug, thiserror::Error)]
    #[error("line 3: {0}")]
    struct Middle(#[source] std::num::ParseIntError);

    fn outer() -> Outer {
        Outer(Middle("x".parse::<u8>().unwrap_err()))
    }

    #[test]
    fn an_error_keeps_its_sources_and_its_line() {
        fn fails() -> crate::Result<()> {
            Err(outer())?
        }
        let line = line!() - 2;
        let failure = fails().unwrap_err();
        let text = "the ledger cannot be read: line 3: invalid digit found in string";
        assert_eq!(failure.message(), format!("{text} ({}:{line})", file!()));
        assert!(failure.is_retryable());
    }

    #[test]
    fn texts_and_boxes_are_failures_too() {
        fn text() -> crate::Result<()> {
            Err("no stock")?
        }
        fn boxed() -> crate::Result<()> {
            Err(Box::<dyn StdError + Send + Sync>::from("no stock".to_owned()))?
        }
        assert!(text().unwrap_err().message().starts_with("no stock ("));
        assert!(boxed().unwrap_err().message().starts_with("no stock ("));
    }

    #[test]
    fn a_fatal_failure_says_only_what_it_was_told() {
        let failure = Failure::fatal(format!("{} is not a title", 7));
        assert_eq!(failure.message(), "7 is not a title");
        assert!(!failure.is_retryable());
        assert_eq!(format!("{failure:?}"), "Failure::fatal(\"7 is not a title\")");
    }
}
