//! Asks for more memory than there is, and copes with the no.

use stateous_routine::prelude::*;

#[derive(Event)]
enum Out {
    Refused,
    Granted,
}

#[routine]
fn survives(_: &Context) -> Result<Out> {
    let mut much = Vec::<u8>::new();
    Ok(if much.try_reserve_exact(1 << 30).is_err() { Out::Refused } else { Out::Granted })
}
