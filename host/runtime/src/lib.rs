//! Runs one attempt of one routine in wasmtime.
