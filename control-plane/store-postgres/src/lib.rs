//! The store for who outgrows one machine: a Postgres database, one writer, readers beside it.
//!
//! Everything that Postgres needs to be told is in this crate, and nothing else is: which rows there are is the engine's
//! business, how they are spelled is `stateous_store::codec`'s, and when to commit is the committer's. The files are
//! those of `store-sqlite`, with the same functions in the same order; `connection` and `pending` have no counterpart
//! there, since SQLite is a function call away and each of its rows costs the same.
//!
//! Reading order: `open` (from a URL to a database that is surely ours), `lock` (and nobody else's), `writer` with
//! `load`, `pending`, `apply`, `find` and `routines` (the verbs inside a transaction), `reader` with `listing` and `pool`
//! (reads beside it).

mod connection;
mod lock;
mod migrate;
mod open;

mod apply;
mod find;
mod load;
mod pending;
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

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stateous_engine::Timestamp;
use stateous_store::{Failure, FailureKind, Reader, Store, Writer};

use lock::Lock;
use open::Address;
use pool::Pool;
use reader::PostgresReader;
use writer::PostgresWriter;

pub use open::open;

/// What opening a database needs to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// This machine's name, for the sentence that another control plane is refused with.
    pub host: String,
    /// Now, by the wall clock: since when this control plane holds the database.
    pub now: Timestamp,
    /// How long we wait for what.
    pub limits: Limits,
}

/// Time limits of every connection, so that no request waits for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// A connection that cannot be made.
    pub connect: Duration,
    /// One statement that runs too long.
    pub statement: Duration,
    /// A statement that waits too long for a lock.
    pub lock: Duration,
    /// A dead connection, as Postgres finds it.
    pub keepalives: Keepalives,
    /// A control plane that stands still, after which another one may take its place.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            statement: Duration::from_secs(30),
            lock: Duration::from_secs(10),
            keepalives: Keepalives {
                idle: Duration::from_secs(30),
                interval: Duration::from_secs(10),
                count: 3,
            },
            silence: Duration::from_secs(15),
        }
    }
}

/// TCP keepalives, in whole seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keepalives {
    /// The first probe after so much silence.
    pub idle: Duration,
    /// The next one so much later.
    pub interval: Duration,
    /// So many without an answer end the connection.
    pub count: u32,
}

/// An open database that no other control plane serves until this, its writer and its readers are dropped.
pub struct PostgresStore {
    held: Arc<Held>,
}

/// What the store, its writer and its readers share. Fields are dropped in order: the lock goes last.
pub(crate) struct Held {
    pool: Pool,
    address: Address,
    /// Whether the writer is in use.
    written: AtomicBool,
    lock: Lock,
}

impl PostgresStore {
    fn new(address: Address, lock: Lock) -> Self {
        let pool = Pool::new(address.clone());
        Self { held: Arc::new(Held { pool, address, written: AtomicBool::new(false), lock }) }
    }
}

impl Store for PostgresStore {
    fn writer(&self) -> Result<Box<dyn Writer>, Failure> {
        if self.held.written.swap(true, Ordering::AcqRel) {
            let message = "the writer of this database is in use: a control plane has one";
            return Err(Failure::new(FailureKind::Statement, message));
        }
        Ok(Box::new(PostgresWriter::new(Arc::clone(&self.held))?))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(PostgresReader::new(Arc::clone(&self.held)))
    }
}

impl Held {
    pub(crate) const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The writer is not in use any more.
    pub(crate) fn give_back(&self) {
        self.written.store(false, Ordering::Release);
    }
}
