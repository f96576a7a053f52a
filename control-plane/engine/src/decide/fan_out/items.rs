//! Which items a context or a payload has, and the stored form of them.

use std::sync::Arc;

use crate::graph::{Each, Key, Listing, Source};
use crate::json::{Json, Object, parse_stored};
use crate::limits;

/// How many items one stored chunk holds: what one batch starts.
pub(super) const CHUNK: u64 = limits::FAN_OUT_BATCH;

/// What a fan-out runs over.
pub(super) struct Listed {
    /// The items.
    pub(super) items: Vec<Json>,
    /// Why there are none; `None` when there are.
    pub(super) nothing: Option<&'static str>,
}

/// The items of a context, or of the payload of the event that enters the state. What is missing is an error; what is
/// empty is no work; what is too much is an error too, never a cut.
pub(super) fn listed(each: &Each, context: &Object, payload: Option<&Object>) -> Result<Listed, String> {
    let found = match &each.source {
        Source::Context(key) => context.get(key),
        Source::Payload(field) => payload.and_then(|payload| payload.get(field)),
    };
    let source = &each.source;
    let (items, nothing) = match (found, each.kind) {
        (None | Some(Json::Null), _) => {
            return Err(format!(
                "{source} is missing; an empty list or text would be no work, a missing one is an error"
            ));
        }
        (Some(Json::Array(items)), Listing::Items) => (items.clone(), "the list is empty"),
        (Some(Json::String(text)), Listing::Lines) => {
            let nothing = if text.is_empty() { "the text is empty" } else { "the text has only blank lines" };
            (lines(text, source)?, nothing)
        }
        (Some(_), Listing::Items) => return Err(format!("{source} is not a list")),
        (Some(_), Listing::Lines) => return Err(format!("{source} is not a text")),
    };
    if items.len() > limits::FAN_OUT_ITEMS {
        return Err(format!(
            "{source} has {} items; {} is the most of one fan-out: divide them",
            items.len(),
            limits::FAN_OUT_ITEMS
        ));
    }
    let nothing = items.is_empty().then_some(nothing);
    Ok(Listed { items, nothing })
}

/// The lines of a text that are not blank.
fn lines(text: &str, source: &Source) -> Result<Vec<Json>, String> {
    let mut items = Vec::new();
    for (line, number) in text.split('\n').zip(1u64..) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.len() > limits::LINE {
            return Err(format!(
                "line {number} of {source} has {} bytes; {} is the most of a line",
                line.len(),
                limits::LINE
            ));
        }
        if !line.trim().is_empty() {
            items.push(line.into());
        }
    }
    Ok(items)
}

/// The stored form of a chunk.
pub(super) fn written(items: &[Json]) -> Arc<str> {
    let mut chunk = Object::new();
    chunk.insert("items".to_owned(), Json::Array(items.to_vec()));
    Json::Object(chunk).to_string().into()
}

/// The items of a stored chunk.
pub(super) fn read(chunk: &str) -> Vec<Json> {
    let mut object = parse_stored(chunk).expect("a stored chunk of items is a JSON object");
    match object.remove("items") {
        Some(Json::Array(items)) => items,
        _ => unreachable!("a stored chunk holds a list of items"),
    }
}

/// What the item is called.
pub(super) fn key(each: &Each, item: &Json, index: u64) -> Json {
    match &each.key {
        None => index.into(),
        Some(Key::Item) => item.clone(),
        Some(Key::Field(field)) => item.get(field).cloned().unwrap_or(Json::Null),
    }
}
