//! The embedded store: one SQLite file, one writer, readers beside it.
//!
//! Everything that SQLite needs to be told is in this crate, and nothing else is: which rows there are is the engine's
//! business, how they are spelled is `stateous_store::codec`'s, and when to commit is the committer's. Durability is
//! WAL with `synchronous=FULL`: when a commit returns, a power cut loses nothing.
//!
//! Reading order: `open` (from a path to a database that is surely ours), `writer` with `load`, `apply`, `find` and
//! `routines` (the verbs inside a transaction), `reader` with `listing` and `pool` (reads beside it).

mod lock;
mod migrate;
mod open;

mod apply;
mod find;
mod load;
mod routines;
mod writer;

mod pool;

mod listing;
mod reader;

mod failure;
mod rows;
mod sql;

#[cfg(test)]
mod costs;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use stateous_engine::Timestamp;
use stateous_store::{Failure, FailureKind, Reader, Store, Writer};

use lock::Lock;
use pool::Pool;
use reader::SqliteReader;
use writer::SqliteWriter;

pub use open::open;

/// What opening a database needs to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// This machine's name, for the sentence that another control plane is refused with.
    pub host: String,
    /// Now, by the wall clock: since when this control plane holds the database.
    pub now: Timestamp,
}

/// An open database that no other control plane serves until this, its writer and its readers are dropped.
pub struct SqliteStore {
    held: Arc<Held>,
}

/// What the store, its writer and its readers share. Fields are dropped in order: the connection that writes closes
/// after the readers, so that SQLite folds the WAL back into the file, and the lock goes last.
pub(crate) struct Held {
    pool: Pool,
    /// The writer's connection, while no writer uses it.
    connection: Mutex<Option<Connection>>,
    _lock: Lock,
}

impl SqliteStore {
    fn new(connection: Connection, path: &Path, lock: Lock) -> Self {
        let pool = Pool::new(path.to_owned());
        Self { held: Arc::new(Held { pool, connection: Mutex::new(Some(connection)), _lock: lock }) }
    }
}

impl Store for SqliteStore {
    fn writer(&self) -> Result<Box<dyn Writer>, Failure> {
        let connection = self.held.connection.lock().unwrap_or_else(PoisonError::into_inner).take();
        let taken = || {
            let message = "the writer of this database is in use: a control plane has one";
            Failure::new(FailureKind::Statement, message)
        };
        Ok(Box::new(SqliteWriter::new(connection.ok_or_else(taken)?, Arc::clone(&self.held))?))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(SqliteReader::new(Arc::clone(&self.held)))
    }
}

impl Held {
    pub(crate) const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Takes the writer's connection back, to be closed with everything else.
    pub(crate) fn give_back(&self, connection: Connection) {
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection);
    }
}
