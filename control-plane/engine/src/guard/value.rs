//! Values as guards compare them: Python's rules, without Python's errors.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::Comparison;
use crate::json::{self, Json, Object};
use crate::limits;

/// A number: an integer of any size, or a float.
#[derive(Debug, Clone)]
pub enum Number {
    /// Written without a point and an exponent.
    Integer(BigInt),
    /// Never NaN; an infinity only from a guard's own text, such as `1e999`.
    Float(f64),
}

impl Number {
    /// A number of a JSON text.
    pub(super) fn from_json(number: &serde_json::Number) -> Self {
        let text = number.as_str();
        match BigInt::parse_bytes(text.as_bytes(), 10) {
            Some(integer) if json::is_integer(number) => Self::Integer(integer),
            _ => Self::Float(text.parse().unwrap_or(0.0)),
        }
    }

    /// A literal of Python, without a sign.
    pub(super) fn parse_python(text: &str, radix: u32) -> Option<Self> {
        let body = if radix == 10 { text } else { &text[2..] };
        // One underscore may stand between two digits, and after `0x`.
        let bytes = body.as_bytes();
        let digit = |i: usize| bytes.get(i).is_some_and(|b| char::from(*b).is_digit(radix));
        for (i, _) in body.match_indices('_') {
            let before = if i == 0 { radix != 10 } else { digit(i - 1) };
            if !before || !digit(i + 1) {
                return None;
            }
        }
        let plain = body.replace('_', "");
        if plain.is_empty() || plain.len() > limits::DIGITS {
            return None;
        }
        if plain.chars().all(|c| c.is_digit(radix)) {
            // Python forbids 01 but not 00: zeros at the front once meant octal.
            let octal = radix == 10 && plain.starts_with('0') && plain.contains(|c| c != '0');
            return BigInt::parse_bytes(plain.as_bytes(), radix).filter(|_| !octal).map(Self::Integer);
        }
        let decimal =
            radix == 10 && plain.chars().all(|c| matches!(c, '0'..='9' | '.' | 'e' | 'E' | '+' | '-'));
        plain.parse().ok().filter(|_| decimal).map(Self::Float)
    }

    pub(super) fn negated(&self) -> Self {
        match self {
            Self::Integer(n) => Self::Integer(-n),
            Self::Float(f) => Self::Float(-f),
        }
    }

    fn is_zero(&self) -> bool {
        match self {
            Self::Integer(n) => n.sign() == num_bigint::Sign::NoSign,
            Self::Float(f) => *f == 0.0,
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    /// Exact, also between an integer and a float.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Integer(a), Self::Float(b)) => Some(compare_mixed(a, *b)),
            (Self::Float(a), Self::Integer(b)) => Some(compare_mixed(b, *a).reverse()),
        }
    }
}

fn compare_mixed(integer: &BigInt, float: f64) -> Ordering {
    use num_traits::FromPrimitive;
    match BigInt::from_f64(float.trunc()) {
        // Equal whole parts: what is behind the point decides.
        Some(whole) => {
            integer.cmp(&whole).then_with(|| 0.0.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
        }
        None if float > 0.0 => Ordering::Less,
        None => Ordering::Greater,
    }
}

/// A value that a guard reads or says.
#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Number(Number),
    String(&'a str),
    /// A list of the data.
    List(&'a [Json]),
    /// A list of the guard's text.
    Literals(Vec<Value<'a>>),
    Object(&'a Object),
}

impl<'a> Value<'a> {
    pub(super) fn of(json: Option<&'a Json>) -> Self {
        match json {
            None | Some(Json::Null) => Self::Null,
            Some(Json::Bool(b)) => Self::Bool(*b),
            Some(Json::Number(n)) => Self::Number(Number::from_json(n)),
            Some(Json::String(s)) => Self::String(s),
            Some(Json::Array(list)) => Self::List(list),
            Some(Json::Object(object)) => Self::Object(object),
        }
    }

    pub(super) fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(b) => *b,
            Self::Number(n) => !n.is_zero(),
            Self::String(s) => !s.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Literals(list) => !list.is_empty(),
            Self::Object(object) => !object.is_empty(),
        }
    }

    /// `self <how> other`; false when the comparison makes no sense.
    pub(super) fn compare(&self, how: Comparison, other: &Self) -> bool {
        let order = || self.order(other);
        match how {
            Comparison::Equal => self.equals(other),
            Comparison::NotEqual => !self.equals(other),
            Comparison::Less => order() == Some(Ordering::Less),
            Comparison::LessEqual => order().is_some_and(Ordering::is_le),
            Comparison::Greater => order() == Some(Ordering::Greater),
            Comparison::GreaterEqual => order().is_some_and(Ordering::is_ge),
            Comparison::In => other.holds(self) == Some(true),
            Comparison::NotIn => other.holds(self) == Some(false),
        }
    }

    /// The number that this is to arithmetic: true is 1.
    fn number(&self) -> Option<Number> {
        match self {
            Self::Bool(b) => Some(Number::Integer(BigInt::from(u8::from(*b)))),
            Self::Number(n) => Some(n.clone()),
            _ => None,
        }
    }

    fn items(&self) -> Option<Box<dyn ExactSizeIterator<Item = Value<'a>> + '_>> {
        match self {
            Self::List(list) => Some(Box::new(list.iter().map(|item| Value::of(Some(item))))),
            Self::Literals(list) => Some(Box::new(list.iter().cloned())),
            _ => None,
        }
    }

    fn equals(&self, other: &Self) -> bool {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return a == b;
        }
        if let (Some(a), Some(b)) = (self.items(), other.items()) {
            return a.len() == b.len() && a.zip(b).all(|(a, b)| a.equals(&b));
        }
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => {
                let same = |(k, v): (&String, &'a Json)| {
                    b.get(k).is_some_and(|w| Value::of(Some(v)).equals(&Value::of(Some(w))))
                };
                a.len() == b.len() && a.iter().all(same)
            }
            _ => false,
        }
    }

    /// The order of two numbers, two strings or two lists; `None` where Python knows none.
    fn order(&self, other: &Self) -> Option<Ordering> {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return a.partial_cmp(&b);
        }
        if let (Some(a), Some(b)) = (self.items(), other.items()) {
            let lengths = a.len().cmp(&b.len());
            return match a.zip(b).find(|(a, b)| !a.equals(b)) {
                Some((a, b)) => a.order(&b),
                None => Some(lengths),
            };
        }
        match (self, other) {
            (Self::String(a), Self::String(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// Whether `item` is in this list, this text or among the keys of this object; `None` where nothing can be in it.
    fn holds(&self, item: &Self) -> Option<bool> {
        if let Some(mut items) = self.items() {
            return Some(items.any(|found| found.equals(item)));
        }
        match (self, item) {
            (Self::String(text), Self::String(part)) => Some(text.contains(part)),
            (Self::Object(_), Self::List(_) | Self::Literals(_) | Self::Object(_)) => None,
            (Self::Object(object), Self::String(key)) => Some(object.contains_key(*key)),
            (Self::Object(_), _) => Some(false),
            _ => None,
        }
    }
}
