//! Words into a tree, by the precedence of Python's expressions. The tree still says things that the guard language does
//! not: `check` refuses those by name.

use std::ops::Range;

use super::lex::{Spanned, Token, tokens};
use super::value::Number;
use super::{Comparison, GuardError};

/// The deepest nesting of brackets and `not`. Python's own parser stops at 200 brackets.
const DEPTH: usize = 200;

/// Python's words, none of which can be a name.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

const ARITHMETIC: [&str; 13] = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"];

/// A node and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) at: Range<usize>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Name(String),
    Number(Number),
    String(String),
    List(Vec<Node>),
    Attribute(Box<Node>, String),
    Subscript(Box<Node>, Box<Node>),
    Call(Box<Node>, Vec<Node>),
    Compare(Box<Node>, Vec<(Comparison, Node)>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
}

/// The tree of `text`.
pub(super) fn parse(text: &str) -> Result<Node, GuardError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0 };
    let node = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(node),
        _ => parser.unexpected("the end of the guard"),
    }
}

struct Parser {
    tokens: Vec<Spanned>,
    next: usize,
    depth: usize,
}

type Parsed = Result<Node, GuardError>;

impl Parser {
    fn here(&self) -> &Spanned {
        // The last token is End, and nothing goes past it.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> &Token {
        &self.here().0
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Token::Name(n) if n == name)
    }

    fn eat_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        self.next += usize::from(found);
        found
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(s) if *s == sign);
        self.next += usize::from(found);
        found
    }

    fn start(&self) -> usize {
        self.here().1.start
    }

    fn end(&self) -> usize {
        self.tokens[self.next.saturating_sub(1)].1.end
    }

    fn node(&self, start: usize, kind: Kind) -> Node {
        Node { kind, at: start..self.end() }
    }

    fn fail<T>(&self, problem: impl Into<String>) -> Result<T, GuardError> {
        Err(GuardError { problem: problem.into(), at: self.here().1.clone() })
    }

    /// The refusal of the word that stands here, where `wanted` was expected.
    fn unexpected<T>(&self, wanted: &str) -> Result<T, GuardError> {
        match self.peek() {
            Token::End => self.fail(format!("the guard ends where {wanted} was expected")),
            Token::Name(n) if n == "lambda" => self.fail("lambdas are not part of the guard language"),
            Token::Name(n) if n == "True" || n == "False" => {
                self.fail(format!("write {} instead of {n}", n.to_ascii_lowercase()))
            }
            Token::Name(n) if n == "None" => self.fail("write null instead of None"),
            Token::Name(n) if n == "is" => self.fail("compare with == or != instead of is"),
            Token::Name(n) => self.fail(format!("unexpected {n:?} where {wanted} was expected")),
            Token::Sign(s) if ARITHMETIC.contains(s) => {
                self.fail(format!("{s:?}: arithmetic is not part of the guard language"))
            }
            Token::Sign(s) => self.fail(format!("unexpected {s:?} where {wanted} was expected")),
            Token::Number(_) | Token::String(_) => {
                self.fail(format!("unexpected literal where {wanted} was expected"))
            }
        }
    }

    /// Runs `read` one level deeper.
    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        if self.depth == DEPTH {
            return self.fail(format!("the guard is nested more than {DEPTH} levels deep"));
        }
        self.depth += 1;
        let node = read(self);
        self.depth -= 1;
        node
    }

    fn expression(&mut self) -> Parsed {
        self.joined("or", Kind::Or, |p| p.joined("and", Kind::And, Self::negation))
    }

    fn joined(
        &mut self,
        word: &str,
        kind: fn(Vec<Node>) -> Kind,
        read: impl Fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let start = self.start();
        let first = read(self)?;
        if !self.is_name(word) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.eat_name(word) {
            parts.push(read(self)?);
        }
        Ok(self.node(start, kind(parts)))
    }

    fn negation(&mut self) -> Parsed {
        let start = self.start();
        if !self.eat_name("not") {
            return self.comparison();
        }
        let operand = self.deeper(Self::negation)?;
        Ok(self.node(start, Kind::Not(Box::new(operand))))
    }

    fn comparison(&mut self) -> Parsed {
        let start = self.start();
        let first = self.operand()?;
        let mut rest = Vec::new();
        while let Some(how) = self.operator()? {
            rest.push((how, self.operand()?));
        }
        if rest.is_empty() { Ok(first) } else { Ok(self.node(start, Kind::Compare(Box::new(first), rest))) }
    }

    fn operator(&mut self) -> Result<Option<Comparison>, GuardError> {
        let how = match self.peek() {
            Token::Sign("<") => Comparison::Less,
            Token::Sign("<=") => Comparison::LessEqual,
            Token::Sign(">") => Comparison::Greater,
            Token::Sign(">=") => Comparison::GreaterEqual,
            Token::Sign("==") => Comparison::Equal,
            Token::Sign("!=") => Comparison::NotEqual,
            Token::Name(n) if n == "in" => Comparison::In,
            Token::Name(n) if n == "not" => {
                self.next += 1;
                if !self.is_name("in") {
                    return self.unexpected("'in' after 'not'");
                }
                Comparison::NotIn
            }
            _ => return Ok(None),
        };
        self.next += 1;
        Ok(Some(how))
    }

    /// A literal or accessor, with its minus.
    fn operand(&mut self) -> Parsed {
        let start = self.start();
        if !self.eat("-") {
            return self.primary();
        }
        let operand = self.primary()?;
        match operand.kind {
            Kind::Number(number) => Ok(self.node(start, Kind::Number(number.negated()))),
            _ => Err(GuardError {
                problem: "arithmetic is not part of the guard language; only a number may have a minus"
                    .to_owned(),
                at: start..operand.at.end,
            }),
        }
    }

    fn primary(&mut self) -> Parsed {
        let start = self.start();
        let mut node = self.atom()?;
        loop {
            let kind = if self.eat(".") {
                let Token::Name(name) = self.peek() else { return self.unexpected("a field name") };
                if KEYWORDS.contains(&name.as_str()) {
                    return self
                        .fail(format!("{name:?} is a word of the language and cannot be a field name"));
                }
                let name = name.clone();
                self.next += 1;
                Kind::Attribute(Box::new(node), name)
            } else if self.eat("[") {
                let key = self.deeper(Self::expression)?;
                self.close("]")?;
                Kind::Subscript(Box::new(node), Box::new(key))
            } else if self.eat("(") {
                Kind::Call(Box::new(node), self.items(")")?)
            } else {
                return Ok(node);
            };
            node = self.node(start, kind);
        }
    }

    fn close(&mut self, bracket: &str) -> Result<(), GuardError> {
        if self.eat(bracket) { Ok(()) } else { self.unexpected(&format!("{bracket:?}")) }
    }

    /// Expressions between commas, up to and with the closing bracket.
    fn items(&mut self, bracket: &str) -> Result<Vec<Node>, GuardError> {
        let mut items = Vec::new();
        while !self.eat(bracket) {
            items.push(self.deeper(Self::expression)?);
            if !self.eat(",") {
                self.close(bracket)?;
                break;
            }
        }
        Ok(items)
    }

    fn atom(&mut self) -> Parsed {
        let start = self.start();
        let kind = match self.peek() {
            Token::Name(name) if !KEYWORDS.contains(&name.as_str()) => Kind::Name(name.clone()),
            Token::Number(number) => Kind::Number(number.clone()),
            Token::String(_) => {
                let mut whole = String::new();
                while let Token::String(part) = self.peek() {
                    whole.push_str(part);
                    self.next += 1;
                }
                return Ok(self.node(start, Kind::String(whole)));
            }
            Token::Sign("[") => {
                self.next += 1;
                let items = self.items("]")?;
                return Ok(self.node(start, Kind::List(items)));
            }
            Token::Sign("(") => {
                self.next += 1;
                let inner = self.deeper(Self::expression)?;
                if matches!(self.peek(), Token::Sign(",")) {
                    return self.fail("a list is written in square brackets: [1, 2]");
                }
                self.close(")")?;
                return Ok(self.node(start, inner.kind));
            }
            _ => return self.unexpected("a value"),
        };
        self.next += 1;
        Ok(self.node(start, kind))
    }
}
