//! Events: what moves a token, by name and with a payload.

use serde::Serialize;

use crate::Error;

/// A type whose values are events: derive it.
///
/// ```
/// # use stateous_routine::prelude::*;
/// #[derive(Serialize)]
/// struct Tests {
///     passed: u32,
/// }
///
/// #[derive(Event)]
/// enum Out {
///     /// Event `stuck`, without a payload.
///     Stuck,
///     /// Event `reviewed`; the fields are the payload.
///     Reviewed { approved: bool, note: String },
///     /// Event `all-passed`; the payload is a `Tests`.
///     #[event("all-passed")]
///     Passed(Tests),
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "not an event",
    note = "add `#[derive(Event)]` to `{Self}`"
)]
pub trait Event {
    /// The event's name and its payload as JSON.
    ///
    /// # Errors
    /// The payload cannot be written as JSON, or is not a JSON object.
    fn into_raw(self) -> Result<RawEvent, Error>;
}

/// An event by its bare name. Routines derive [`Event`] instead; this is for names that are only known at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEvent {
    pub(crate) name: String,
    pub(crate) payload: Option<String>,
}

impl RawEvent {
    /// An event without a payload. The host checks the name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), payload: None }
    }

    /// An event with this payload.
    ///
    /// # Errors
    /// The payload cannot be written as JSON, or is not a JSON object.
    pub fn with_payload<P: Serialize + ?Sized>(name: impl Into<String>, payload: &P) -> Result<Self, Error> {
        let name = name.into();
        let json = serde_json::to_string(payload)
            .map_err(|source| Error::Encode { what: format!("the payload of event `{name}`"), source })?;
        match json.as_bytes().first() {
            Some(b'{') => Ok(Self { name, payload: Some(json) }),
            first => Err(Error::NotAnObject { event: name, seen: kind_of_json(first) }),
        }
    }

    /// The event's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The payload as JSON, if there is one.
    pub fn payload_json(&self) -> Option<&str> {
        self.payload.as_deref()
    }
}

impl Event for RawEvent {
    fn into_raw(self) -> Result<RawEvent, Error> {
        Ok(self)
    }
}

fn kind_of_json(first: Option<&u8>) -> &'static str {
    match first {
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_an_object() {
        let event = RawEvent::with_payload("done", &serde_json::json!({"n": 1})).unwrap();
        assert_eq!((event.name(), event.payload_json()), ("done", Some(r#"{"n":1}"#)));

        let error = RawEvent::with_payload("done", &[1, 2]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the payload of event `done` must be a JSON object, but it is a list; give the variant named fields"
        );
    }
}
