//! One supervisor per folder: an operating-system lock on a file beside the outbox.
//!
//! The lock goes with the process, so `kill -9` frees it. The file's content is only for people: the holder's process
//! id. Child processes do not inherit the lock, since the file is closed when they start their program.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

/// A held lock. It is freed when this is dropped.
#[derive(Debug)]
pub(super) struct FolderLock {
    _file: File,
}

/// Why the lock is not ours.
#[derive(Debug)]
pub(super) enum LockFailure {
    /// Another process holds it; its id, if it could be read.
    Held(Option<u32>),
    /// The file cannot be opened or locked.
    Io(std::io::Error),
}

impl FolderLock {
    /// Takes the lock, or says who has it. Never waits.
    pub(super) fn take(path: &Path) -> Result<Self, LockFailure> {
        // Not truncated on open: the file may be another process's.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(LockFailure::Io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockFailure::Held(holder(&mut file))),
            Err(TryLockError::Error(error)) => return Err(LockFailure::Io(error)),
        }
        file.set_len(0).map_err(LockFailure::Io)?;
        write!(file, "{}", std::process::id()).map_err(LockFailure::Io)?;
        Ok(Self { _file: file })
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    // The holder may be about to write its id; then nobody is named.
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
