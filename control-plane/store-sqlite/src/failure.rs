//! What SQLite says when it breaks, as a [`Failure`]: whose fault it is, and what a person can do about it.

use rusqlite::ErrorCode;
use stateous_store::{Failure, FailureKind};

/// What stops a statement: the database, or a row that does not read as it was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error(transparent)]
    Row(#[from] Failure),
}

/// Says what we were doing when something broke.
pub(crate) trait During<T> {
    /// `doing` completes "could not …".
    fn during(self, doing: &str) -> Result<T, Failure>;
}

impl<T> During<T> for Result<T, rusqlite::Error> {
    fn during(self, doing: &str) -> Result<T, Failure> {
        self.map_err(|e| failure(doing, e))
    }
}

impl<T> During<T> for Result<T, Broken> {
    fn during(self, doing: &str) -> Result<T, Failure> {
        self.map_err(|broken| match broken {
            Broken::Sql(e) => failure(doing, e),
            Broken::Row(failure) => {
                Failure { message: format!("could not {doing}: {}", failure.message), ..failure }
            }
        })
    }
}

/// Whether the database itself, rather than a statement, is at fault: then the connection is not used again.
pub(crate) fn is_of_the_database(failure: &Failure) -> bool {
    failure.kind != FailureKind::Statement
}

fn failure(doing: &str, error: rusqlite::Error) -> Failure {
    let (kind, why) = match error.sqlite_error_code() {
        Some(code) => classify(code),
        // A value that SQLite cannot hold, or a column that does not read as its type.
        None => {
            (FailureKind::Statement, "the database holds or was given a value that does not fit its column")
        }
    };
    Failure::caused(kind, format!("could not {doing}: {why}"), error)
}

const fn classify(code: ErrorCode) -> (FailureKind, &'static str) {
    use FailureKind::{Busy, Statement, Unusable};
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            (Busy, "another program has locked the database for 30 seconds; end it, then try again")
        }
        ErrorCode::DiskFull => (Busy, "the disk is full; free some space, then try again"),
        ErrorCode::SystemIoFailure => {
            (Busy, "the disk could not be read or written; check it and its file system, then try again")
        }
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => (
            Busy,
            "a file beside the database cannot be opened; check the folder's permissions, then try again",
        ),
        ErrorCode::ReadOnly => (
            Busy,
            "the database cannot be written; check the permissions of its file and folder, then try again",
        ),
        ErrorCode::OutOfMemory => (Busy, "no memory is left; free some, then try again"),
        ErrorCode::DatabaseCorrupt => (Unusable, "the database file is damaged; restore it from a backup"),
        ErrorCode::NotADatabase => (
            Unusable,
            "the file is not an SQLite database, or its first page is damaged; name another, or restore it",
        ),
        ErrorCode::ConstraintViolation => (Statement, "the rows contradict what the database holds already"),
        ErrorCode::TooBig => (Statement, "a value is larger than a row can hold"),
        _ => (Statement, "the database refused the statement"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_kind_and_one_sentence() {
        let check = |code: i32, kind: FailureKind, says: &str| {
            let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            let failure = Err::<(), _>(error).during("save a change").unwrap_err();
            assert_eq!(failure.kind, kind, "{code}");
            let expected = format!("could not save a change: {says}");
            assert!(failure.message.starts_with(&expected), "{}", failure.message);
            assert!(failure.source.is_some());
        };
        use rusqlite::ffi::{
            SQLITE_BUSY, SQLITE_CONSTRAINT_UNIQUE, SQLITE_CORRUPT, SQLITE_FULL, SQLITE_IOERR_FSYNC,
        };
        check(SQLITE_BUSY, FailureKind::Busy, "another program");
        check(SQLITE_FULL, FailureKind::Busy, "the disk is full");
        check(SQLITE_IOERR_FSYNC, FailureKind::Busy, "the disk could not be");
        check(SQLITE_CONSTRAINT_UNIQUE, FailureKind::Statement, "the rows contradict");
        check(SQLITE_CORRUPT, FailureKind::Unusable, "the database file is damaged");
        check(rusqlite::ffi::SQLITE_NOTADB, FailureKind::Unusable, "the file is not an SQLite database");
    }

    #[test]
    fn a_damaged_row_keeps_its_story() {
        let row = Failure::new(FailureKind::Statement, "the column tokens.status holds \"x\"");
        let failure = Err::<(), _>(Broken::Row(row)).during("load a token").unwrap_err();
        assert_eq!(failure.message, "could not load a token: the column tokens.status holds \"x\"");
        assert_eq!(failure.kind, FailureKind::Statement);
    }
}
