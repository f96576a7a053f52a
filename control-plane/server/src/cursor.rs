//! Cursors: where a listing goes on. Opaque to callers, base64url; and the `Link` header that carries the next one.

use axum::http::HeaderValue;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use stateous_api::Code;
use stateous_engine::{Timestamp, limits, names};
use stateous_store::TokenPlace;

use crate::refused::Refused;
use crate::routes::Query;

/// The cursor right behind a token.
pub(crate) fn of_token(place: &TokenPlace) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{}.{}", place.entered_at.0, place.id))
}

/// The place that a query's `cursor` names. An empty one is the beginning.
pub(crate) fn token(query: &Query) -> Result<Option<TokenPlace>, Refused> {
    let Some(text) = given(query)? else { return Ok(None) };
    let (entered_at, id) = text.split_once('.').ok_or_else(unknown)?;
    let entered_at = Timestamp(entered_at.parse().map_err(|_| unknown())?);
    if !names::is_token_id(id) {
        return Err(unknown());
    }
    Ok(Some(TokenPlace { entered_at, id: id.to_owned() }))
}

/// The cursor right behind a task.
pub(crate) fn of_task(task: u64) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("task {task}"))
}

/// The task that a query's `cursor` names; 0 is the beginning.
pub(crate) fn task(query: &Query) -> Result<u64, Refused> {
    let Some(text) = given(query)? else { return Ok(0) };
    let number = text.strip_prefix("task ").and_then(|number| number.parse().ok());
    number.filter(|task| *task <= limits::TASK_ID).ok_or_else(unknown)
}

/// `</path?filters&cursor=…>; rel="next"`. Relative, so that nobody's `Host` header decides where it leads. `fields` are
/// those of the query that the next request needs too.
pub(crate) fn next(path: &str, query: &Query, fields: &[&str], cursor: &str) -> Option<HeaderValue> {
    let mut text = form_urlencoded::Serializer::new(String::new());
    for name in fields {
        if let Some(value) = query.get(name) {
            text.append_pair(name, value);
        }
    }
    text.append_pair("cursor", cursor);
    HeaderValue::try_from(format!("<{path}?{}>; rel=\"next\"", text.finish())).ok()
}

fn given(query: &Query) -> Result<Option<String>, Refused> {
    let Some(text) = query.get("cursor").filter(|text| !text.is_empty()) else { return Ok(None) };
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| unknown())?;
    String::from_utf8(bytes).map(Some).map_err(|_| unknown())
}

fn unknown() -> Refused {
    let message = "'cursor' is not one that this listing gave; leave it empty to begin at the first page";
    Refused::new(Code::InvalidArgument, message)
}
