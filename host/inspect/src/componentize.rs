//! Makes a component of a core module: what `wasm-tools component embed` and `wasm-tools component new` do. It is
//! here so that no user installs them.
//!
//! A module whose bindings carry their own description, as Rust's do, is taken as it is. One without, as those of
//! the C and Go SDKs, is taken for one of our world if it exports `run`. What a module imports of WASI preview 1
//! goes through wasmtime's adapter.

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as PREVIEW1, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER,
};
use wasmparser::{ExternalKind, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::problem::{Problem, ProblemCode};
use crate::world::WIT;

/// What has to be known about a module before.
#[derive(Debug, Default)]
struct Seen {
    /// It says which world it was built for.
    described: bool,
    exports_run: bool,
    imports_preview1: bool,
}

/// Makes a component of a core module; a component comes back as it is. Takes milliseconds.
///
/// # Errors
/// When the bytes are no WebAssembly, when the module is for no world that we know, and when it does not fit the
/// world that it is for.
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
    let seen = look(bytes)?;
    if !seen.described && !seen.exports_run {
        let message = "it does not say which world it was built for (no section `component-type`), and exports no \
                       `run`. Build it with an SDK: in Rust, a cdylib with crate stateous-routine and \
                       `#[routine]` on a function";
        return Err(Problem::new(ProblemCode::NotComponentizable, message));
    }
    encode(bytes, &seen).map_err(|e| {
        let message = format!("no component can be made of it: {e:#}. Build it with an SDK of this version");
        Problem::new(ProblemCode::NotComponentizable, message)
    })
}

fn look(bytes: &[u8]) -> Result<Seen, Problem> {
    let mut seen = Seen::default();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|e| {
            Problem::new(ProblemCode::InvalidWasm, format!("it cannot be read: {e}. Build it again"))
        })?;
        match payload {
            Payload::CustomSection(section) => {
                seen.described |= section.name().starts_with("component-type");
            }
            Payload::ImportSection(section) => {
                seen.imports_preview1 |=
                    section.into_imports().flatten().any(|import| import.module == PREVIEW1);
            }
            Payload::ExportSection(section) => {
                seen.exports_run |= section
                    .into_iter()
                    .flatten()
                    .any(|export| export.name == "run" && export.kind == ExternalKind::Func);
            }
            _ => {}
        }
    }
    Ok(seen)
}

fn encode(bytes: &[u8], seen: &Seen) -> anyhow::Result<Vec<u8>> {
    let mut module = bytes.to_vec();
    if !seen.described {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("routine.wit", WIT)?;
        let world = resolve.select_world(&[package], Some("routine"))?;
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)?;
    }
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true).module(&module)?;
    if seen.imports_preview1 {
        encoder.adapter(PREVIEW1, ADAPTER)?;
    }
    encoder.encode()
}
