//! JSON, kept as it came: key order and every digit (`preserve_order`, `arbitrary_precision`).
//!
//! [`parse`] is the only reader for text from outside: it is strict, bounded, and tells its refusals apart.
//! [`canonical`] is the only writer for checksums, [`pretty`] the one for graph files; both write what the original
//! writes. Everything else is written compact by `serde_json::to_string`. Values are not interpreted here.

mod read;
mod write;

pub use read::{JsonError, parse, parse_nested, parse_stored};
pub use write::{canonical, float, is_integer, pretty};

/// Any JSON value.
pub type Json = serde_json::Value;
/// A JSON object, in the order that it was written in.
pub type Object = serde_json::Map<String, Json>;
