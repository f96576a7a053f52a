//! From a path to a database that is surely ours, surely whole enough to serve, and surely nobody else's.
//!
//! A file is looked at before SQLite may touch it: whatever is refused stays as it was, byte for byte. The checks go
//! from the cheap to the dear: does the name make sense, is it an SQLite file, is it ours, is nobody serving it, is its
//! schema one that this program knows.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use stateous_store::{Failure, FailureKind};

use crate::failure::During;
use crate::lock::Lock;
use crate::migrate::{self, APPLICATION_ID, VERSION};
use crate::{Options, SqliteStore};

/// How long a statement waits for a lock that another program holds.
const BUSY: Duration = Duration::from_secs(30);
/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Where an SQLite header keeps `user_version` and `application_id`.
const USER_VERSION_AT: usize = 60;
const APPLICATION_ID_AT: usize = 68;

/// Opens the database at `path`, and makes it when there is none; its folder must exist.
///
/// # Errors
/// `NotServing` when another control plane holds it. `Unusable` when it is not a database of ours, is newer than this
/// program, is damaged or cannot be made; such a file is left as it was. `Busy` when the disk or another program is in the way.
pub fn open(path: &Path, options: &Options) -> Result<SqliteStore, Failure> {
    let path = locate(path)?;
    let file = path.display().to_string();
    look(&path, &file)?;
    let lock = Lock::take(&path, options)?;
    // Again: until the lock was ours, another control plane may have been making it.
    look(&path, &file)?;
    let opening = format!("open {file}");
    let mut conn = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).during(&opening)?;
    if conn.is_readonly("main").during(&opening)? {
        let message = format!("{file} cannot be written; check the permissions of the file and its folder");
        return Err(Failure::new(FailureKind::Unusable, message));
    }
    // A refused database must not even have its WAL folded in.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).during(&opening)?;
    migrate::check(&conn, &file)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).during(&opening)?;
    conn.pragma_update(None, "synchronous", "FULL").during(&opening)?;
    // Before WAL: a new file then says from its first byte on that it is ours.
    migrate::migrate(&mut conn, &file, options.now)?;
    tune(&conn).during(&opening)?;
    Ok(SqliteStore::new(conn, &path, lock))
}

/// A connection that reads beside the writer.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, rusqlite::Error> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    conn.set_prepared_statement_cache_capacity(32);
    map_memory(&conn)?;
    Ok(conn)
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, rusqlite::Error> {
    let conn = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(BUSY)?;
    Ok(conn)
}

/// Settings of the connection that writes.
fn tune(conn: &Connection) -> Result<(), rusqlite::Error> {
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    // A checkpoint writes the pages that changed since the last one, each once however often it changed: rare is
    // cheap. 16,384 pages are 64 MiB.
    conn.pragma_update_and_check(None, "wal_autocheckpoint", 16_384, |_| Ok(()))?;
    // Overwriting the WAL is many times faster than growing it: it is never cut.
    conn.pragma_update_and_check(None, "journal_size_limit", -1, |_| Ok(()))?;
    conn.pragma_update(None, "cache_size", -65_536)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.set_prepared_statement_cache_capacity(64);
    map_memory(conn)
}

fn map_memory(conn: &Connection) -> Result<(), rusqlite::Error> {
    conn.pragma_update_and_check(None, "mmap_size", 256 << 20, |_| Ok(()))
}

/// The one name of the file, however it was named; makes an empty file when there is none.
fn locate(path: &Path) -> Result<PathBuf, Failure> {
    let unusable = |message: String| Failure::new(FailureKind::Unusable, message);
    let shown = path.display();
    match path.canonicalize() {
        Ok(found) => return Ok(found),
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        Err(e) => {
            let message = format!("could not find the database {shown}; check the path and its permissions");
            return Err(Failure::caused(FailureKind::Unusable, message, e));
        }
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(unusable(format!(
            "the folder {} of the database {shown} does not exist; make it, or name another",
            folder.display()
        )));
    }
    // An empty file is an empty database. Opening it follows a link to a file that is not there yet.
    OpenOptions::new().append(true).create(true).open(path).and_then(|_| path.canonicalize()).map_err(|e| {
        let message = format!("could not make the database {shown}; check the permissions of its folder");
        Failure::caused(FailureKind::Unusable, message, e)
    })
}

/// Looks at the file without SQLite, which would already write beside it. An empty one is fine, and so is one of ours.
fn look(path: &Path, file: &str) -> Result<(), Failure> {
    let unusable = |message: String| Err(Failure::new(FailureKind::Unusable, message));
    let unreadable = |e: std::io::Error| {
        Failure::caused(FailureKind::Unusable, format!("could not read {file}; check its permissions"), e)
    };
    let metadata = path.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return unusable(format!("{file} is not a file; name a file, or one that does not exist"));
    }
    if has_other_names(&metadata) {
        return unusable(format!(
            "{file} has other names (hard links), under which it could be served twice; leave it one name"
        ));
    }
    let mut header = Vec::new();
    File::open(path).and_then(|f| f.take(100).read_to_end(&mut header)).map_err(unreadable)?;
    if header.is_empty() {
        return Ok(());
    }
    if header.len() < 100 || !header.starts_with(MAGIC) {
        return unusable(format!(
            "{file} is not an SQLite database; name another file, or one that does not exist"
        ));
    }
    let number = |at: usize| header[at..at + 4].iter().fold(0, |n, byte| n << 8 | i64::from(*byte));
    if number(APPLICATION_ID_AT) != APPLICATION_ID {
        return Err(migrate::foreign(file));
    }
    // A version that still waits in the WAL is found later, by reading through SQLite.
    if number(USER_VERSION_AT) > VERSION {
        return Err(migrate::newer(file, number(USER_VERSION_AT)));
    }
    Ok(())
}

/// The lock goes by the file's name, so the file may have one only.
#[cfg(unix)]
fn has_other_names(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(not(unix))]
const fn has_other_names(_: &Metadata) -> bool {
    false
}
