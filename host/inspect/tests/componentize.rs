//! Core modules become components, and the usual mistakes get a sentence.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use stateous_inspect::{ProblemCode, check, componentize};
use wit_component::{StringEncoding, metadata};
use wit_parser::Resolve;

const CORE: &str = r#"(module
  (memory (export "memory") 1)
  (data (i32.const 1024) "\00\00\00\00\01")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 2048)
  (func (export "run") (param i32 i32 i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64) (result i32) i32.const 1024))"#;

/// What wit-bindgen leaves in a module: the world it was built for.
fn with_metadata(core: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("routine.wit", include_str!("../../../wit/routine.wit")).unwrap();
    let world = resolve.select_world(&[package], Some("routine")).unwrap();
    let mut bytes = wat::parse_str(core).unwrap();
    wit_component::embed_component_metadata(&mut bytes, &resolve, world, StringEncoding::UTF8, false)
        .unwrap();
    assert!(metadata::decode(&bytes).unwrap().0.is_some());
    bytes
}

fn refused(bytes: &[u8]) -> String {
    let problem = componentize(bytes).expect_err("it cannot become a component");
    assert!(matches!(problem.code, ProblemCode::NotComponentizable | ProblemCode::NotWasm), "{problem:?}");
    problem.message
}

#[test]
fn a_module_with_its_world_becomes_a_component_that_passes_the_check() {
    let component = componentize(&with_metadata(CORE)).unwrap();
    let report = check(&component).unwrap_or_else(|p| panic!("{p:?}"));
    assert_eq!(report.imports, ["stateous:routine/types@0.1.0"]);
    assert_eq!(componentize(&component).unwrap(), component, "a component comes back as it is");
}

#[test]
fn the_usual_mistakes_get_a_sentence() {
    assert!(refused(b"#!/bin/sh").starts_with("it is not WebAssembly."));
    assert!(
        refused(&wat::parse_str(CORE).unwrap()).starts_with("it does not say which world it was built for")
    );
    let wasip1 =
        CORE.replacen("(memory", r#"(import "wasi_snapshot_preview1" "fd_write" (func)) (memory"#, 1);
    assert!(
        refused(&with_metadata(&wasip1)).contains("it was built for wasm32-wasip1"),
        "{}",
        refused(&with_metadata(&wasip1))
    );
    let no_run = CORE.replacen("\"run\"", "\"walk\"", 1);
    assert!(refused(&with_metadata(&no_run)).starts_with("no component can be made of it: "));
}
