//! Does nothing but say when it began: what the benchmark measures is everything else.

use stateous_routine::prelude::*;

#[derive(Event)]
enum Out {
    Done { began_ms: u64 },
}

#[routine]
fn noop(ctx: &Context) -> Result<Out> {
    Ok(Out::Done { began_ms: ctx.now_ms() })
}
