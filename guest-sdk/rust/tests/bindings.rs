//! The committed bindings are what wit-bindgen makes of `wit/` today.
//!
//! They are committed so that a guest's first build does not compile wit-bindgen's macro (seconds instead of most of a
//! minute). After a change of `wit/`: `STATEOUS_BLESS=1 cargo test -p stateous-routine --test bindings`.

use std::path::Path;

use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator};

const HEADER: &str = "\
//! The guest side of `wit/`, as wit-bindgen writes it. Do not edit: tests/bindings.rs says how it is made anew.

";

#[test]
fn the_bindings_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("src/bindings.rs");
    let fresh = generate(&root.join("../../wit"));
    if std::env::var_os("STATEOUS_BLESS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == fresh,
        "{} is not what wit/ says; run: STATEOUS_BLESS=1 cargo test -p stateous-routine --test bindings",
        path.display()
    );
}

fn generate(wit: &Path) -> String {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit).expect("wit/ parses");
    let world = resolve.select_world(&[package], Some("routine")).expect("the world is there");
    let options = wit_bindgen_rust::Opts {
        format: true,
        pub_export_macro: true,
        export_macro_name: Some("export_routine".to_owned()),
        default_bindings_module: Some("::stateous_routine::__private::bindings".to_owned()),
        runtime_path: Some("::wit_bindgen::rt".to_owned()),
        ..Default::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files).expect("bindings are made");
    let (_, source) = files.iter().next().expect("one file");
    format!("{HEADER}{}", String::from_utf8_lossy(source))
}
