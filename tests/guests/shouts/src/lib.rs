//! Hands the host more in one call than it takes.

use stateous_routine::prelude::*;

#[derive(Event)]
enum Out {
    Done,
}

#[routine]
fn shouts(ctx: &Context) -> Result<Out> {
    ctx.info("a".repeat(10 << 20));
    Ok(Out::Done)
}
