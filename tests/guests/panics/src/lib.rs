//! Panics, in a function whose name the backtrace should show.

use stateous_routine::prelude::*;

#[derive(Event)]
enum Out {
    Done,
}

#[routine]
fn panics(ctx: &Context) -> Result<Out> {
    check_the_order(ctx.attempt());
    Ok(Out::Done)
}

#[inline(never)]
fn check_the_order(attempt: u32) {
    assert!(attempt > 1_000_000, "no such order in attempt {attempt}");
}
