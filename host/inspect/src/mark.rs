//! Custom sections, which change nothing about what a component does: notes on it, and what debuggers read.

use wasm_encoder::{ComponentSection, CustomSection, Module, RawSection};
use wasmparser::{Parser, Payload};

use crate::problem::{Problem, ProblemCode};

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

/// A core module without its debug information; names of functions stay, for backtraces.
///
/// # Errors
/// When it cannot be read.
pub fn without_debug(module: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut kept = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.map_err(|e| {
            Problem::new(ProblemCode::InvalidWasm, format!("it cannot be read: {e}. Build it again"))
        })?;
        let is_debug =
            matches!(&payload, Payload::CustomSection(custom) if custom.name().starts_with(".debug_"));
        let Some((id, range)) = payload.as_section().filter(|_| !is_debug) else { continue };
        let inside = |at: u64| usize::try_from(at).unwrap_or(module.len());
        if let Some(data) = module.get(inside(range.start)..inside(range.end)) {
            kept.section(&RawSection { id, data });
        }
    }
    Ok(kept.finish())
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

    #[test]
    fn only_debug_information_is_left_out() {
        let text = r#"(module (@custom ".debug_info" "x") (memory 1) (func $named (export "run")) (data (i32.const 0) "abc"))"#;
        let module = wat::parse_str(text).unwrap();
        let bare = without_debug(&module).unwrap();
        assert_eq!(bare, wat::parse_str(text.replace(r#"(@custom ".debug_info" "x")"#, "")).unwrap());
        assert!(bare.windows(5).any(|name| name == b"named"));
        assert!(without_debug(b"no module").is_err());
    }
}
