//! Reading a settings file key by key, so that every mistake is told at once and each names its key.

use serde_json::{Map, Value};

/// The keys of one file or table that nobody has taken yet, and what was wrong so far.
pub(super) struct Keys<'a> {
    /// What stands before a key in messages: nothing, or the table's name and a dot.
    prefix: &'a str,
    left: Map<String, Value>,
    known: Vec<&'static str>,
    problems: &'a mut Vec<String>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(prefix: &'a str, keys: Map<String, Value>, problems: &'a mut Vec<String>) -> Self {
        Self { prefix, left: keys, known: Vec::new(), problems }
    }

    /// The key's value as `read` understands it; `expected` says what `read` takes. `None` when the key is absent or
    /// wrong.
    pub(super) fn take<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        self.known.push(key);
        let value = self.left.remove(key)?;
        let read = read(&value);
        if read.is_none() {
            self.problems.push(format!("{}{key}: {} is not {expected}", self.prefix, shown(&value)));
        }
        read
    }

    /// The table under a key; an empty one when the key is absent or wrong.
    pub(super) fn table(&mut self, key: &'static str) -> Map<String, Value> {
        self.take(key, "a table", |value| value.as_object().cloned()).unwrap_or_default()
    }

    /// Complains about every key that nobody has taken.
    pub(super) fn finish(self) {
        for key in self.left.keys() {
            let known = self.known.join(", ");
            self.problems.push(format!("{}{key}: there is no such setting (there are {known})", self.prefix));
        }
    }
}

/// A whole number of the range.
pub(super) fn whole(value: &Value, from: u64, to: u64) -> Option<u64> {
    value.as_u64().filter(|number| (from..=to).contains(number))
}

/// A text that is fit to be shown on one line, with `min` to `max` characters.
pub(super) fn line(value: &Value, min: usize, max: usize) -> Option<String> {
    let text = value.as_str()?;
    let fits = (min..=max).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

/// A value in a message: one line, not for ever.
fn shown(value: &Value) -> String {
    const SHOWN: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
