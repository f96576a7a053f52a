//! Calls itself until a stack is full: with Rust that is the one in linear memory.

use stateous_routine::prelude::*;

#[derive(Event)]
enum Out {
    Done { sum: u64 },
}

#[routine]
fn recurses(_: &Context) -> Result<Out> {
    Ok(Out::Done { sum: descend(0) })
}

#[inline(never)]
fn descend(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { descend(depth + 1) + room[3] }
}
