//! The two writers whose bytes matter, because checksums are made of them: they write what Python's `json.dumps` writes.

use std::fmt::Write;

use serde_json::Number;

use super::{Json, Object};

/// The text that checksums are made of: keys by code point, `,` and `:` without blanks, ASCII only, floats as Python
/// writes them.
#[must_use]
pub fn canonical(value: &Json) -> String {
    let mut writer = Writer { out: String::new(), indent: None };
    writer.value(value, 0);
    writer.out
}

/// The text of a graph file: an indent of two, keys in their own order, ASCII only, a newline at the end.
#[must_use]
pub fn pretty(value: &Json) -> String {
    let mut writer = Writer { out: String::new(), indent: Some(2) };
    writer.value(value, 0);
    writer.out.push('\n');
    writer.out
}

/// Whether `number` is written as an integer: Python reads it with every digit, others as a float.
#[must_use]
pub fn is_integer(number: &Number) -> bool {
    !number.as_str().contains(['.', 'e', 'E'])
}

/// A float as Python's `repr` writes it: `1.0`, `1e-05`, `1e+16`.
#[must_use]
pub fn float(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    // Rust and Python agree on the digits (the fewest that read back as the same value), not on where to put the point.
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    let plain = format!("{value}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

struct Writer {
    out: String,
    indent: Option<usize>,
}

impl Writer {
    fn value(&mut self, value: &Json, level: usize) {
        match value {
            Json::Null => self.out.push_str("null"),
            Json::Bool(true) => self.out.push_str("true"),
            Json::Bool(false) => self.out.push_str("false"),
            Json::Number(number) => self.number(number),
            Json::String(text) => self.string(text),
            Json::Array(list) if list.is_empty() => self.out.push_str("[]"),
            Json::Array(list) => {
                self.out.push('[');
                for (i, item) in list.iter().enumerate() {
                    self.separate(i, level + 1);
                    self.value(item, level + 1);
                }
                self.end(']', level);
            }
            Json::Object(object) if object.is_empty() => self.out.push_str("{}"),
            Json::Object(object) => self.object(object, level),
        }
    }

    fn object(&mut self, object: &Object, level: usize) {
        let mut fields: Vec<_> = object.iter().collect();
        if self.indent.is_none() {
            // UTF-8 sorts by bytes as Python's text does by code points.
            fields.sort_unstable_by_key(|(key, _)| *key);
        }
        self.out.push('{');
        for (i, (key, value)) in fields.into_iter().enumerate() {
            self.separate(i, level + 1);
            self.string(key);
            self.out.push_str(if self.indent.is_some() { ": " } else { ":" });
            self.value(value, level + 1);
        }
        self.end('}', level);
    }

    fn separate(&mut self, item: usize, level: usize) {
        if item > 0 {
            self.out.push(',');
        }
        self.line(level);
    }

    fn end(&mut self, bracket: char, level: usize) {
        self.line(level);
        self.out.push(bracket);
    }

    fn line(&mut self, level: usize) {
        if let Some(width) = self.indent {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', width * level));
        }
    }

    fn number(&mut self, number: &Number) {
        let text = number.as_str();
        match text.parse::<f64>() {
            // Python knows no integer -0.
            _ if is_integer(number) => self.out.push_str(if text == "-0" { "0" } else { text }),
            Ok(value) => self.out.push_str(&float(value)),
            Err(_) => self.out.push_str(text),
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                ' '..='~' => self.out.push(c),
                _ => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        // Writing to a String cannot fail.
                        let _ = write!(self.out, "\\u{unit:04x}");
                    }
                }
            }
        }
        self.out.push('"');
    }
}
