//! The outbox: every report, note and memory write is on this supervisor's disk before it is sent, and before the
//! routine's call returns.
//!
//! It owns `.stateous/outbox.db` in the supervisor's folder and the lock beside it. It does not know what a message says,
//! nor how it is sent: that is `crate::sender`.

mod lock;
mod rows;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;

use lock::{FolderLock, LockFailure};
use writer::{Forget, Job, Reply, Writer};

/// Where a supervisor keeps what is its own, inside its folder.
pub const STATE_FOLDER: &str = ".stateous";

/// What may wait to be sent unless the settings say otherwise: 1 GiB.
pub const BYTES_MAX: u64 = 1 << 30;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// How an attempt ended.
    Report,
    /// A line in the token's history.
    Note,
    /// One key of the routine's memory.
    Memory,
}

impl Kind {
    /// The spelling in the outbox and in log lines.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Note => "note",
            Self::Memory => "memory",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Report, Self::Note, Self::Memory].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// A message before it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The task.
    pub task: u64,
    /// The attempt that says this.
    pub attempt: u64,
    /// The task's token, for log lines.
    pub token: String,
    /// What it is.
    pub kind: Kind,
    /// The exact body that is sent.
    pub body: Arc<str>,
    /// When it was written, in milliseconds since 1970-01-01 UTC.
    pub created_at_ms: u64,
}

/// A message that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its place in the order: later messages have higher ids.
    pub id: i64,
    /// What was written.
    pub new: NewMessage,
}

/// What an earlier start left.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// Rows that cannot be trusted. They are not sent; [`Outbox::park`] puts them aside.
    pub damaged: Vec<Damaged>,
}

/// A row that cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// Its id.
    pub id: i64,
    /// What is wrong with it.
    pub why: String,
    /// Task, attempt and token of which it seems to be, if they can be read.
    pub of: Option<(u64, u64, String)>,
}

/// How much waits to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Messages.
    pub messages: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

/// The size as everybody may read it while the writer goes on.
#[derive(Debug, Default)]
struct Gauge {
    messages: AtomicU64,
    bytes: AtomicU64,
    parked: AtomicU64,
}

/// Which incarnation of which folder this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The folder's own id, made at its first start.
    pub folder: String,
    /// 1 for the first start of this folder, then one more each time.
    pub starts: u64,
}

/// The open outbox. Cheap to clone; one thread does the work.
#[derive(Debug, Clone)]
pub struct Outbox {
    jobs: mpsc::Sender<Job>,
    gauge: Arc<Gauge>,
}

impl Outbox {
    /// [`Outbox::open_within`] the usual bound, [`BYTES_MAX`].
    ///
    /// # Errors
    /// As there.
    pub fn open(folder: &Path, fresh: &str) -> Result<(Self, Identity), OpenError> {
        Self::open_within(folder, fresh, BYTES_MAX)
    }

    /// Opens the outbox of a supervisor's folder, makes it if there is none, and counts this start. `fresh` becomes the
    /// folder's id if it has none. Notes and memory writes are refused when more than `bytes_max` would wait to be sent; reports have
    /// a quarter more.
    ///
    /// # Errors
    /// When another supervisor runs on the folder, or the file cannot be opened, or is not an outbox of this version.
    pub fn open_within(folder: &Path, fresh: &str, bytes_max: u64) -> Result<(Self, Identity), OpenError> {
        let home = folder.join(STATE_FOLDER);
        let path = home.join("outbox.db");
        let fail = |why: OpenFailure| OpenError::Unusable { path: path.clone(), why };
        std::fs::create_dir_all(&home).map_err(|error| fail(error.into()))?;
        let lock = FolderLock::take(&home.join("outbox.lock")).map_err(|failure| match failure {
            LockFailure::Held(pid) => OpenError::Held { folder: folder.to_owned(), by: by(pid) },
            LockFailure::Io(error) => fail(error.into()),
        })?;
        let (db, identity) = prepare(&path, fresh).map_err(fail)?;
        // The names of new files are as durable as what is in them.
        for made in [&*home, folder] {
            std::fs::File::open(made).and_then(|made| made.sync_all()).map_err(|error| fail(error.into()))?;
        }
        let (jobs, inbox) = mpsc::channel();
        let writer = Writer::new(db, lock, bytes_max).map_err(|error| fail(error.into()))?;
        let gauge = Arc::clone(&writer.gauge);
        std::thread::Builder::new()
            .name("outbox".into())
            .spawn(move || writer.run(&inbox))
            .map_err(|error| fail(error.into()))?;
        Ok((Self { jobs, gauge }, identity))
    }

