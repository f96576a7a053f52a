//! The one spelling of a content address: `sha256:` and 64 lower-case hexadecimal digits.

use sha2::{Digest, Sha256};

const PREFIX: &str = "sha256:";

/// The digest of these bytes.
pub fn digest(bytes: &[u8]) -> String {
    format!("{PREFIX}{}", hex::encode(Sha256::digest(bytes)))
}

/// Whether this text is spelled as [`digest`] spells it. Checked before a digest becomes part of a path.
pub fn is_digest(text: &str) -> bool {
    text.strip_prefix(PREFIX)
        .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}
