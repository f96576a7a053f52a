//! One control plane for one database: an advisory lock on a connection of its own.
//!
//! Postgres frees the lock when the connection ends, however its process ends, so whoever waits for it need not wait for
//! anything else. Ending is not enough: a process that stands still keeps its connections. So the connection has a limit
//! of silence, and a thread here gives a sign of life well within it; a holder that is frozen for longer is let go by
//! Postgres itself. When it wakes up and somebody else has served meanwhile, it finds another serving id in the
//! database, writes nothing any more and stops; when nobody has, it takes the lock again and goes on, as it does after a
//! restart of Postgres.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use stateous_store::{Failure, FailureKind};
use tracing::{debug, warn};

use crate::connection::Connection;
use crate::failure::{Broken, During};
use crate::open::Address;
use crate::rows::get;
use crate::sql::{self, params};

/// The number of the advisory lock; each database has its own numbers. "Stus", as in the header of our SQLite files.
const KEY: i64 = 0x5374_7573;
/// How often the holder gives a sign of life.
const BEAT: Duration = Duration::from_secs(1);
/// How long it waits before it tries to take a lost lock again.
const AGAIN: Duration = Duration::from_millis(250);
/// The most of a holder's line that is shown.
const LINE_MAX: usize = 400;

/// A held lock. Dropping it frees it.
pub(crate) struct Lock {
    serving: String,
    lost: Arc<AtomicBool>,
    /// Whether the thread has a connection with the lock.
    held: Arc<AtomicBool>,
    /// Dropped to end the thread.
    beating: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Lock {
    /// Takes the lock of the database that `conn` is connected to.
    ///
    /// # Errors
    /// `NotServing` when another control plane holds it.
    pub(crate) fn take(conn: &mut Connection, address: &Address) -> Result<(), Failure> {
        if try_lock(conn).during("take the lock of the database")? {
            return Ok(());
        }
        Err(refusal(conn, address))
    }

    /// Becomes the one that may write: whoever served before finds that it does not any more. Waits for a transaction
    /// that is about to commit. From now on a thread keeps `conn`, which holds the lock.
    pub(crate) fn serve(mut conn: Connection, address: Address, line: &str) -> Result<Self, Failure> {
        const SQL: &str =
            "UPDATE control SET serving = gen_random_uuid()::text, holder = $1 RETURNING serving";
        let serving = sql::first(&mut conn, SQL, params![line], |row| get::<String>(row, 0))
            .during("put this control plane on record")?
            .ok_or_else(crate::writer::no_control)?;
        let (lost, held) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        let (beating, stopped) = mpsc::channel();
        let (lost_, held_) = (Arc::clone(&lost), Arc::clone(&held));
        // To let go must not take longer than to connect does.
        conn.set_limit(address.limits.connect);
        let keeper = Keeper { serving: serving.clone(), address, lost: lost_, held: held_ };
        let thread = std::thread::Builder::new()
            .name("database-lock".into())
            .spawn(move || keeper.keep(conn, &stopped))
            .expect("a thread can be started while the process starts");
        Ok(Self { serving, lost, held, beating: Some(beating), thread: Some(thread) })
    }

    /// What the control plane's row says as long as this control plane may write.
    pub(crate) fn serving(&self) -> &str {
        &self.serving
    }

    /// Whether another control plane took over, for good.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// The control plane's row names another one.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(self.beating.take());
        if let Some(thread) = self.thread.take().filter(|_| self.held.load(Ordering::Acquire)) {
            // So that the database is free when this returns. A thread that has nothing to let go is not waited for: it
            // may be trying to reach a database that is gone.
            let _ = thread.join();
        }
    }
}

/// Who keeps the lock.
struct Keeper {
    serving: String,
    address: Address,
    lost: Arc<AtomicBool>,
    held: Arc<AtomicBool>,
}

impl Keeper {
    /// Keeps the lock until it is told to let go, or another control plane has it.
    fn keep(&self, conn: Connection, stopped: &Receiver<()>) {
        let mut held = Some(conn);
        loop {
            let nap = if held.is_some() { BEAT } else { AGAIN };
            match stopped.recv_timeout(nap) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
            held = match held {
                Some(mut conn) => match conn.ping(self.address.limits.connect) {
                    Ok(()) => Some(conn),
                    Err(broken) => {
                        debug!(error = %broken, "The connection that holds the database broke: {broken}");
                        None
                    }
                },
                None => match self.take_again() {
                    Ok(conn) => conn,
                    Err(broken) => {
                        debug!(error = %broken, "The database is not held again yet: {broken}");
                        None
                    }
                },
            };
            self.held.store(held.is_some(), Ordering::Release);
            if self.lost.load(Ordering::Relaxed) {
                warn!("Another control plane took over this database");
                return;
            }
        }
        if let Some(mut conn) = held {
            // Without this Postgres frees it a moment later, when it finds the connection closed.
            let _ = sql::run(&mut conn, "SELECT pg_advisory_unlock($1)", params![KEY]);
        }
    }

    /// A connection with the lock, if nobody else has it. Somebody may have it without serving: our own old connection,
    /// of which Postgres does not know yet that it is gone.
    fn take_again(&self) -> Result<Option<Connection>, Broken> {
        let mut conn = self.address.connect_to_hold()?;
        let locked = try_lock(&mut conn)?;
        let serving = sql::first(&mut conn, "SELECT serving FROM control", params![], |row| {
            get::<Option<String>>(row, 0)
        })?;
        if serving.flatten().as_ref() != Some(&self.serving) {
            self.lost.store(true, Ordering::Relaxed);
        }
        Ok(Some(conn).filter(|_| locked))
    }
}

fn try_lock(conn: &mut Connection) -> Result<bool, Broken> {
    let locked = sql::first(conn, "SELECT pg_try_advisory_lock($1)", params![KEY], |row| get(row, 0))?;
    Ok(locked.unwrap_or(false))
}

fn refusal(conn: &mut Connection, address: &Address) -> Failure {
    // The holder may still be making the tables at this moment; the refusal stands without its line.
    let line = sql::first(conn, "SELECT holder FROM control", params![], |row| get::<Option<String>>(row, 0));
    let line = line.ok().flatten().flatten().unwrap_or_default();
    let line: String = line.chars().take(LINE_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let holder = match line.trim() {
        "" => String::new(),
        line => format!(" ({line})"),
    };
    let message = format!(
        "{} is served by another control plane{holder}; stop it first, or give this one another database",
        address.name
    );
    Failure::new(FailureKind::NotServing, message)
}
