//! JSON from the command line, JSON on a history line, and JSON as a line of its own.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};
use stateous_engine::json::{JsonError, parse};

use super::lines::hidden;
use crate::failed::Coded;

/// The longest piece of JSON on a history line, in characters.
const SHORT: usize = 80;

/// A command-line argument as a JSON object; else one sentence that names the argument.
pub(crate) fn object_argument(text: &str, name: &str) -> anyhow::Result<Map<String, Value>> {
    let wrong = |message: String| Err(Coded::new("invalid_argument", message).into());
    match parse(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => wrong(format!("{name} must be a JSON object, such as '{{\"repo\": \"acme/api\"}}'")),
        Err(JsonError::Syntax { problem, column, .. }) => {
            wrong(format!("{name} is not valid JSON: {problem} at column {column}"))
        }
        Err(other) => wrong(format!("{name} cannot be sent: {other}")),
    }
}

/// JSON as the original's history shows it (Python's `json.dumps`: `", "`, `": "`, ASCII only), cut at 80 characters.
pub(crate) fn python_style(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    if out.len() <= SHORT {
        return out;
    }
    // The text is ASCII, so any byte is a character.
    out.truncate(SHORT - 3);
    out.push_str("...");
    out
}

/// JSON as one line. Contexts and payloads are passed on as they came, so digits and key order stay; characters that a
/// terminal would act on can only stand in strings, where their escapes mean the same.
pub(crate) fn json_line<T: Serialize + ?Sized>(value: &T) -> String {
    let text = serde_json::to_string(value).expect("what we print is made of text, numbers and JSON text");
    if !text.chars().any(hidden) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            // White space between the parts of somebody's JSON: in a string it would be escaped already.
            '\n' | '\r' | '\t' => out.push(' '),
            c if hidden(c) => escaped(c, &mut out),
            c => out.push(c),
        }
    }
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (key, item)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                string(key, out);
                out.push_str(": ");
                write(item, out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            c => escaped(c, out),
        }
    }
    out.push('"');
}

fn escaped(c: char, out: &mut String) {
    let mut units = [0; 2];
    for unit in c.encode_utf16(&mut units) {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_only() {
        assert!(object_argument("{\"a\": 1}", "CONTEXT_JSON").is_ok());
        let text = |input: &str| object_argument(input, "CONTEXT_JSON").unwrap_err().to_string();
        insta::assert_snapshot!(text("{a"), @"CONTEXT_JSON is not valid JSON: a key in double quotes was expected at column 2");
        insta::assert_snapshot!(text("[]"), @r#"CONTEXT_JSON must be a JSON object, such as '{"repo": "acme/api"}'"#);
    }

    #[test]
    fn a_line_of_json_is_one_line_and_cannot_reach_the_terminal() {
        let came = "{\"a\": 1.000,\n\t\"b\":\"\u{9b}2J\u{202e}\"}";
        let raw = serde_json::value::RawValue::from_string(came.to_owned()).unwrap();
        let line = json_line(&raw);
        assert_eq!(line, "{\"a\": 1.000,  \"b\":\"\\u009b2J\\u202e\"}");
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(&line), read(came));
    }

    #[test]
    fn payloads_look_as_python_prints_them() {
        let value = serde_json::json!({"approved": true, "note": "Zürich 🚀"});
        assert_eq!(python_style(&value), r#"{"approved": true, "note": "Z\u00fcrich \ud83d\ude80"}"#);
        let long = serde_json::json!({"text": "x".repeat(100)});
        let shown = python_style(&long);
        assert_eq!((shown.len(), &shown[77..]), (80, "..."));
    }
}
