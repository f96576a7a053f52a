//! Notes on a component itself: custom sections with a line of text, which change nothing about what it does.

use wasm_encoder::{ComponentSection, CustomSection};
use wasmparser::{Parser, Payload};

/// The component with one more custom section at its end.
pub fn mark(mut component: Vec<u8>, section: &str, text: &str) -> Vec<u8> {
    CustomSection { name: section.into(), data: text.as_bytes().into() }.append_to_component(&mut component);
    component
}

/// What the last custom section of this name at the outside of a component says; `None` when there is none, or it is
/// no text.
pub fn marked(component: &[u8], section: &str) -> Option<String> {
    let mut depth = 0usize;
    let mut found = None;
    for payload in Parser::new(0).parse_all(component) {
        match payload.ok()? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(custom) if depth == 0 && custom.name() == section => {
                found = std::str::from_utf8(custom.data()).ok().map(str::to_owned);
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_and_the_last_one_counts() {
        let component = wat::parse_str("(component (core module))").unwrap();
        assert_eq!(marked(&component, "a"), None);
        let component = mark(mark(mark(component, "a", "one"), "b", "ünï"), "a", "two");
        assert_eq!(marked(&component, "a").as_deref(), Some("two"));
        assert_eq!(marked(&component, "b").as_deref(), Some("ünï"));
        assert!(wasmparser::validate(&component).is_ok());
    }
}
