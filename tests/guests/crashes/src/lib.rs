//! Keeps something, then dies: what it kept must be there for the next attempt.

use stateous_routine::prelude::*;

#[derive(Event)]
enum Out {
    Done,
}

#[routine]
fn crashes(ctx: &Context) -> Result<Out> {
    ctx.memory().set("position", &41)?;
    ctx.set("lost", &true)?;
    if ctx.attempt() < 1_000_000 {
        std::process::abort();
    }
    Ok(Out::Done)
}
