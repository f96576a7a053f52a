//! Components that mean harm. Each is stopped by the bound that is there for it, and the runtime goes on.

use stateous_inspect::{ProblemCode, check};
use stateous_runtime::{Outcome, StopCode};

use crate::harness::{limits, prepare, run, run_with, task};
use crate::scripted::Script;

/// The code and text with which a component is refused before it runs.
async fn refused(wat: &str) -> (&'static str, String) {
    let error = prepare(wat::parse_str(wat).unwrap()).await.err().expect("it should have been refused");
    (error.code(), error.to_string())
}

#[tokio::test]
async fn more_memory_than_a_slot_has() {
    let (code, message) =
        refused("(component (core module $m (memory 65536)) (core instance (instantiate $m)))").await;
    assert_eq!(code, "does_not_fit");
    assert!(message.contains("memory"), "{message}");
}

#[tokio::test]
async fn more_table_elements_than_a_slot_has() {
    let (code, message) =
        refused("(component (core module $m (table 10000000 funcref)) (core instance (instantiate $m)))")
            .await;
    assert_eq!(code, "does_not_fit");
    assert!(message.contains("table"), "{message}");
}

#[tokio::test]
async fn more_instances_than_a_slot_has() {
    let many = "(core instance (instantiate $m))".repeat(200);
    let (code, message) = refused(&format!("(component (core module $m (memory 16)) {many})")).await;
    assert_eq!(code, "does_not_fit");
    assert!(message.contains("200 core module instances"), "{message}");
}

#[tokio::test]
async fn more_instances_than_the_compiler_takes() {
    let many = "(core instance (instantiate $m))".repeat(20_000);
    let (code, message) = refused(&format!("(component (core module $m) {many})")).await;
    assert_eq!(code, "compile_failed");
    assert!(message.contains("instances"), "{message}");
}

#[tokio::test]
async fn a_compile_bomb() {
    let wat =
        format!("(component (core module (func (local {}) {})))", "i32 ".repeat(999), "nop ".repeat(100_000));
    assert_eq!(refused(&wat).await.0, "compile_bomb");
}

#[tokio::test]
async fn proposals_that_are_turned_off() {
    for wat in [
        "(component (core module (memory 1 1 shared)))",
        "(component (core module (tag) (func (throw 0))))",
        "(component (core module (func $f (return_call $f))))",
        "(component (core module (memory i64 1)))",
        "(component (core module (type (struct))))",
        "(component (core module (func (param externref))))",
        "(component (core module (memory 1 (pagesize 1))))",
        "(component (core module (func (result v128) v128.const i64x2 0 0 v128.const i64x2 0 0 i8x16.relaxed_swizzle)))",
        "(component (type (future u8)))",
    ] {
        assert_eq!(refused(wat).await.0, "compile_failed", "{wat}");
        let problems = check(&wat::parse_str(wat).unwrap()).unwrap_err();
        assert_eq!(problems[0].code, ProblemCode::InvalidWasm, "the upload check knows it too: {wat}");
    }
}

#[tokio::test]
async fn imports_that_nobody_offers_and_exports_that_are_missing() {
    let (code, message) =
        refused(r#"(component (import "acme:db/query@1.0.0" (instance (export "run" (func)))))"#).await;
    assert_eq!(code, "does_not_fit");
    assert!(message.contains("acme:db/query@1.0.0"), "{message}");
    let (code, message) = refused("(component)").await;
    assert_eq!(code, "does_not_fit");
    assert!(message.contains("run"), "{message}");
}

#[tokio::test]
async fn a_start_function_that_never_ends() {
    let wat =
        include_str!("scripted.wat").replacen("(;data;)", "(func $spin (loop $l (br $l))) (start $spin)", 1);
    let story = run(wat::parse_str(wat).unwrap()).await;
    assert_eq!(story.stopped().0, StopCode::FuelExhausted);
    assert!(story.ended.stats.fuel_used >= 500_000_000);
}

#[tokio::test]
async fn bulk_memory_operations_cost_fuel() {
    let script =
        Script::new().code("(loop $l (memory.fill (i32.const 0) (i32.const 0) (i32.const 262144)) (br $l))");
    assert_eq!(run(script.build()).await.stopped().0, StopCode::FuelExhausted);
}

#[tokio::test]
async fn one_attempt_never_sees_anothers_memory() {
    let code = "(if (i32.ne (i32.load (i32.const 200000)) (i32.const 0)) (then unreachable))
        (memory.fill (i32.const 131072) (i32.const 7) (i32.const 131072))";
    let component = Script::new().code(code).build();
    for _ in 0..50 {
        let story = run(component.clone()).await;
        assert_eq!(story.ended.outcome, Outcome::Waiting);
    }
}

#[tokio::test]
async fn many_bad_guests_at_once_leave_the_runtime_well() {
    let loops = Script::new().code("(loop $l (br $l))").build();
    let grows = Script::new()
        .code("(loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable")
        .build();
    let deep = Script::new().code("(drop (call $deep (i32.const 0)))").build();
    let all = (0..60).map(|i| {
        let component = [&loops, &grows, &deep][i % 3].clone();
        tokio::spawn(async move {
            let mut limits = limits();
            limits.fuel = 50_000_000;
            run_with(component, task(), limits).await.stopped().0
        })
    });
    let mut ends = Vec::new();
    for run in all.collect::<Vec<_>>() {
        ends.push(run.await.unwrap());
    }
    let count = |code| ends.iter().filter(|end| **end == code).count();
    assert_eq!(
        (count(StopCode::FuelExhausted), count(StopCode::MemoryExceeded), count(StopCode::Trapped)),
        (20, 20, 20)
    );
    assert_eq!(run(Script::new().build()).await.ended.outcome, Outcome::Waiting);
}
