//! The one connection that writes: transactions, and the verbs inside them.

use std::sync::Arc;

use rusqlite::{Connection, params};
use stateous_engine::Timestamp;
use stateous_engine::change::Change;
use stateous_engine::loaded::{Loaded, Wanted};
use stateous_engine::model::Incarnation;
use stateous_store::{
    Assignment, ControlRow, Failure, FailureKind, NewAssignment, QueuedFilter, Upload, Writer,
};

use crate::failure::{Broken, During};
use crate::rows::{self, CONTROL};
use crate::{Held, apply, find, load, routines, sql};

/// How old the time at which this control plane was alive may be before a transaction without changes writes it: a
/// claim that finds nothing should not cost a flush of the disk.
const ALIVE_MS: i64 = 500;

/// The writer.
pub(crate) struct SqliteWriter {
    /// `None` only while it is being dropped.
    conn: Option<Connection>,
    held: Arc<Held>,
    marks: Marks,
    /// The time that was committed last.
    alive_at: Timestamp,
    /// What SQLite had changed when the transaction began.
    changes_before: u64,
}

/// What must only grow. Kept here rather than read back: a rolled back transaction leaves gaps, never a clash.
#[derive(Debug, Clone, Copy)]
struct Marks {
    next_task: u64,
    next_timer: u64,
    latest: Timestamp,
}

impl SqliteWriter {
    pub(crate) fn new(conn: Connection, held: Arc<Held>) -> Result<Self, Failure> {
        let mut writer = Self {
            conn: Some(conn),
            held,
            marks: Marks { next_task: 1, next_timer: 1, latest: Timestamp(0) },
            alive_at: Timestamp(0),
            changes_before: 0,
        };
        (writer.marks, writer.alive_at) = marks(writer.conn()?).during("read the control plane's row")?;
        Ok(writer)
    }

    fn conn(&self) -> Result<&Connection, Failure> {
        self.conn.as_ref().ok_or_else(|| Failure::new(FailureKind::Statement, "the writer was dropped"))
    }

    /// The connection, inside a transaction. SQLite ends a transaction by itself when the disk fails; a statement that
    /// went on would commit alone.
    fn tx(&self) -> Result<&Connection, Failure> {
        let conn = self.conn()?;
        if conn.is_autocommit() {
            return Err(Failure::new(
                FailureKind::Statement,
                "there is no open transaction; begin one first",
            ));
        }
        Ok(conn)
    }
}

impl Drop for SqliteWriter {
    fn drop(&mut self) {
        self.rollback();
        if let Some(conn) = self.conn.take() {
            self.held.give_back(conn);
        }
    }
}

impl Writer for SqliteWriter {
    fn begin(&mut self) -> Result<(), Failure> {
        let conn = self.conn()?;
        sql::run(conn, "BEGIN IMMEDIATE", []).during("begin a transaction")?;
        self.changes_before = conn.total_changes();
        Ok(())
    }

    fn load(&mut self, wanted: &Wanted) -> Result<Loaded, Failure> {
        let loaded = load::load(self.tx()?, wanted).during("load a token")?;
        Ok(Loaded { next_task: self.marks.next_task, next_timer: self.marks.next_timer, ..loaded })
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), Failure> {
        for change in changes {
            if let Err(broken) = apply::apply(self.tx()?, change) {
                return Err(broken).during(&apply::doing(change));
            }
            match change {
                Change::InsertTask(task) => self.marks.next_task = self.marks.next_task.max(task.id + 1),
                Change::InsertTimer(timer) => self.marks.next_timer = self.marks.next_timer.max(timer.id + 1),
                Change::Append(entry) => self.marks.latest = self.marks.latest.max(entry.at),
                _ => {}
            }
        }
        Ok(())
    }

    fn queued_tasks(&mut self, filter: &QueuedFilter, limit: u32) -> Result<Vec<u64>, Failure> {
        find::queued_tasks(self.tx()?, filter, limit).during("find queued tasks")
    }

    fn tasks_of_request(&mut self, supervisor: &str, request: &str) -> Result<Vec<u64>, Failure> {
        find::tasks_of_request(self.tx()?, supervisor, request).during("find the tasks of a claim")
    }

