//! One control plane for one database: a lock of the operating system on a file beside it.
//!
//! The system frees the lock when the process ends, however it ends, so a restart after `kill -9` waits for nothing.
//! The file holds one line about the holder, for the sentence that the next one is refused with; it is never deleted,
//! since a lock on a deleted name would be no lock.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use stateous_store::{Failure, FailureKind};

use crate::Options;

/// The most of a holder's line that is shown.
const LINE_MAX: u64 = 400;

/// A held lock. Dropping it frees it.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the database at `database`, a path with no links in it.
    ///
    /// # Errors
    /// `NotServing` when another control plane holds it, `Unusable` when the lock file cannot be made.
    pub(crate) fn take(database: &Path, options: &Options) -> Result<Self, Failure> {
        let path = path_beside(database);
        let unusable = |what: &str, e: std::io::Error| {
            let message = format!("could not {what} {}; check the permissions of its folder", path.display());
            Failure::caused(FailureKind::Unusable, message, e)
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|e| unusable("open the lock file", e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(refusal(database, &mut file)),
            Err(TryLockError::Error(e)) => return Err(unusable("lock", e)),
        }
        let line = format!("process {} on {}, since {}\n", std::process::id(), options.host, options.now);
        file.set_len(0)
            .and_then(|()| file.write_all(line.as_bytes()))
            .map_err(|e| unusable("write the lock file", e))?;
        Ok(Self { _file: file })
    }
}

fn path_beside(database: &Path) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(".lock");
    name.into()
}

fn refusal(database: &Path, file: &mut File) -> Failure {
    let mut line = String::new();
    // The holder may be writing its line at this moment; the refusal stands without it.
    let _ = file.rewind().and_then(|()| file.take(LINE_MAX).read_to_string(&mut line));
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let holder = match line.trim() {
        "" => String::new(),
        line => format!(" ({line})"),
    };
    let message = format!(
        "{} is served by another control plane{holder}; stop it first, or give this one another database",
        database.display()
    );
    Failure::new(FailureKind::NotServing, message)
}
