//! Takes a mebibyte after the other and gives none back.

use stateous_routine::prelude::*;

#[derive(Event)]
enum Out {
    Done { mebibytes: usize },
}

#[routine]
fn allocates(_: &Context) -> Result<Out> {
    let mut taken = Vec::new();
    while std::hint::black_box(taken.len()) < 1 << 20 {
        taken.push(vec![1u8; 1 << 20]);
    }
    Ok(Out::Done { mebibytes: taken.len() })
}