    /// Writes a message. It is durable when this returns.
    ///
    /// # Errors
    /// When it could not be written; then it is not in the outbox.
    pub async fn put(&self, new: NewMessage) -> Result<Message, OutboxError> {
        self.ask(|reply| Job::Put { new, reply }).await
    }

    /// Writes a message in place of all others of its attempt, in one commit.
    ///
    /// # Errors
    /// When it could not be written; then nothing changed.
    pub async fn replace_attempt(&self, new: NewMessage) -> Result<Message, OutboxError> {
        self.ask(|reply| Job::Replace { new, reply }).await
    }

    /// Removes a message, with the next commit.
    pub fn delete(&self, id: i64) {
        // A closed outbox sends the message again at the next start, which the control plane answers.
        let _ = self.jobs.send(Job::Forget(Forget::Message(id)));
    }

    /// Removes every message of an attempt, with the next commit.
    pub fn delete_attempt(&self, task: u64, attempt: u64) {
        let _ = self.jobs.send(Job::Forget(Forget::Attempt { task, attempt }));
    }

    /// Everything in the outbox, in order.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub async fn left(&self) -> Result<Left, OutboxError> {
        self.ask(|reply| Job::Left { reply }).await
    }

    /// Puts damaged rows aside, so that they are named once and nothing waits behind them.
    pub fn park(&self, damaged: Vec<Damaged>) {
        // A closed outbox finds them again at the next start.
        let _ = self.jobs.send(Job::Park(damaged));
    }

    /// How much waits to be sent.
    #[must_use]
    pub fn size(&self) -> Size {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Size { messages: read(&self.gauge.messages), bytes: read(&self.gauge.bytes) }
    }

    /// How many damaged rows were put aside.
    #[must_use]
    pub fn parked(&self) -> u64 {
        self.gauge.parked.load(Ordering::Relaxed)
    }

    /// Commits what waits, closes the file and frees the folder's lock. Whoever writes later gets an error.
    pub async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        if self.jobs.send(Job::Close { reply }).is_ok() {
            // An error means that the thread has gone already, and the lock with it.
            let _ = closed.await;
        }
    }

    async fn ask<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, OutboxError> {
        let (reply, answer) = oneshot::channel();
        self.jobs.send(job(reply)).map_err(|_| OutboxError::Closed)?;
        answer.await.map_err(|_| OutboxError::Closed)?
    }
}

fn prepare(path: &Path, fresh: &str) -> Result<(Connection, Identity), OpenFailure> {
    let mut db = Connection::open(path)?;
    // Somebody may be looking at the file with another program.
    db.busy_timeout(std::time::Duration::from_secs(5))?;
    rows::lay_out(&mut db)?;
    let identity = rows::count_start(&db, fresh)?;
    Ok((db, identity))
}

fn by(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (pid {pid})"))
}

/// Why the outbox cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another supervisor runs on the folder.
    #[error("another supervisor runs on {}{by}: stop it, or use another folder", folder.display())]
    Held {
        /// The folder.
        folder: PathBuf,
        /// ` (pid N)`, or nothing when it is not known.
        by: String,
    },
    /// The file cannot be used.
    #[error("cannot use {}: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: OpenFailure,
    },
}

/// What is wrong with an outbox's file.
#[derive(Debug, thiserror::Error)]
pub enum OpenFailure {
    /// The folder or the file.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// SQLite.
    #[error("{0}; move the file away to start with an empty outbox")]
    Sqlite(rusqlite::Error),
    /// A later version made it.
    #[error("a newer version of stateous made it (layout {layout}); use that version")]
    Newer {
        /// Its layout.
        layout: i64,
    },
    /// It is something else.
    #[error("it is a database of another program; move it away")]
    Foreign,
    /// The Python supervisor made it and has not sent everything.
    #[error(
        "the Python supervisor left {messages} unsent message(s) in it; let that supervisor send them, or move the file away"
    )]
    Unsent {
        /// How many.
        messages: i64,
    },
}

impl From<rusqlite::Error> for OpenFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Why a message was not written or read.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// The disk is full.
    #[error("the disk is full: the outbox cannot take another message")]
    Full,
    /// Too much waits already.
    #[error(
        "the outbox holds {bytes} bytes that the control plane has not taken yet, at most {most} are kept: it takes more \
         once the control plane answers"
    )]
    Crowded {
        /// What waits.
        bytes: u64,
        /// The bound.
        most: u64,
    },
    /// SQLite failed otherwise.
    #[error("the outbox failed: {0}")]
    Sqlite(rusqlite::Error),
    /// The outbox was closed: the supervisor stops.
    #[error("the outbox is closed: this supervisor is stopping")]
    Closed,
}

impl OutboxError {
    fn from_sqlite(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            _ => Self::Sqlite(error),
        }
    }
}
