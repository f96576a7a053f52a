//! One cell of a routine's memory.

use std::sync::Arc;

/// A key and its value. Belongs to a (token, state); goes when the token ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryCell {
    /// 1 to 128 characters.
    pub key: String,
    /// Any JSON value but null, as text, digit for digit as it came.
    pub value: Arc<str>,
}
