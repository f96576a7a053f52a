//! The runtime from outside: components in, outcomes and port calls out. All in one program, since linking
//! wasmtime is slow.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod harness;
mod languages;
mod scripted;

mod attacks;
mod capabilities;
mod ends;
mod guests;
mod preparing;
mod wasi;