    fn tasks_of_other_starts(
        &mut self,
        supervisor: &str,
        incarnation: &Incarnation,
    ) -> Result<Vec<u64>, Failure> {
        find::tasks_of_other_starts(self.tx()?, supervisor, incarnation)
            .during("find the tasks of earlier starts")
    }

    fn assignment(&mut self, workflow: &str, state: &str) -> Result<Option<Assignment>, Failure> {
        routines::assignment(self.tx()?, workflow, state).during("find the routine of a state")
    }

    fn assign(
        &mut self,
        upload: &Upload,
        bytes: &[u8],
        to: NewAssignment<'_>,
        now: Timestamp,
    ) -> Result<Assignment, Failure> {
        routines::assign(self.tx()?, upload, bytes, to, now).during("assign a routine")
    }

    fn expired_leases(&mut self, now: Timestamp, limit: u32) -> Result<Vec<u64>, Failure> {
        find::expired_leases(self.tx()?, now, limit).during("find leases that are over")
    }

    fn due_timers(&mut self, now: Timestamp, limit: u32) -> Result<Vec<u64>, Failure> {
        find::due_timers(self.tx()?, now, limit).during("find timers that are due")
    }

    fn extend_leases(&mut self, ms: i64) -> Result<u64, Failure> {
        find::extend_leases(self.tx()?, ms).during("extend the open leases")
    }

    fn held_tasks(&mut self) -> Result<u64, Failure> {
        find::held_tasks(self.tx()?).during("count the tasks under a lease")
    }

    fn live_tokens_outside(&mut self, served: &[(&str, &str)]) -> Result<u64, Failure> {
        find::live_tokens_outside(self.tx()?, served).during("count the live tokens")
    }

    fn control(&mut self) -> Result<ControlRow, Failure> {
        let sql = format!("SELECT {CONTROL} FROM control");
        let row = sql::first(self.tx()?, &sql, [], rows::control).during("read the control plane's row")?;
        row.ok_or_else(no_control)
    }

    fn record_graph(&mut self, structure: &str, checksum: &str) -> Result<(), Failure> {
        const SQL: &str = "UPDATE control SET structure = ?1, checksum = ?2";
        sql::run(self.tx()?, SQL, [structure, checksum]).during("put the workflow on record").map(drop)
    }

    fn commit(&mut self, now: Timestamp) -> Result<(), Failure> {
        const SQL: &str = "UPDATE control SET alive_at = ?1, latest = ?2, next_task = ?3, next_timer = ?4";
        let conn = self.tx()?;
        let changed = conn.total_changes() != self.changes_before;
        let writes = changed || now.ms_since(self.alive_at).unsigned_abs() >= ALIVE_MS as u64;
        let (alive_at, latest) = (self.alive_at.max(now), self.marks.latest.max(now));
        if writes {
            let Marks { next_task, next_timer, .. } = self.marks;
            sql::run(conn, SQL, params![alive_at.0, latest.0, next_task, next_timer]).during("commit")?;
        }
        sql::run(conn, "COMMIT", []).during("commit")?;
        if writes {
            (self.alive_at, self.marks.latest) = (alive_at, latest);
        }
        Ok(())
    }

    fn rollback(&mut self) {
        if let Some(conn) = self.conn.as_ref().filter(|conn| !conn.is_autocommit()) {
            // If even this fails, SQLite has ended the transaction by itself or will not commit it.
            let _ = sql::run(conn, "ROLLBACK", []);
        }
    }
}

/// Where numbers go on. The highest ids in use are looked at too, so that a row which was put in by hand costs a gap.
fn marks(conn: &Connection) -> Result<(Marks, Timestamp), Broken> {
    const SQL: &str = "SELECT max(next_task, 1 + (SELECT coalesce(max(id), 0) FROM tasks)), \
        max(next_timer, 1 + (SELECT coalesce(max(id), 0) FROM timers)), latest, alive_at FROM control";
    let read = sql::first(conn, SQL, [], |row| {
        let marks = Marks { next_task: row.get(0)?, next_timer: row.get(1)?, latest: Timestamp(row.get(2)?) };
        Ok((marks, Timestamp(row.get(3)?)))
    })?;
    read.ok_or_else(|| no_control().into())
}

