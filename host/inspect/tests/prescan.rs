//! Compile bombs are refused before anybody compiles them, inside components too; ordinary functions pass.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use stateous_inspect::{ProblemCode, check, prescan};

/// A module of `functions` functions, each with this many locals and (nearly) this many bytes.
fn module(functions: usize, locals: usize, bytes: usize) -> String {
    let function = format!("(func (local {}) {})", "i32 ".repeat(locals), "nop ".repeat(bytes));
    format!("(module {})", function.repeat(functions))
}

fn refused(wat: &str) -> String {
    let problem = prescan(&wat::parse_str(wat).unwrap()).expect_err("a bomb");
    assert_eq!(problem.code, ProblemCode::CompileBomb);
    problem.message
}

#[test]
fn ordinary_functions_pass() {
    for wat in [module(1, 1000, 100), module(100, 100, 1000), module(1, 0, 1_000_000)] {
        prescan(&wat::parse_str(wat).unwrap()).unwrap();
    }
}

#[test]
fn each_limit_is_named() {
    assert!(refused(&module(1, 1001, 0)).contains("has 1001 locals (at most 1000)"));
    assert!(refused(&module(1, 0, 1_100_000)).contains("has 1100002 bytes (at most 1048576)"));
    assert!(refused(&module(1, 1000, 12_100)).contains("locals × bytes of 12"));
    assert!(refused(&module(18, 1000, 11_500)).contains("in all (at most 200000000)"));
}

#[test]
fn a_bomb_inside_a_component_is_found_and_stops_the_check() {
    let nested = format!("(component (component (core {}))", &module(1, 2000, 1)[1..]);
    let bytes = wat::parse_str(nested).unwrap();
    let problems = check(&bytes).expect_err("a bomb");
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].code, ProblemCode::CompileBomb);
}

#[test]
fn bytes_cut_anywhere_never_panic() {
    let bytes = wat::parse_str(include_str!("routine.wat")).unwrap();
    for end in 8..bytes.len() {
        let _ = prescan(&bytes[..end]);
        let _ = check(&bytes[..end]);
    }
}

#[test]
fn bytes_changed_anywhere_never_panic() {
    let bytes = wat::parse_str(include_str!("routine.wat")).unwrap();
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            let _ = check(&changed);
        }
    }
}
