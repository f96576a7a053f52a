//! An open database, with the few steps that every property takes.

use std::sync::Arc;

use stateous_engine::Timestamp;
use stateous_engine::change::Change;
use stateous_engine::loaded::{Loaded, Wanted};

use super::Harness;
use crate::traits::{Reader, Store, Writer};

/// The time at which samples happen.
pub(super) const NOW: Timestamp = Timestamp(1_795_950_988_123);

/// A database with its writer.
pub(super) struct Db<'a> {
    harness: &'a dyn Harness,
    /// Dropped before the store, and both before the database is opened again.
    open: Option<(Box<dyn Writer>, Box<dyn Store>)>,
}

impl<'a> Db<'a> {
    /// Opens the harness's database.
    pub(super) fn open(harness: &'a dyn Harness) -> Self {
        let mut db = Self { harness, open: None };
        db.reopen();
        db
    }

    /// Closes the database and opens it again, as a restart does.
    pub(super) fn reopen(&mut self) {
        self.open = None;
        let store = self.harness.open().unwrap();
        self.open = Some((store.writer().unwrap(), store));
    }

    /// The writer, without a transaction.
    pub(super) fn writer(&mut self) -> &mut dyn Writer {
        &mut *self.open.as_mut().unwrap().0
    }

    /// The store.
    pub(super) fn store(&self) -> &dyn Store {
        &*self.open.as_ref().unwrap().1
    }

    /// Reads beside the writer.
    pub(super) fn reader(&self) -> Arc<dyn Reader> {
        self.store().reader()
    }

    /// Does something in a transaction and commits it at [`NOW`].
    pub(super) fn transact<T>(&mut self, act: impl FnOnce(&mut dyn Writer) -> T) -> T {
        let writer = self.writer();
        writer.begin().unwrap();
        let result = act(writer);
        writer.commit(NOW).unwrap();
        result
    }

    /// Commits changes.
    pub(super) fn write(&mut self, changes: &[Change]) {
        self.transact(|writer| writer.apply(changes)).unwrap();
    }

    /// Checks that changes are refused, at once or with the commit, and takes them back.
    pub(super) fn refuse(&mut self, changes: &[Change]) -> crate::Failure {
        let writer = self.writer();
        writer.begin().unwrap();
        let failure = writer.apply(changes).and_then(|()| writer.commit(NOW)).unwrap_err();
        writer.rollback();
        failure
    }

    /// Loads in a transaction of its own.
    pub(super) fn load(&mut self, wanted: &Wanted) -> Loaded {
        self.transact(|writer| writer.load(wanted)).unwrap()
    }
}

/// All that can be loaded of a token.
pub(super) fn all_of(token: &str) -> Wanted {
    Wanted { token: Some(token.to_owned()), context: true, open: true, folded: true, ..Wanted::default() }
}

/// A task with its token and its memory.
pub(super) fn all_of_task(task: u64) -> Wanted {
    Wanted { task: Some(task), context: true, open: true, memory: true, ..Wanted::default() }
}
