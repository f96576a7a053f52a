//! The outbox's thread: it owns the connection and the folder's lock, and shares each commit among all who wait.
//!
//! Nobody waits for a batch to fill: the commit in progress is what lets the next batch gather. Only deletes, which
//! nobody waits for, linger a moment so that they ride with a write.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;
use tracing::warn;

use super::lock::FolderLock;
use super::{Left, Message, NewMessage, OutboxError, rows};

/// How long deletes wait for a write to ride with.
const LINGER: Duration = Duration::from_millis(50);
/// The most jobs of one commit.
const BATCH: usize = 1024;

pub(super) type Reply<T> = oneshot::Sender<Result<T, OutboxError>>;

/// What the thread is asked.
pub(super) enum Job {
    /// Write a message.
    Put { new: NewMessage, reply: Reply<Message> },
    /// Remove every message of an attempt and write this one, together or not at all.
    Replace { new: NewMessage, reply: Reply<Message> },
    /// Remove what is not needed any more; nobody waits.
    Forget(Forget),
    /// Read everything.
    Left { reply: Reply<Left> },
    /// Commit what waits, close the file, free the lock.
    Close { reply: oneshot::Sender<()> },
}

/// What is not needed any more.
#[derive(Debug, Clone, Copy)]
pub(super) enum Forget {
    Message(i64),
    Attempt { task: u64, attempt: u64 },
}

pub(super) struct Writer {
    pub(super) db: Connection,
    /// Freed after the connection is closed, since fields are dropped in this order.
    pub(super) _lock: FolderLock,
}

impl Writer {
    /// Serves jobs until it is told to close, or nobody can ask any more.
    pub(super) fn run(mut self, inbox: &Receiver<Job>) {
        // Deletes that could not be written, for example on a full disk. They are tried again with the next batch.
        let mut owed: Vec<Forget> = Vec::new();
        while let Some(batch) = gather(inbox) {
            let mut writes: Vec<Write> = owed.drain(..).map(Write::Forget).collect();
            let mut reads = Vec::new();
            let mut closing = None;
            for job in batch {
                match job {
                    Job::Put { new, reply } => writes.push(Write::Put { new, alone: false, reply }),
                    Job::Replace { new, reply } => writes.push(Write::Put { new, alone: true, reply }),
                    Job::Forget(forget) => writes.push(Write::Forget(forget)),
                    Job::Left { reply } => reads.push(reply),
                    Job::Close { reply } => {
                        closing = Some(reply);
                        break;
                    }
                }
            }
            owed = self.write(writes);
            for reply in reads {
                // Whoever hung up does not want the answer.
                let _ = reply.send(rows::left(&self.db).map_err(OutboxError::from_sqlite));
            }
            if let Some(reply) = closing {
                drop(self);
                let _ = reply.send(());
                return;
            }
        }
    }

    /// Applies the writes in order with one commit. If that fails they are applied one by one, so that one bad write spoils
    /// nothing for its neighbours. Answers the deletes that are still to be done.
    fn write(&mut self, writes: Vec<Write>) -> Vec<Forget> {
        if writes.is_empty() {
            return Vec::new();
        }
        if let Ok(done) = self.transaction(&writes) {
            for (write, message) in writes.into_iter().zip(done) {
                write.answer(message.map(Ok));
            }
            return Vec::new();
        }
        let mut owed = Vec::new();
        for write in writes {
            match self.transaction(std::slice::from_ref(&write)) {
                Ok(mut done) => write.answer(done.pop().flatten().map(Ok)),
                Err(error) => {
                    if let Write::Forget(forget) = write {
                        warn!(error = %error, "cannot remove a sent message from the outbox yet: {error}");
                        owed.push(forget);
                    } else {
                        write.answer(Some(Err(OutboxError::from_sqlite(error))));
                    }
                }
            }
        }
        owed
    }

    fn transaction(&mut self, writes: &[Write]) -> Result<Vec<Option<Message>>, rusqlite::Error> {
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut done = Vec::with_capacity(writes.len());
        for write in writes {
            done.push(match write {
                Write::Put { new, alone, .. } => {
                    if *alone {
                        rows::delete_attempt(&tx, new.task, new.attempt)?;
                    }
                    Some(rows::insert(&tx, new)?)
                }
                Write::Forget(Forget::Message(id)) => {
                    rows::delete(&tx, *id)?;
                    None
                }
                Write::Forget(Forget::Attempt { task, attempt }) => {
                    rows::delete_attempt(&tx, *task, *attempt)?;
                    None
                }
            });
        }
        tx.commit()?;
        Ok(done)
    }
}

enum Write {
    /// `alone`: the attempt's other messages go first.
    Put {
        new: NewMessage,
        alone: bool,
        reply: Reply<Message>,
    },
    Forget(Forget),
}

impl Write {
    fn answer(self, result: Option<Result<Message, OutboxError>>) {
        if let (Self::Put { reply, .. }, Some(result)) = (self, result) {
            // Whoever hung up does not hear of it; what was committed stays.
            let _ = reply.send(result);
        }
    }
}

/// The jobs of the next commit; `None` when nobody can ask any more.
fn gather(inbox: &Receiver<Job>) -> Option<Vec<Job>> {
    let mut batch = vec![inbox.recv().ok()?];
    let until = Instant::now() + LINGER;
    while batch.len() < BATCH && matches!(batch.last(), Some(Job::Forget(_))) {
        match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(job) => batch.push(job),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    while batch.len() < BATCH {
        match inbox.try_recv() {
            Ok(job) => batch.push(job),
            Err(_) => break,
        }
    }
    Some(batch)
}
