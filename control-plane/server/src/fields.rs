//! The fields of a request: read strictly, each with the sentence and code that the original gives for it.
//!
//! Fields that nobody asks for are ignored.

use stateous_api::Code;
use stateous_engine::json::{Json, Object};
use stateous_engine::model::Incarnation;
use stateous_engine::{limits, names};

use crate::refused::Refused;

/// The fields of a JSON body.
#[derive(Debug, Default)]
pub(crate) struct Fields(Object);

impl Fields {
    pub(crate) const fn new(object: Object) -> Self {
        Self(object)
    }

    /// Whether a field is there and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    /// Takes a field out; absent and null are `None`.
    pub(crate) fn take(&mut self, name: &str) -> Option<Json> {
        self.0.get_mut(name).map(Json::take).filter(|value| !value.is_null())
    }

    /// Takes a field out; null is a value.
    pub(crate) fn take_even_null(&mut self, name: &str) -> Option<Json> {
        self.0.get_mut(name).map(Json::take)
    }

    /// A JSON object; absent and null are `None`.
    pub(crate) fn object(&mut self, name: &str, code: Code) -> Result<Option<Object>, Refused> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Object(object)) => Ok(Some(object)),
            Some(_) => Err(Refused::new(code, format!("'{name}' must be a JSON object, or null"))),
        }
    }

    /// A text of 1 to `limit` characters without NUL, which not every database can hold in a name.
    pub(crate) fn name(&mut self, name: &str, limit: usize, code: Code) -> Result<String, Refused> {
        match self.take(name) {
            Some(Json::String(text)) if is_name(&text, limit) => Ok(text),
            _ => Err(Refused::new(code, format!("'{name}' is a string of 1 to {limit} characters"))),
        }
    }

    /// The name of the supervisor that speaks.
    pub(crate) fn supervisor(&mut self) -> Result<String, Refused> {
        self.name("supervisor", limits::SUPERVISOR, Code::InvalidArgument)
    }

    /// The attempt that a request is for; `None` when it names none.
    pub(crate) fn attempt(&mut self) -> Result<Option<u64>, Refused> {
        let wrong = || Refused::new(Code::InvalidArgument, "'attempt' is a whole number of 1 or more");
        let Some(value) = self.take("attempt") else { return Ok(None) };
        whole(&value).filter(|n| (1..=limits::TASK_ID).contains(n)).map(Some).ok_or_else(wrong)
    }

    /// Which start of a supervisor speaks; `None` when it does not say so.
    pub(crate) fn incarnation(&mut self) -> Result<Option<Incarnation>, Refused> {
        let wrong = || {
            let message = "'incarnation' is an object with 'folder', 1 to 64 letters, digits, '.', '_' or '-', and 'start', a \
                           whole number of 1 or more";
            Refused::new(Code::InvalidArgument, message)
        };
        let Some(value) = self.take("incarnation") else { return Ok(None) };
        let Json::Object(object) = value else { return Err(wrong()) };
        let folder = object.get("folder").and_then(Json::as_str).filter(|id| names::is_request_id(id));
        let start = object.get("start").and_then(whole).filter(|n| (1..=limits::TASK_ID).contains(n));
        match (folder, start) {
            (Some(folder), Some(start)) => Ok(Some(Incarnation { folder: folder.to_owned(), start })),
            _ => Err(wrong()),
        }
    }

    /// A whole number of a range; absent and null are `None`.
    pub(crate) fn number(&mut self, name: &str, least: u64, most: u64) -> Result<Option<u64>, Refused> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let found = whole(&value).filter(|n| (least..=most).contains(n));
        found.map(Some).ok_or_else(|| {
            Refused::new(Code::InvalidArgument, format!("'{name}' is a whole number from {least} to {most}"))
        })
    }

    /// `true` or `false`; absent and null are `default`.
    pub(crate) fn flag(&mut self, name: &str, default: bool, code: Code) -> Result<bool, Refused> {
        match self.take(name) {
            None => Ok(default),
            Some(Json::Bool(flag)) => Ok(flag),
            Some(_) => Err(Refused::new(code, format!("'{name}' is true or false"))),
        }
    }

    /// A list; absent and null are not one.
    pub(crate) fn list(&mut self, name: &str, wrong: impl FnOnce() -> Refused) -> Result<Vec<Json>, Refused> {
        match self.take(name) {
            Some(Json::Array(items)) => Ok(items),
            _ => Err(wrong()),
        }
    }
}

/// Whether `text` can be a name of at most `limit` characters.
pub(crate) fn is_name(text: &str, limit: usize) -> bool {
    !text.is_empty() && text.chars().nth(limit).is_none() && !names::has_nul(text)
}

/// A whole number, written without point and exponent, as the original's reader wants it. One beyond all task ids and
/// attempts is told as the largest number.
pub(crate) fn whole(value: &Json) -> Option<u64> {
    let text = value.as_number()?.as_str();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_neither_point_nor_sign() {
        let check = |text: &str, number: Option<u64>| {
            assert_eq!(whole(&serde_json::from_str(text).unwrap()), number, "{text}");
        };
        check("0", Some(0));
        check("7", Some(7));
        check("99999999999999999999999999", Some(u64::MAX));
        for text in ["1.0", "1e3", "-1", "true", "\"1\"", "null", "[1]"] {
            check(text, None);
        }
    }

    #[test]
    fn names_are_counted_in_characters() {
        assert!(is_name("ü", 1));
        assert!(is_name(&"ü".repeat(128), 128));
        assert!(!is_name(&"ü".repeat(129), 128));
        assert!(!is_name("", 128));
        assert!(!is_name("a\0b", 128));
    }
}
