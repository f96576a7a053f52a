//! Where an SDK is: in the checkout that the project stands in, or where the language's own package manager put it.

use std::path::{Path, PathBuf};

/// `guest-sdk/<language>` of a folder above the project.
pub(crate) fn above(folder: &Path, language: &str) -> Option<PathBuf> {
    folder.ancestors().map(|above| above.join("guest-sdk").join(language)).find(|sdk| sdk.is_dir())
}