fn no_control() -> Failure {
    let message =
        "the control plane's row is gone: another program changed the database; restore it from a backup";
    Failure::new(FailureKind::Unusable, message)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rusqlite::Connection;
    use stateous_engine::model::MemoryCell;
    use tempfile::TempDir;

    use super::*;
    use crate::{Options, SqliteStore};

    const NOW: Timestamp = Timestamp(1_000_000);

    fn opened() -> (TempDir, SqliteStore, SqliteWriter) {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { host: "test".to_owned(), now: NOW };
        let store = crate::open(&folder.path().join("test.db"), &options).unwrap();
        let conn = store.held.connection.lock().unwrap().take().unwrap();
        let writer = SqliteWriter::new(conn, Arc::clone(&store.held)).unwrap();
        (folder, store, writer)
    }

    fn put(bytes: usize) -> Change {
        let cell = MemoryCell { key: "k".to_owned(), value: "7".repeat(bytes).into() };
        Change::PutMemory { token: "t".to_owned(), state: "s".to_owned(), cell }
    }

    fn read(conn: &Connection, pragma: &str) -> String {
        let value =
            conn.pragma_query_value(None, pragma, |row| row.get::<_, rusqlite::types::Value>(0)).unwrap();
        match value {
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Integer(number) => number.to_string(),
            other => panic!("{pragma}: {other:?}"),
        }
    }

    #[test]
    fn a_commit_is_flushed_and_a_checkpoint_is_rare() {
        let (_folder, _store, writer) = opened();
        let conn = writer.conn().unwrap();
        let settings = [
            "journal_mode",
            "synchronous",
            "wal_autocheckpoint",
            "journal_size_limit",
            "busy_timeout",
            "cache_size",
        ];
        let expected = ["wal", "2", "16384", "-1", "30000", "-65536"];
        assert_eq!(settings.map(|name| read(conn, name)), expected);
    }

    #[test]
    fn a_full_disk_is_told_and_passes() {
        let (_folder, _store, mut writer) = opened();
        let pages: i64 = read(writer.conn().unwrap(), "page_count").parse().unwrap();
        let limit = |writer: &SqliteWriter, pages: i64| {
            writer
                .conn()
                .unwrap()
                .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
                .unwrap();
        };
        limit(&writer, pages + 4);
        writer.begin().unwrap();
        let failure = writer.apply(&[put(10), put(1 << 20)]).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Busy, "{failure:?}");
        assert!(failure.message.contains("change the memory of token t: the disk is full"), "{failure}");
        writer.rollback();
        // What is small still fits, and once there is room all does.
        for (pages, bytes) in [(pages + 4, 10), (pages + 1000, 1 << 20)] {
            limit(&writer, pages);
            writer.begin().unwrap();
            writer.apply(&[put(bytes)]).unwrap();
            writer.commit(NOW).unwrap();
        }
    }

    #[test]
    fn another_programs_lock_is_told() {
        let (folder, _store, mut writer) = opened();
        let other = Connection::open(folder.path().join("test.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        writer.conn().unwrap().busy_timeout(Duration::ZERO).unwrap();
        let failure = writer.begin().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Busy);
        assert!(failure.message.contains("another program has locked the database"), "{failure}");
        other.execute_batch("ROLLBACK").unwrap();
        writer.begin().unwrap();
        writer.rollback();
    }

    #[test]
    fn a_row_that_does_not_read_is_one_inputs_fault() {
        let (_folder, _store, mut writer) = opened();
        const DAMAGED: &str = "INSERT INTO tokens VALUES ('t', 't', 'w', 'x', 's', 'completed_with_errors', 1, 1, 1, \
            NULL, 1, '{}', '{}', 'e', NULL, NULL, NULL, NULL)";
        writer.conn().unwrap().execute_batch(DAMAGED).unwrap();
        writer.begin().unwrap();
        let failure = writer.load(&Wanted { token: Some("t".to_owned()), ..Wanted::default() }).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Statement);
        assert!(failure.message.contains(r#"tokens.status holds "completed_with_errors""#), "{failure}");
    }
}
