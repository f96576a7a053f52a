//! Connections for reading: made when they are needed, kept for the next reader, never more than a few.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use stateous_store::Failure;

use crate::failure::{Broken, During, is_of_the_database};
use crate::open::open_reader;

/// The most connections at a time; who comes when all are in use waits. A read takes milliseconds.
const MOST: usize = 8;

/// The connections of one database.
pub(crate) struct Pool {
    path: PathBuf,
    connections: Mutex<Connections>,
    freed: Condvar,
}

#[derive(Default)]
struct Connections {
    idle: Vec<Connection>,
    in_use: usize,
}

impl Pool {
    /// A pool without connections yet.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, connections: Mutex::default(), freed: Condvar::new() }
    }

    /// Reads from one snapshot of what was committed. `doing` completes "could not …".
    pub(crate) fn read<T>(
        &self,
        doing: &str,
        read: impl FnOnce(&Connection) -> Result<T, Broken>,
    ) -> Result<T, Failure> {
        let mut borrowed = self.borrow(doing)?;
        let answer = snapshot(&mut borrowed.connection, read).during(doing);
        if answer.as_ref().err().is_none_or(|failure| !is_of_the_database(failure)) {
            borrowed.give_back();
        }
        answer
    }

    fn borrow(&self, doing: &str) -> Result<Borrowed<'_>, Failure> {
        let mut connections = self.lock();
        while connections.in_use >= MOST {
            connections = self.freed.wait(connections).unwrap_or_else(PoisonError::into_inner);
        }
        connections.in_use += 1;
        let idle = connections.idle.pop();
        drop(connections);
        let place = Place { pool: self };
        let connection = match idle {
            Some(connection) => connection,
            None => open_reader(&self.path).during(doing)?,
        };
        Ok(Borrowed { connection, place })
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn snapshot<T>(
    connection: &mut Connection,
    read: impl FnOnce(&Connection) -> Result<T, Broken>,
) -> Result<T, Broken> {
    // Dropped without a commit: there is nothing to commit.
    let snapshot = connection.transaction()?;
    read(&snapshot)
}

/// One of the places of the pool; given up when dropped, whatever became of the connection.
struct Place<'a> {
    pool: &'a Pool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.pool.lock().in_use -= 1;
        self.pool.freed.notify_one();
    }
}

/// A connection in use. One that is dropped is closed, so that the next reader starts afresh.
struct Borrowed<'a> {
    connection: Connection,
    place: Place<'a>,
}

impl Borrowed<'_> {
    fn give_back(self) {
        self.place.pool.lock().idle.push(self.connection);
    }
}
