//! The keyword `pattern`, with Python's meaning of a regular expression.
//!
//! JSON Schema asks for JavaScript's, and the `jsonschema` crate keeps to it. The original matches with Python's `re`,
//! whose `\d` and `\w` know every alphabet, and whose `\Z` and named groups JavaScript lacks. Not followed: Python's `$`
//! also matches before a newline at the end of the text, ours only at the end.

use fancy_regex::{Regex, RegexBuilder};
use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError};

use crate::json::{Json, Object};

/// How often a match may turn back before the value is refused: a bad pattern costs a moment, never a thread.
const BACKTRACKS: usize = 100_000;

struct Pattern {
    text: String,
    regex: Regex,
}

/// Compiles the keyword, for `ValidationOptions::with_keyword`.
pub(super) fn keyword<'a>(
    _parent: &'a Object,
    value: &'a Json,
    _path: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let Some(text) = value.as_str() else {
        return Err(ValidationError::custom(format!("'pattern' is a text, not {value}")));
    };
    let regex = RegexBuilder::new(&rust_form(text)).backtrack_limit(BACKTRACKS).build();
    let regex = regex.map_err(|error| ValidationError::custom(format!("the pattern '{text}': {error}")))?;
    Ok(Box::new(Pattern { text: text.to_owned(), regex }))
}

/// The pattern with `\Z`, Python's end of the text, spelled as Rust spells it.
fn rust_form(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        out.push(c);
        if c == '\\' {
            out.extend(chars.next().map(|escaped| if escaped == 'Z' { 'z' } else { escaped }));
        }
    }
    out
}

impl<'i> Keyword<'i> for Pattern {
    fn validate(&self, instance: &'i Json) -> Result<(), ValidationError<'i>> {
        match instance.as_str().map(|text| self.regex.is_match(text)) {
            None | Some(Ok(true)) => Ok(()),
            Some(Ok(false)) => {
                Err(ValidationError::custom(format!("{instance} does not match '{}'", self.text)))
            }
            Some(Err(_)) => Err(ValidationError::custom(format!(
                "matching '{}' takes too long for this text; write a simpler pattern",
                self.text
            ))),
        }
    }

    fn is_valid(&self, instance: &'i Json) -> bool {
        instance.as_str().is_none_or(|text| self.regex.is_match(text).unwrap_or(false))
    }
}
