//! Connections for reading: made when they are needed, kept for the next reader, never more than a few.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stateous_store::{Failure, FailureKind};

use crate::connection::Connection;
use crate::failure::{Broken, During};
use crate::open::Address;
use crate::sql;

/// The most connections at a time; who comes when all are in use waits. A read takes milliseconds.
const MOST: usize = 8;
/// A connection that was idle for longer is asked for a sign of life before it is used again: a network may have
/// forgotten it without telling anybody.
const IDLE: Duration = Duration::from_secs(10);

/// The connections of one database.
pub(crate) struct Pool {
    address: Address,
    connections: Mutex<Connections>,
    freed: Condvar,
}

#[derive(Default)]
struct Connections {
    idle: Vec<(Connection, Instant)>,
    in_use: usize,
}

impl Pool {
    /// A pool without connections yet.
    pub(crate) fn new(address: Address) -> Self {
        Self { address, connections: Mutex::default(), freed: Condvar::new() }
    }

    /// Reads from one snapshot of what was committed. `doing` completes "could not …". A connection that broke while it
    /// was idle costs a second try: nothing was read from it.
    pub(crate) fn read<T>(
        &self,
        doing: &str,
        read: impl Fn(&mut Connection) -> Result<T, Broken>,
    ) -> Result<T, Failure> {
        loop {
            let mut borrowed = self.borrow(doing)?;
            let answer = snapshot(&mut borrowed.connection, &read);
            if !borrowed.connection.is_gone() {
                borrowed.give_back();
            } else if borrowed.kept && matches!(answer, Err(Broken::Sql(_))) {
                // Whatever ended it has ended the others too.
                self.lock().idle.clear();
                continue;
            }
            return answer.during(doing);
        }
    }

    fn borrow(&self, doing: &str) -> Result<Borrowed<'_>, Failure> {
        let limit = self.address.limits.connect;
        let busy = |connections: &mut Connections| connections.in_use >= MOST;
        let waited = self.freed.wait_timeout_while(self.lock(), limit, busy);
        let (mut connections, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() && busy(&mut connections) {
            let why = format!("all {MOST} connections for reading are in use; try again");
            return Err(Failure::new(FailureKind::Busy, format!("could not {doing}: {why}")));
        }
        connections.in_use += 1;
        let idle = connections.idle.pop();
        drop(connections);
        let place = Place { pool: self };
        if let Some((mut connection, since)) = idle
            && (since.elapsed() < IDLE || connection.ping(limit).is_ok())
        {
            return Ok(Borrowed { connection, kept: true, place });
        }
        let connection = self.address.connect_to_read().during(doing)?;
        Ok(Borrowed { connection, kept: false, place })
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn snapshot<T>(
    connection: &mut Connection,
    read: &impl Fn(&mut Connection) -> Result<T, Broken>,
) -> Result<T, Broken> {
    sql::script(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    let answer = read(connection);
    let ended = sql::script(connection, "ROLLBACK");
    let answer = answer?;
    ended.map(|_| answer)
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
    /// Whether it was used before.
    kept: bool,
    place: Place<'a>,
}

impl Borrowed<'_> {
    fn give_back(self) {
        self.place.pool.lock().idle.push((self.connection, Instant::now()));
    }
}
