//! Token lines, the words on stderr, and what keeps both safe to print.

use serde_json::Value;

/// A line for people, on stderr: stdout is for what was asked.
#[expect(clippy::print_stderr, reason = "the one place that writes to stderr besides the log")]
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

/// `T-1: coding, active`; `(visit 2)` after the state from the second visit.
pub(crate) fn token_line(id: &str, state: &str, visit: u64, status: &str) -> String {
    let again = if visit > 1 { format!(" (visit {visit})") } else { String::new() };
    format!("{}: {}{again}, {}", escape(id), escape(named_state(state)), escape(status))
}

/// A state as a person reads it: Stateous's own as START and END.
pub(crate) fn named_state(state: &str) -> &str {
    match state {
        "__start__" => "START",
        "__end__" => "END",
        other => other,
    }
}

/// Text of others on its way to a terminal: control characters are spelled out, so that no note can forge a history
/// line or send the terminal a command.
pub(crate) fn escape(text: &str) -> String {
    if !text.chars().any(hidden) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Control characters, and the marks that reorder or hide what stands beside them.
pub(super) fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A field of an entry's data as Python's `str` writes it; `?` when it is missing.
pub(super) fn field(data: &serde_json::Map<String, Value>, key: &str) -> String {
    match data.get(key) {
        None => "?".to_owned(),
        Some(Value::String(text)) => escape(text),
        Some(Value::Null) => "None".to_owned(),
        Some(Value::Bool(true)) => "True".to_owned(),
        Some(Value::Bool(false)) => "False".to_owned(),
        Some(other) => escape(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_lines_are_the_originals() {
        assert_eq!(token_line("ORDER-1", "draft", 1, "active"), "ORDER-1: draft, active");
        assert_eq!(token_line("ORDER-1", "draft", 2, "active"), "ORDER-1: draft (visit 2), active");
        assert_eq!(token_line("ORDER-1", "__start__", 0, "failed"), "ORDER-1: START, failed");
    }

    #[test]
    fn nothing_reaches_the_terminal_raw() {
        assert_eq!(escape("a\n12:00:00  #9  completed\u{1b}[2J"), "a\\n12:00:00  #9  completed\\u{1b}[2J");
        assert_eq!(escape("Zürich 🚀"), "Zürich 🚀");
        assert_eq!(escape("a\u{202e}b"), "a\\u{202e}b");
    }
}
