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
fn a_module_that_does_not_say_its_world_is_taken_for_one_of_ours() {
    let component = componentize(&wat::parse_str(CORE).unwrap()).unwrap();
    assert!(check(&component).is_ok());
}

#[test]
fn what_a_module_imports_of_wasi_preview_1_goes_through_the_adapter() {
    let import =
        r#"(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32))) (memory"#;
    let component = componentize(&wat::parse_str(CORE.replacen("(memory", import, 1)).unwrap()).unwrap();
    let report = check(&component).unwrap_or_else(|p| panic!("{p:?}"));
    assert!(
        report.imports.iter().any(|import| import.starts_with("wasi:cli/stderr@0.2.")),
        "{:?}",
        report.imports
    );
}

#[test]
fn the_usual_mistakes_get_a_sentence() {
    assert!(refused(b"#!/bin/sh").starts_with("it is not WebAssembly."));
    let no_run = CORE.replacen("\"run\"", "\"walk\"", 1);
    assert!(
        refused(&wat::parse_str(&no_run).unwrap())
            .starts_with("it does not say which world it was built for")
    );
    let other_run = CORE.replacen("i64) (result i32)", "i64) (result i64)", 1).replacen(
        "i32.const 1024))",
        "i64.const 0))",
        1,
    );
    assert!(refused(&wat::parse_str(other_run).unwrap()).starts_with("no component can be made of it: "));
    assert!(refused(&with_metadata(&no_run)).starts_with("no component can be made of it: "));
}
