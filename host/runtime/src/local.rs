//! Components of this machine, for development: made and checked as an upload would be, so that what runs here is what
//! could be pushed.

use std::path::Path;

use crate::prepare_error::PrepareError;

/// A component of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalComponent {
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// The component.
    pub bytes: Vec<u8>,
}

/// Reads a component from a file; a core module that was built for our world becomes one.
///
/// # Errors
/// When the file cannot be read, or would be refused as an upload: every reason is named.
pub fn read_local(path: &Path) -> Result<LocalComponent, PrepareError> {
    let wrong = |why: String| PrepareError::Local { path: path.to_owned(), why };
    let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let bytes = stateous_inspect::componentize(&bytes).map_err(|problem| wrong(problem.to_string()))?;
    let report = stateous_inspect::check(&bytes)
        .map_err(|problems| wrong(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))?;
    Ok(LocalComponent { digest: report.digest, bytes })
}
