//! What a name or an id may look like. Each check answers with the whole rule, so that a caller sees what to change.

use crate::limits;

/// A workflow, state or event name: `[a-z][a-z0-9_-]{0,63}`.
///
/// # Errors
/// A sentence that says what a name is.
pub fn check_name(kind: &str, name: &str) -> Result<(), String> {
    let bytes = name.as_bytes();
    let rest = |b: &u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    let good = bytes.first().is_some_and(u8::is_ascii_lowercase) && bytes.iter().all(rest);
    if good && bytes.len() <= limits::NAME {
        return Ok(());
    }
    Err(format!(
        "{name:?} is not a {kind} name: a name starts with a-z, then a-z, 0-9, '_' and '-', at most {} characters",
        limits::NAME
    ))
}

/// Whether `id` can be a token's: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`.
#[must_use]
pub fn is_token_id(id: &str) -> bool {
    let rest = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    id.len() <= limits::TOKEN_ID
        && id.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && id.bytes().all(rest)
}

/// A token id.
///
/// # Errors
/// A sentence that says what a token id is.
pub fn check_token_id(id: &str) -> Result<(), String> {
    if is_token_id(id) {
        return Ok(());
    }
    Err(format!(
        "{id:?} is not a token id: an id starts with a letter or digit, then letters, digits, '.', '_' and '-', at most {} \
         characters",
        limits::TOKEN_ID
    ))
}

/// The form of an id under which it is unique: ASCII letters lower.
#[must_use]
pub fn folded(id: &str) -> String {
    id.to_ascii_lowercase()
}

/// Whether `id` can be a claim's request id: `[A-Za-z0-9._-]{1,64}`.
#[must_use]
pub fn is_request_id(id: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=limits::REQUEST).contains(&id.len()) && id.bytes().all(allowed)
}

/// Whether `text` holds a NUL: kept inside values, refused in names and keys, which the databases cannot all store.
#[must_use]
pub fn has_nul(text: &str) -> bool {
    text.contains('\0')
}

/// The id of the child token that `parent` runs `workflow` in, on this visit of this parallel state. It can be too long
/// to be one: check it.
#[must_use]
pub fn child_id(parent: &str, state: &str, visit: u64, workflow: &str) -> String {
    format!("{parent}.{state}.{visit}.{workflow}")
}

/// The id of the child that `parent` runs for the item at `index` when this state fans out.
#[must_use]
pub fn item_child_id(parent: &str, state: &str, visit: u64, workflow: &str, index: u64) -> String {
    format!("{}.{index}", child_id(parent, state, visit, workflow))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_short() {
        let check = |name: &str, good: bool| assert_eq!(check_name("state", name).is_ok(), good, "{name:?}");
        for good in ["a", "a-b_9", &"a".repeat(64)] {
            check(good, true);
        }
        for bad in ["", "A", "1a", "-a", "a b", "a.b", "é", "a\n", "__start__", &"a".repeat(65)] {
            check(bad, false);
        }
    }

    #[test]
    fn token_ids_go_into_paths_and_file_names() {
        let check = |id: &str, good: bool| assert_eq!(check_token_id(id).is_ok(), good, "{id:?}");
        for good in ["ORDER-1", "a..b", "9", &child_id("t", "checks", 1, "lint"), &"a".repeat(128)] {
            check(good, true);
        }
        for bad in ["", "-a", ".a", "a b", "Zürich-1", "a\n", "a/b", "a\0", &"a".repeat(129)] {
            check(bad, false);
        }
        assert_eq!(folded("Order-É"), "order-É");
    }

    #[test]
    fn request_ids_may_start_with_anything_allowed() {
        assert!(is_request_id("-._a9") && is_request_id(&"a".repeat(64)));
        assert!(!is_request_id("") && !is_request_id("a b") && !is_request_id(&"a".repeat(65)));
    }
}
