//! Computes for ever and never calls the host.

use stateous_routine::prelude::*;

#[derive(Event)]
enum Out {
    Done,
}

#[routine]
fn loops(_: &Context) -> Result<Out> {
    let mut n = 0u64;
    while std::hint::black_box(n) < u64::MAX {
        n += 1;
    }
    Ok(Out::Done)
}
