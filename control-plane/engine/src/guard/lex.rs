//! A guard's text into words, by Python's rules: its numbers, strings, comments and line joining.

use std::ops::Range;

use super::GuardError;
use super::value::Number;

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Number(Number),
    String(String),
    /// An operator or bracket.
    Sign(&'static str),
    End,
}

/// A word and where it stands.
pub(super) type Spanned = (Token, Range<usize>);

/// Longer signs first, so that `<=` is not read as `<`.
const SIGNS: [&str; 40] = [
    "**=", "//=", "<<=", ">>=", "...", "<=", ">=", "==", "!=", "**", "//", "<<", ">>", ":=", "->", "+=",
    "-=", "*=", "/=", "<", ">", "(", ")", "[", "]", "{", "}", ".", ",", "-", "+", "*", "/", "%", "@", "&",
    "|", "^", "~", ":",
];

/// All words of `text`, an [`Token::End`] last.
pub(super) fn tokens(text: &str) -> Result<Vec<Spanned>, GuardError> {
    let end = text.trim_end().len();
    let mut lexer = Lexer { text: &text[..end], at: text.len() - text.trim_start().len(), open: 0 };
    let mut found = Vec::new();
    loop {
        lexer.blanks()?;
        let start = lexer.at;
        let token = lexer.token()?;
        let done = token == Token::End;
        found.push((token, start..lexer.at));
        if done {
            return Ok(found);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Brackets that are open: inside them a new line is a blank.
    open: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn fail<T>(&self, start: usize, problem: impl Into<String>) -> Result<T, GuardError> {
        let start = start.min(self.text.len());
        Err(GuardError { problem: problem.into(), at: start..self.at.clamp(start, self.text.len()) })
    }

    /// Takes characters while they match, and says which.
    fn take(&mut self, matches: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !matches(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn blanks(&mut self) -> Result<(), GuardError> {
        loop {
            let inside = self.open > 0;
            self.take(|c| matches!(c, ' ' | '\t' | '\x0c') || (inside && matches!(c, '\n' | '\r')));
            if self.rest().starts_with('#') {
                self.take(|c| c != '\n');
            } else if self.rest().starts_with("\\\n") {
                self.at += 2;
            } else if self.rest().starts_with(['\n', '\r']) {
                // What is left after trimming the end is not blank, unless it is a comment.
                let line = self.at;
                self.take(char::is_whitespace);
                if !self.rest().is_empty() && !self.rest().starts_with('#') {
                    return self.fail(line, "a guard is one line; put it in parentheses to break it");
                }
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, GuardError> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Token::End) };
        if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            return self.number();
        }
        if first.is_alphabetic() || first == '_' {
            let start = self.at;
            let name = self.take(|c| c.is_alphanumeric() || c == '_');
            return match (self.rest().chars().next(), name.to_ascii_lowercase().as_str()) {
                (Some('\'' | '"'), "r") => self.string(start, true),
                (Some('\'' | '"'), "u") => self.string(start, false),
                (Some('\'' | '"'), _) => {
                    self.fail(start, format!("{name:?} before a quote is not part of the guard language"))
                }
                _ => Ok(Token::Name(name.to_owned())),
            };
        }
        if matches!(first, '\'' | '"') {
            return self.string(self.at, false);
        }
        let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) else {
            let start = self.at;
            self.at += first.len_utf8();
            let hint = match first {
                '=' => "to compare, write ==",
                '!' => "to negate, write not",
                _ => "it is not part of the guard language",
            };
            return self.fail(start, format!("unexpected {first:?}: {hint}"));
        };
        match sign {
            "(" | "[" | "{" => self.open += 1,
            ")" | "]" | "}" => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.at += sign.len();
        Ok(Token::Sign(sign))
    }

    fn number(&mut self) -> Result<Token, GuardError> {
        let start = self.at;
        let lower = self.rest().get(..2).unwrap_or_default().to_ascii_lowercase();
        let radix = match lower.as_str() {
            "0x" => 16,
            "0o" => 8,
            "0b" => 2,
            _ => 10,
        };
        if radix == 10 {
            let digit = |c: char| c.is_ascii_digit() || c == '_';
            self.take(digit);
            if self.rest().starts_with('.') {
                self.at += 1;
                self.take(digit);
            }
            let exponent =
                self.rest().strip_prefix(['e', 'E']).map(|r| r.strip_prefix(['+', '-']).unwrap_or(r));
            if let Some(digits) = exponent.filter(|d| d.starts_with(|c: char| c.is_ascii_digit())) {
                self.at = self.text.len() - digits.len();
                self.take(digit);
            }
        } else {
            self.at += 2;
        }
        self.take(|c| c.is_alphanumeric() || c == '_');
        match Number::parse_python(&self.text[start..self.at], radix) {
            Some(number) => Ok(Token::Number(number)),
            None => self.fail(start, format!("{:?} is not a number", &self.text[start..self.at])),
        }
    }

    fn string(&mut self, start: usize, raw: bool) -> Result<Token, GuardError> {
        let rest = self.rest();
        let single = &rest[..1];
        let quote = if rest.starts_with(&single.repeat(3)) { &rest[..3] } else { single };
        self.at += quote.len();
        let mut out = String::new();
        loop {
            let rest = self.rest();
            if rest.starts_with(quote) {
                self.at += quote.len();
                return Ok(Token::String(out));
            }
            match rest.chars().next() {
                None => return self.fail(start, "the string has no end"),
                Some('\n' | '\r') if quote.len() == 1 => {
                    return self.fail(start, "the string has no end on its line");
                }
                Some('\\') if !raw => self.escape(&mut out)?,
                Some('\\') => {
                    // A raw string keeps the backslash and whatever it stands before, a quote included.
                    let pair: String = rest.chars().take(2).collect();
                    self.at += pair.len();
                    out.push_str(&pair);
                }
                Some(c) => {
                    self.at += c.len_utf8();
                    out.push(c);
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), GuardError> {
        let start = self.at;
        self.at += 1;
        let Some(letter) = self.rest().chars().next() else {
            return self.fail(start, "the string has no end");
        };
        self.at += letter.len_utf8();
        let plain = match letter {
            '\n' => return Ok(()),
            '\\' | '\'' | '"' => letter,
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '0'..='7' => return self.code(start, start + 1, 1..=3, 8, out),
            'x' => return self.code(start, self.at, 2..=2, 16, out),
            'u' => return self.code(start, self.at, 4..=4, 16, out),
            'U' => return self.code(start, self.at, 8..=8, 16, out),
            'N' => return self.fail(start, "write the character itself instead of \\N{…}"),
            other => {
                // Python keeps a backslash that escapes nothing.
                out.push('\\');
                other
            }
        };
        out.push(plain);
        Ok(())
    }

    /// The character whose number stands at `digits`.
    fn code(
        &mut self,
        start: usize,
        digits: usize,
        lengths: std::ops::RangeInclusive<usize>,
        radix: u32,
        out: &mut String,
    ) -> Result<(), GuardError> {
        self.at = digits;
        let rest = self.rest();
        let length = rest.chars().take(*lengths.end()).take_while(|c| c.is_digit(radix)).count();
        self.at += length;
        let value = u32::from_str_radix(&rest[..length], radix).ok();
        match value.filter(|_| length >= *lengths.start()).and_then(char::from_u32) {
            Some(c) => {
                out.push(c);
                Ok(())
            }
            None => self.fail(start, "the escape is not a character"),
        }
    }
}
