//! The check of an upload: is it a component, does it export our world's `run`, and do we offer what it
//! imports.
//!
//! It reads and validates, which takes milliseconds; it never compiles. What passes here can still be refused
//! by the runtime's linker, which knows every type of WASI.

use std::collections::BTreeMap;

use wasmparser::component_types::{
    ComponentAnyTypeId, ComponentEntityType as Entity, ComponentInstanceTypeId,
};
use wasmparser::types::TypesRef;
use wasmparser::{Parser, Validator, WasmFeatures};

use crate::digest::digest;
use crate::layout::{Layout, layout};
use crate::prescan::prescan;
use crate::problem::{Problem, ProblemCode as Code};
use crate::shape;
use crate::world::{Offer, WORLD, World};

/// The largest component that may be uploaded, in bytes: 32 MiB.
pub const UPLOAD_BYTES_MAX: usize = 32 << 20;

/// What the runtime's engine turns on. Everything beyond is refused here with its name, before anybody
/// compiles it.
pub(crate) const FEATURES: WasmFeatures = WasmFeatures::WASM2
    .difference(WasmFeatures::GC_TYPES)
    .union(WasmFeatures::MULTI_MEMORY)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::COMPONENT_MODEL);

/// What is worth keeping about a component that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// In bytes.
    pub size: u64,
    /// The names of everything it imports, as the component spells them, in its order.
    pub imports: Vec<String>,
    /// The SDK that it was built with (`rust 0.1.0`), if it says so; see [`crate::SDK_SECTION`].
    pub sdk: Option<String>,
}

/// Checks an upload, and names everything that is wrong at once.
pub fn check(bytes: &[u8]) -> Result<Report, Vec<Problem>> {
    is_component(bytes).and_then(|()| prescan(bytes)).map_err(|problem| vec![problem])?;
    let layout = layout(bytes).map_err(|problem| vec![problem])?;
    let types = Validator::new_with_features(FEATURES).validate_all(bytes).map_err(|e| {
        let message = format!(
            "it is not valid WebAssembly for this host: {e}. Build it again; threads, exceptions, garbage \
             collection, tail calls, 64-bit memories and async components are turned off"
        );
        vec![Problem::new(Code::InvalidWasm, message)]
    })?;

    let mut problems = Vec::new();
    imports(&WORLD, &layout, types.as_ref(), &mut problems);
    run(&WORLD, &layout, types.as_ref(), &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut imports = layout.imports;
    imports.retain(|name| {
        types.as_ref().component_item_for_import(name).is_some_and(|item| !names_a_type(&item.ty))
    });
    Ok(Report { digest: digest(bytes), size: bytes.len() as u64, imports, sdk: layout.sdk })
}

fn is_component(bytes: &[u8]) -> Result<(), Problem> {
    if bytes.len() > UPLOAD_BYTES_MAX {
        let message = format!(
            "it has {} bytes; at most {UPLOAD_BYTES_MAX} (32 MiB) are taken. Strip debug information, or build \
             it optimised for size",
            bytes.len()
        );
        return Err(Problem::new(Code::TooLarge, message));
    }
    if Parser::is_component(bytes) {
        return Ok(());
    }
    if Parser::is_core_wasm(bytes) {
        let message = "it is a core WebAssembly module; a routine is a component. Push it with `stateous \
                       routine push`, which makes one of a module built with the SDK";
        return Err(Problem::new(Code::CoreModule, message));
    }
    let start = hex::encode(bytes.get(..8).unwrap_or(bytes));
    let message = format!(
        "it is not WebAssembly: it begins with the bytes `{start}`, a component begins with \
         `0061736d0d000100`. Push the .wasm file that the build wrote"
    );
    Err(Problem::new(Code::NotWasm, message))
}

fn imports(world: &World, layout: &Layout, types: TypesRef<'_>, problems: &mut Vec<Problem>) {
    for name in &layout.imports {
        let Some(item) = types.component_item_for_import(name) else { continue };
        if names_a_type(&item.ty) {
            continue;
        }
        match world.offer(&item.full_name(name)) {
            Offer::Wasi => {}
            Offer::Ours(offered) => match item.ty {
                Entity::Instance(id) => functions(world, name, offered, id, types, problems),
                _ => problems.push(Problem::new(
                    Code::WrongImport,
                    format!("its import `{name}` is not an interface; rebuild it with an SDK"),
                )),
            },
            Offer::OtherVersion(line) => {
                let message = format!(
                    "it imports `{name}`; this host offers {line}: rebuild it with an SDK of that line"
                );
                problems.push(Problem::new(Code::WrongVersion, message));
            }
            Offer::Unknown => {
                let message = format!(
                    "it imports `{name}`, which this host does not offer: build it without, or run it \
                     elsewhere"
                );
                problems.push(Problem::new(Code::UnknownImport, message));
            }
        }
    }
}

/// Not an import in the user's sense: the world's name for a type, which comes with the component.
fn names_a_type(ty: &Entity) -> bool {
    matches!(ty, Entity::Type { created, .. } if !matches!(created, ComponentAnyTypeId::Resource(_)))
}

/// A component lists only what it uses, so an older host can take a newer SDK's component that uses nothing
/// new.
fn functions(
    world: &World,
    import: &str,
    offered: &BTreeMap<String, String>,
    id: ComponentInstanceTypeId,
    types: TypesRef<'_>,
    problems: &mut Vec<Problem>,
) {
    for (function, item) in &types[id].exports {
        let Entity::Func(id) = item.ty else { continue };
        let wanted = shape::func(types, id);
        let message = match offered.get(function) {
            Some(have) if *have == wanted => continue,
            Some(have) => format!(
                "it imports `{function}` of `{import}` as `{wanted}`; this host has `{have}`: rebuild it \
                 with an SDK for {}",
                world.version.text()
            ),
            None => format!(
                "it imports `{function}` of `{import}`, which this host (version {}) does not have: update \
                 the host, or rebuild it with an older SDK",
                world.version.text()
            ),
        };
        problems.push(Problem::new(Code::WrongImport, message));
    }
}

fn run(world: &World, layout: &Layout, types: TypesRef<'_>, problems: &mut Vec<Problem>) {
    let found = types.component_item_for_export("run").map(|item| &item.ty);
    let Some(Entity::Func(id)) = found else {
        let others = if layout.exports.is_empty() { "nothing".to_owned() } else { layout.exports.join(", ") };
        let message = format!(
            "it does not export the function `run` (it exports {others}): build it for the world \
             {}/routine@{}",
            world.package,
            world.version.text()
        );
        return problems.push(Problem::new(Code::NoRun, message));
    };
    let have = shape::func(types, *id);
    if have != world.run {
        let message = format!(
            "its `run` is `{have}`; the world has `{}`: rebuild it with an SDK for {}",
            world.run,
            world.version.text()
        );
        problems.push(Problem::new(Code::WrongRun, message));
    }
}
