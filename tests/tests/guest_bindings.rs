//! The committed bindings of the C and Go SDKs are what wit-bindgen makes of `wit/` today. (Rust's are checked beside that
//! SDK; those of JavaScript and Python are made at every build of a routine.)
//!
//! They are committed so that nobody who writes a routine needs the generator. After a change of `wit/`:
//! `STATEOUS_BLESS=1 cargo test --workspace --test guest_bindings`.

use std::path::Path;

use stateous_e2e::Product;
use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator};

/// The files that a generator makes of our world: path and text.
fn generate(mut generator: Box<dyn WorldGenerator>) -> anyhow::Result<Vec<(String, String)>> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(Product::root().join("wit"))?;
    let world = resolve.select_world(&[package], Some("routine"))?;
    let mut files = Files::default();
    generator.generate(&mut resolve, world, &mut files)?;
    files.iter().map(|(name, bytes)| Ok((name.to_owned(), String::from_utf8(bytes.to_vec())?))).collect()
}

/// Compares what is in `folder` with what it should be, or writes it there.
fn check(folder: &Path, files: &[(String, String)]) -> anyhow::Result<()> {
    let bless = std::env::var_os("STATEOUS_BLESS").is_some();
    for (name, fresh) in files {
        let path = folder.join(name);
        if bless {
            std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
            std::fs::write(&path, fresh)?;
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == *fresh,
            "{} is not what wit/ says; run: STATEOUS_BLESS=1 cargo test --workspace --test guest_bindings",
            path.display()
        );
    }
    Ok(())
}

#[test]
fn the_c_bindings_are_current() -> anyhow::Result<()> {
    // The description of the world is put into the module by `stateous routine build`, not by a binary file here.
    let options = wit_bindgen_c::Opts { no_object_file: true, ..Default::default() };
    check(&Product::root().join("guest-sdk/c/bindings"), &generate(options.build())?)
}

#[test]
fn the_go_bindings_are_current() -> anyhow::Result<()> {
    let options = wit_bindgen_go::Opts {
        format: wit_bindgen_go::Format::False,
        pkg_name: Some("stateous.dev/routine/internal/bindings".to_owned()),
        ..Default::default()
    };
    // They name imports that only wasm has, so a native build of the SDK leaves them out. What they call stands inside of
    // the SDK, so that a routine's module needs no other.
    let for_wasm = |(name, text): (String, String)| {
        let text = text.replace("go.bytecodealliance.org/pkg/wit/", "stateous.dev/routine/internal/wit/");
        (name, format!("//go:build wasip1\n\n{text}"))
    };
    let files: Vec<_> = generate(options.build())?.into_iter().map(for_wasm).collect();
    check(&Product::root().join("guest-sdk/go/internal/bindings"), &files)
}
