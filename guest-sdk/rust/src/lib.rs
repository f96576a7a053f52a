//! The Rust guest SDK.
