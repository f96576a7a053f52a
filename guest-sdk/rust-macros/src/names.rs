//! How an event gets its name, and which names there are.

use proc_macro2::Span;
use syn::{Attribute, Ident, LitStr};

/// Fired by the engine itself: a routine can neither declare nor emit them.
const RESERVED: [&str; 3] = ["timeout", "error", "joined"];
const LENGTH_MAX: usize = 64;

/// The name that `#[event("…")]` gives, or else the identifier's in snake case; checked either way.
pub(crate) fn event_name(ident: &Ident, attributes: &[Attribute]) -> syn::Result<String> {
    let mut given: Option<LitStr> = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("event")) {
        let name: LitStr = attribute.parse_args().map_err(|_| {
            syn::Error::new_spanned(attribute, "expected the event's name: #[event(\"needs_work\")]")
        })?;
        if given.replace(name).is_some() {
            return Err(syn::Error::new_spanned(attribute, "an event has one name; remove this one"));
        }
    }
    let (name, span) = match given {
        Some(literal) => (literal.value(), literal.span()),
        None => (snake_case(&ident.to_string()), ident.span()),
    };
    check(&name, span)?;
    Ok(name)
}

fn check(name: &str, span: Span) -> syn::Result<()> {
    let form_is_right = name.len() <= LENGTH_MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
    if !form_is_right {
        let text = format!(
            "`{name}` cannot be an event's name: a name starts with a letter and has at most {LENGTH_MAX} of the \
             characters a-z 0-9 _ -; give one with #[event(\"…\")]"
        );
        return Err(syn::Error::new(span, text));
    }
    if RESERVED.contains(&name) {
        let text = format!(
            "the engine itself fires `{name}`, so a routine cannot emit it; take another name, or give one with \
             #[event(\"…\")]"
        );
        return Err(syn::Error::new(span, text));
    }
    Ok(())
}

/// `NeedsWork` is `needs_work` and `HTTPDown` is `http_down`.
fn snake_case(ident: &str) -> String {
    let characters: Vec<char> = ident.trim_start_matches("r#").chars().collect();
    let mut name = String::new();
    for (at, &character) in characters.iter().enumerate() {
        let follows_lower = at > 0 && !characters[at - 1].is_uppercase() && characters[at - 1] != '_';
        let ends_capitals = at > 0
            && characters[at - 1].is_uppercase()
            && characters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if character.is_uppercase() && (follows_lower || ends_capitals) {
            name.push('_');
        }
        name.extend(character.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_become_snake_case() {
        for (ident, name) in [
            ("Submitted", "submitted"),
            ("NeedsWork", "needs_work"),
            ("HTTPDown", "http_down"),
            ("Over9000Items", "over9000_items"),
            ("Already_Split", "already_split"),
            ("r#Done", "done"),
        ] {
            assert_eq!(snake_case(ident), name);
        }
    }

    #[test]
    fn names_are_checked() {
        let refused = |name: &str| check(name, Span::call_site()).map_err(|error| error.to_string());
        assert_eq!(refused("needs-work_2"), Ok(()));
        assert_eq!(refused(&"a".repeat(64)), Ok(()));
        for name in ["", "9lives", "_a", "Done", "a b", "größer", &"a".repeat(65)] {
            assert!(refused(name).unwrap_err().contains("cannot be an event's name"), "{name}");
        }
        assert!(refused("timeout").unwrap_err().contains("the engine itself fires `timeout`"));
    }
}
