//! Makes a component of a core module whose bindings carry their own description, as wit-bindgen's do. This
//! is what `wasm-tools component new` does; it is here so that no user installs it.

use wasmparser::{Parser, Payload, TypeRef};

use crate::problem::{Problem, ProblemCode};

/// The module that old WASI programs import; we carry no adapter for it.
const PREVIEW1: &str = "wasi_snapshot_preview1";

/// Makes a component of a core module; a component comes back as it is. Takes milliseconds.
///
/// # Errors
/// When the bytes are no WebAssembly, when the module carries no description of its world, and when it does
/// not fit what it describes.
pub fn componentize(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    if Parser::is_component(bytes) {
        return Ok(bytes.to_vec());
    }
    if !Parser::is_core_wasm(bytes) {
        return Err(Problem::new(
            ProblemCode::NotWasm,
            "it is not WebAssembly. Give the .wasm file that the build wrote",
        ));
    }
    fits(bytes)?;
    wit_component::ComponentEncoder::default()
        .validate(true)
        .module(bytes)
        .and_then(wit_component::ComponentEncoder::encode)
        .map_err(|e| {
            let message = format!(
                "no component can be made of it: {e:#}. Build it with an SDK, for wasm32-unknown-unknown"
            );
            Problem::new(ProblemCode::NotComponentizable, message)
        })
}

/// The two mistakes that people make, in words that help; the encoder knows the rest.
fn fits(bytes: &[u8]) -> Result<(), Problem> {
    let mut described = false;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|e| {
            Problem::new(ProblemCode::InvalidWasm, format!("it cannot be read: {e}. Build it again"))
        })?;
        match payload {
            Payload::CustomSection(section) if section.name().starts_with("component-type") => {
                described = true;
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports().flatten() {
                    if import.module == PREVIEW1 && matches!(import.ty, TypeRef::Func(_)) {
                        let message = format!(
                            "it imports `{}` of {PREVIEW1}: it was built for wasm32-wasip1. Build it for \
                             wasm32-unknown-unknown or wasm32-wasip2",
                            import.name
                        );
                        return Err(Problem::new(ProblemCode::NotComponentizable, message));
                    }
                }
            }
            _ => {}
        }
    }
    if described {
        return Ok(());
    }
    let message = "it does not say which world it was built for (no section `component-type`). Build a \
                   cdylib with the SDK: in Rust, crate stateous-routine with `#[routine]` on a function";
    Err(Problem::new(ProblemCode::NotComponentizable, message))
}
