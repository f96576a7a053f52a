//! The strict reader. Our own, because `serde_json` with `arbitrary_precision` takes the object
//! `{"$serde_json::private::Number": "1"}` for a number, and cannot tell one refusal from another.

use serde_json::Number;
use thiserror::Error;

use super::{Json, Object};
use crate::limits;

/// What we store wraps what we took: a ledger entry around a payload, a join around its branches.
const STORED_DEPTH: usize = 2 * limits::DEPTH;

/// Why a text is not JSON that we take.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JsonError {
    /// It is not JSON: `NaN` and `Infinity` neither.
    #[error("not valid JSON: {problem} at line {line}, column {column}")]
    Syntax {
        /// What was seen or missing.
        problem: &'static str,
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
    },
    /// Objects and lists nest too deep. Found before anything recurses that deep.
    #[error("it is nested more than {limit} levels deep")]
    TooDeep {
        /// The deepest that is taken; the outermost object or list counts as one.
        limit: usize,
    },
    /// A number has too many digits.
    #[error("it has a number of more than {limit} digits")]
    NumberTooLong {
        /// The most digits that are taken.
        limit: usize,
    },
    /// `\ud800` without its other half: no text, so it could never be sent again.
    #[error("it has a lone surrogate (an escape like \\ud800 without its other half), which is not text")]
    LoneSurrogate,
    /// A number such as `1e999`, which reads as infinity.
    #[error("it has the number {number}, which is too large; the largest is about 1.8e308")]
    Infinite {
        /// The number as written, cut after 40 characters.
        number: String,
    },
}

/// `text` as one JSON value, at most [`limits::DEPTH`] levels deep. A byte order mark at its start is passed over. Of
/// two equal keys the last wins.
///
/// # Errors
/// The first thing found that we do not take.
pub fn parse(text: impl AsRef<[u8]>) -> Result<Json, JsonError> {
    parse_nested(text, limits::DEPTH)
}

/// As [`parse`], with another limit of nesting. Each level takes a frame of the stack.
///
/// # Errors
/// The first thing found that we do not take.
pub fn parse_nested(text: impl AsRef<[u8]>, depth: usize) -> Result<Json, JsonError> {
    let bytes = text.as_ref();
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        syntax("bytes that are not UTF-8", &valid)
    })?;
    let mut reader = Reader { text, at: 0, left: depth, limit: depth };
    reader.blanks();
    let value = reader.value()?;
    reader.blanks();
    if reader.at < text.len() { Err(reader.fail("more text after the value")) } else { Ok(value) }
}

/// The object in a text that we wrote ourselves, such as a stored context. Use this and not `serde_json::from_str`, which
/// fails on data such as `{"$serde_json::private::Number": "x"}`.
///
/// # Errors
/// When the text is not an object, so is not one of ours.
pub fn parse_stored(text: &str) -> Result<Object, JsonError> {
    match parse_nested(text, STORED_DEPTH)? {
        Json::Object(object) => Ok(object),
        _ => Err(syntax("an object was expected", "")),
    }
}

/// The error for a problem right after `before`.
fn syntax(problem: &'static str, before: &str) -> JsonError {
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    JsonError::Syntax {
        problem,
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// How many more levels may open.
    left: usize,
    limit: usize,
}

impl Reader<'_> {
    fn fail(&self, problem: &'static str) -> JsonError {
        syntax(problem, &self.text[..self.at])
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Json, JsonError> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::list),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(_) => Err(self.fail("a value was expected")),
            None => Err(self.fail("the text ends where a value was expected")),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, JsonError> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.fail("a value was expected"))
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Json, JsonError>) -> Result<Json, JsonError> {
        self.left = self.left.checked_sub(1).ok_or(JsonError::TooDeep { limit: self.limit })?;
        self.at += 1;
        self.blanks();
        let value = read(self)?;
        self.left += 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Json, JsonError> {
        let mut object = Object::new();
        if self.eat(b'}') {
            return Ok(Json::Object(object));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.fail("a key in double quotes was expected"));
            }
            let key = self.string()?;
            self.blanks();
            if !self.eat(b':') {
                return Err(self.fail("':' was expected"));
            }
            self.blanks();
            let value = self.value()?;
            object.insert(key, value);
            self.blanks();
            if self.eat(b'}') {
                return Ok(Json::Object(object));
            }
            if !self.eat(b',') {
                return Err(self.fail("',' or '}' was expected"));
            }
            self.blanks();
        }
    }

    fn list(&mut self) -> Result<Json, JsonError> {
        let mut list = Vec::new();
        if self.eat(b']') {
            return Ok(Json::Array(list));
        }
        loop {
            list.push(self.value()?);
            self.blanks();
            if self.eat(b']') {
                return Ok(Json::Array(list));
            }
            if !self.eat(b',') {
                return Err(self.fail("',' or ']' was expected"));
            }
            self.blanks();
        }
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        self.eat(b'-');
        let mut digits = 0;
        if self.eat(b'0') {
            digits += 1;
        } else {
            digits += self.digits()?;
        }
        let mut whole = true;
        if self.eat(b'.') {
            whole = false;
            digits += self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            whole = false;
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            digits += self.digits()?;
        }
        if digits > limits::DIGITS {
            return Err(JsonError::NumberTooLong { limit: limits::DIGITS });
        }
        let text = &self.text[start..self.at];
        if !whole && text.parse::<f64>().is_ok_and(f64::is_infinite) {
            return Err(JsonError::Infinite { number: text.chars().take(40).collect() });
        }
        // Every form that the lines above let through is a number to serde_json, which keeps its digits.
        text.parse::<Number>().map(Json::Number).map_err(|_| self.fail("a number was expected"))
    }

    fn digits(&mut self) -> Result<usize, JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.fail("a digit was expected")) } else { Ok(self.at - start) }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c: char| matches!(c, '"' | '\\' | '\0'..='\x1f')).unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(_) => return Err(self.fail("a control character, which must be escaped,")),
                None => return Err(self.fail("the text ends inside a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let plain = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.fail("an unknown escape")),
        };
        self.at += 1;
        Ok(plain)
    }

    /// The character of `XXXX`, or of `XXXX\uXXXX` when it takes two halves.
    fn unicode(&mut self) -> Result<char, JsonError> {
        let high = self.hex4()?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high).ok_or(JsonError::LoneSurrogate);
        }
        if !self.text[self.at..].starts_with("\\u") {
            return Err(JsonError::LoneSurrogate);
        }
        self.at += 2;
        let low = self.hex4()?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(JsonError::LoneSurrogate);
        }
        char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)).ok_or(JsonError::LoneSurrogate)
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
            let digit = digit.ok_or_else(|| self.fail("four hexadecimal digits were expected after \\u"))?;
            value = value * 16 + digit;
            self.at += 1;
        }
        Ok(value)
    }
}
