//! The outbox's thread: it owns the connection and the folder's lock, and shares each commit among all who wait.
//!
//! Nobody waits for a batch to fill: the commit in progress is what lets the next batch gather. Only deletes, which
//! nobody waits for, linger a moment so that they ride with a write.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;
use tracing::warn;

use super::lock::FolderLock;
use super::{Damaged, Gauge, Kind, Left, Message, NewMessage, OutboxError, Size, rows};

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
    /// Put damaged rows aside; nobody waits.
    Park(Vec<Damaged>),
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
    db: Connection,
    /// Freed after the connection is closed, since fields are dropped in this order.
    _lock: FolderLock,
    size: Size,
    bytes_max: u64,
    pub(super) gauge: Arc<Gauge>,
}

/// What a transaction did.
struct Done {
    answers: Vec<Option<Message>>,
    added: Size,
    freed: Size,
}

impl Writer {
    pub(super) fn new(db: Connection, lock: FolderLock, bytes_max: u64) -> Result<Self, rusqlite::Error> {
        let size = rows::size(&db)?;
        let gauge = Arc::new(Gauge::default());
        gauge.parked.store(rows::parked(&db)?, Ordering::Relaxed);
        let writer = Self { db, _lock: lock, size, bytes_max, gauge };
        writer.show();
        Ok(writer)
    }

    /// Serves jobs until it is told to close, or nobody can ask any more.
    pub(super) fn run(mut self, inbox: &Receiver<Job>) {
        // Deletes that could not be written, for example on a full disk. They are tried again with the next batch.
        let mut owed: Vec<Forget> = Vec::new();
        while let Some(batch) = gather(inbox) {
            let mut writes: Vec<Write> = owed.drain(..).map(Write::Forget).collect();
            let mut reads = Vec::new();
            let mut closing = None;
            let mut coming = 0;
            for job in batch {
                match job {
                    Job::Put { new, reply } => {
                        if self.crowded(&new, coming).is_some() {
                            // What is to be forgotten makes room first.
                            owed.extend(self.write(std::mem::take(&mut writes)));
                            coming = 0;
                        }
                        match self.crowded(&new, coming) {
                            // Whoever hung up does not hear of it.
                            Some(crowded) => drop(reply.send(Err(crowded))),
                            None => {
                                coming += new.body.len() as u64;
                                writes.push(Write::Put { new, alone: false, reply });
                            }
                        }
                    }
                    // It takes the place of others, and ends its attempt.
                    Job::Replace { new, reply } => writes.push(Write::Put { new, alone: true, reply }),
                    Job::Park(damaged) => self.park(&damaged),
                    Job::Forget(forget) => writes.push(Write::Forget(forget)),
                    Job::Left { reply } => reads.push(reply),
                    Job::Close { reply } => {
                        closing = Some(reply);
                        break;
                    }
                }
            }
            owed.extend(self.write(writes));
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
            self.count(&done);
            for (write, message) in writes.into_iter().zip(done.answers) {
                write.answer(message.map(Ok));
            }
            return Vec::new();
        }
        let mut owed = Vec::new();
        for write in writes {
            match self.transaction(std::slice::from_ref(&write)) {
                Ok(mut done) => {
                    self.count(&done);
                    write.answer(done.answers.pop().flatten().map(Ok));
                }
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

    fn transaction(&mut self, writes: &[Write]) -> Result<Done, rusqlite::Error> {
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (mut answers, mut added, mut freed) =
            (Vec::with_capacity(writes.len()), Size::default(), Size::default());
        for write in writes {
            let (answer, gone) = match write {
                Write::Put { new, alone, .. } => {
                    let gone = match alone {
                        true => rows::delete_attempt(&tx, new.task, new.attempt)?,
                        false => Size::default(),
                    };
                    added.messages += 1;
                    added.bytes += new.body.len() as u64;
                    (Some(rows::insert(&tx, new)?), gone)
                }
                Write::Forget(Forget::Message(id)) => (None, rows::delete(&tx, *id)?),
                Write::Forget(Forget::Attempt { task, attempt }) => {
                    (None, rows::delete_attempt(&tx, *task, *attempt)?)
                }
            };
            answers.push(answer);
            freed.messages += gone.messages;
            freed.bytes += gone.bytes;
        }
        tx.commit()?;
        Ok(Done { answers, added, freed })
    }

    /// Why a message is not taken although the disk has room. A report ends its attempt and makes room, so it has a quarter
    /// more.
    fn crowded(&self, new: &NewMessage, coming: u64) -> Option<OutboxError> {
        let most = if new.kind == Kind::Report { self.bytes_max / 4 * 5 } else { self.bytes_max };
        let bytes = self.size.bytes + coming;
        (bytes + new.body.len() as u64 > most).then_some(OutboxError::Crowded { bytes, most })
    }

    fn park(&mut self, damaged: &[Damaged]) {
        for row in damaged {
            match rows::park(&self.db, row) {
                Ok(freed) => self.count(&Done { answers: Vec::new(), added: Size::default(), freed }),
                // It stays where it is, and is named again at the next start.
                Err(error) => warn!(message.id = row.id, "cannot put message {} aside: {error}", row.id),
            }
        }
        if let Ok(parked) = rows::parked(&self.db) {
            self.gauge.parked.store(parked, Ordering::Relaxed);
        }
    }

    fn count(&mut self, done: &Done) {
        let new = |now: u64, added: u64, freed: u64| (now + added).saturating_sub(freed);
        self.size.messages = new(self.size.messages, done.added.messages, done.freed.messages);
        self.size.bytes = new(self.size.bytes, done.added.bytes, done.freed.bytes);
        self.show();
    }

    fn show(&self) {
        self.gauge.messages.store(self.size.messages, Ordering::Relaxed);
        self.gauge.bytes.store(self.size.bytes, Ordering::Relaxed);
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
