//! The one connection that writes: transactions, and the verbs inside them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use stateous_engine::Timestamp;
use stateous_engine::change::Change;
use stateous_engine::loaded::{Loaded, Wanted};
use stateous_engine::model::{FanOutKey, Incarnation};
use stateous_store::{
    Assignment, ControlRow, Failure, FailureKind, NewAssignment, QueuedFilter, Upload, Writer,
};

use crate::connection::Connection;
use crate::failure::{Broken, During};
use crate::pending::{Pending, Touched};
use crate::rows::{self, CONTROL, get, time, whole};
use crate::sql::{self, params};
use crate::{Held, apply, find, load, routines};

/// How old the time at which this control plane was alive may be before a transaction without changes writes it: a
/// claim that finds nothing should not cost a flush of the disk.
const ALIVE_MS: i64 = 500;

/// How many decisions' rows are looked up together: bounds what is in memory, since contexts can be large.
const TOGETHER: usize = 64;

/// How many rows that were loaded ahead are kept besides.
const AHEAD_MAX: usize = 2 * TOGETHER;

/// The writer.
pub(crate) struct PostgresWriter {
    /// `None` after it broke; the next transaction makes another.
    conn: Option<Connection>,
    held: Arc<Held>,
    marks: Marks,
    /// The time that was committed last.
    alive_at: Timestamp,
    /// Whether a transaction is open.
    open: bool,
    /// Whether the transaction wrote anything.
    wrote: bool,
    pending: Pending,
    /// What all changes of the transaction are about, written or not.
    touched: Touched,
    /// What will be loaded next, in order.
    coming: VecDeque<Wanted>,
    /// What was loaded ahead of its time, in order.
    ahead: VecDeque<(Wanted, Loaded)>,
    /// Components in force, as the transaction found them.
    assignments: HashMap<(String, String), Option<Assignment>>,
}

/// What must only grow. Kept here rather than read back: a rolled back transaction leaves gaps, never a clash.
#[derive(Debug, Clone, Copy)]
struct Marks {
    next_task: u64,
    next_timer: u64,
    latest: Timestamp,
}

impl PostgresWriter {
    pub(crate) fn new(held: Arc<Held>) -> Result<Self, Failure> {
        let mut writer = Self {
            conn: None,
            held,
            marks: Marks { next_task: 1, next_timer: 1, latest: Timestamp(0) },
            alive_at: Timestamp(0),
            open: false,
            wrote: false,
            pending: Pending::default(),
            touched: Touched::default(),
            coming: VecDeque::new(),
            ahead: VecDeque::new(),
            assignments: HashMap::new(),
        };
        writer.connect()?;
        Ok(writer)
    }

    /// A connection, with what it says about where numbers go on: the last commit of one that broke may or may not have
    /// come through.
    fn connect(&mut self) -> Result<(), Failure> {
        self.conn = None;
        let mut conn = self.held.address.connect_to_write().during("connect to the database")?;
        let (marks, alive_at) = marks(&mut conn).during("read the control plane's row")?;
        self.marks = Marks {
            next_task: self.marks.next_task.max(marks.next_task),
            next_timer: self.marks.next_timer.max(marks.next_timer),
            latest: self.marks.latest.max(marks.latest),
        };
        self.alive_at = self.alive_at.max(alive_at);
        self.conn = Some(conn);
        Ok(())
    }

    /// The connection, inside a transaction.
    fn tx(&mut self) -> Result<&mut Connection, Failure> {
        let none = || Failure::new(FailureKind::Statement, "there is no open transaction; begin one first");
        self.conn.as_mut().filter(|_| self.open).ok_or_else(none)
    }

    /// The connection, with everything written that was decided.
    fn written(&mut self) -> Result<&mut Connection, Failure> {
        if !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            self.wrote = true;
            apply::apply(self.tx()?, &pending)?;
        }
        self.tx()
    }

    /// Opens a transaction in which nobody else can write, and checks that this control plane still may.
    fn try_begin(&mut self) -> Result<(), Failure> {
        // Whoever takes over waits for the row until this transaction has ended.
        const SQL: &str = "BEGIN; SELECT serving FROM control FOR NO KEY UPDATE";
        let conn = self.conn.as_mut().ok_or(Broken::Gone).during("begin a transaction")?;
        self.open = true;
        let rows = sql::script(conn, SQL).during("begin a transaction")?;
        let row = rows.first().ok_or_else(no_control)?;
        let serving = get::<Option<String>>(row, 0).during("begin a transaction")?;
        if serving.as_deref() == Some(self.held.lock.serving()) {
            return Ok(());
        }
        self.held.lock.lose();
        Err(taken_over())
    }

    /// What is wanted, if it was loaded ahead and nothing that was decided since has to do with it.
    fn loaded_ahead(&mut self, wanted: &Wanted) -> Option<Loaded> {
        let place = self.ahead.iter().position(|(coming, _)| coming == wanted)?;
        let (_, loaded) = self.ahead.remove(place)?;
        (!self.touched.touches(wanted, &loaded)).then_some(loaded)
    }

    /// Loads `wanted`, together with what comes after it if it was announced.
    fn load_with_next(&mut self, wanted: &Wanted) -> Result<Loaded, Failure> {
        let Some(place) = self.coming.iter().position(|coming| coming == wanted) else {
            return load::load(self.tx()?, wanted).during("load a token");
        };
        let end = self.coming.len().min(place + TOGETHER);
        let together: Vec<Wanted> = self.coming.drain(place..end).collect();
        let mut loaded = match load::load_all(self.tx()?, &together) {
            // One row that does not read must not keep the others from being loaded.
            Err(Broken::Row(_)) => return load::load(self.tx()?, wanted).during("load a token"),
            loaded => loaded.during("load a token")?.into_iter(),
        };
        let first = loaded.next().unwrap_or_default();
        // What was not asked for by now hardly will be.
        let old = self.ahead.len().saturating_sub(AHEAD_MAX);
        self.ahead.drain(..old);
        self.ahead.extend(together.into_iter().skip(1).zip(loaded));
        Ok(first)
    }

    fn forget(&mut self) {
        (self.open, self.wrote) = (false, false);
        (self.pending, self.touched) = (Pending::default(), Touched::default());
        self.coming.clear();
        self.ahead.clear();
        self.assignments.clear();
    }
}

impl Drop for PostgresWriter {
    fn drop(&mut self) {
        // Nothing is said to Postgres, since this may be a thread that must not wait: it undoes what was open in a
        // connection that is closed.
        self.conn = None;
        self.held.give_back();
    }
}

impl Writer for PostgresWriter {
    fn begin(&mut self) -> Result<(), Failure> {
        if self.open {
            return Err(Failure::new(FailureKind::Statement, "a transaction is open already"));
        }
        if self.held.lock.is_lost() {
            return Err(taken_over());
        }
        let kept = self.conn.as_ref().is_some_and(|conn| !conn.is_gone());
        if !kept {
            self.connect()?;
        }
        let asked = Instant::now();
        let mut begun = self.try_begin();
        // A connection that broke while nobody used it is found out here, when nothing was asked of it yet. One that was
        // silent has cost its time already.
        let gone = self.conn.as_ref().is_none_or(Connection::is_gone);
        if begun.is_err() && kept && gone && asked.elapsed() < self.held.address.limits.connect {
            self.forget();
            self.connect()?;
            begun = self.try_begin();
        }
        if begun.is_err() {
            self.rollback();
        }
        begun
    }

    fn ahead(&mut self, wanted: &mut dyn Iterator<Item = Wanted>) {
        self.coming.extend(wanted);
    }

    fn load(&mut self, wanted: &Wanted) -> Result<Loaded, Failure> {
        self.tx()?;
        let mut loaded = match self.loaded_ahead(wanted) {
            Some(loaded) => loaded,
            None => self.load_with_next(wanted)?,
        };
        if self.pending.touched.touches(wanted, &loaded) {
            loaded = load::load(self.written()?, wanted).during("load a token")?;
        }
        Ok(Loaded { next_task: self.marks.next_task, next_timer: self.marks.next_timer, ..loaded })
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), Failure> {
        self.tx()?;
        for change in changes {
            if !self.pending.add(change) {
                self.written()?;
                // Nothing waits now that it could go on from.
                let _ = self.pending.add(change);
            }
            self.touched.add(change);
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
        find::queued_tasks(self.written()?, filter, limit).during("find queued tasks")
    }

    fn tasks_of_request(&mut self, supervisor: &str, request: &str) -> Result<Vec<u64>, Failure> {
        // Asked by every claim, right after the one before it took tasks: those are looked at where they wait.
        let found = find::tasks_of_request(self.tx()?, supervisor, request);
        Ok(self.pending.with_request(found.during("find the tasks of a claim")?, supervisor, request))
    }

    fn tasks_of_other_starts(
        &mut self,
        supervisor: &str,
        incarnation: &Incarnation,
    ) -> Result<Vec<u64>, Failure> {
        find::tasks_of_other_starts(self.written()?, supervisor, incarnation)
            .during("find the tasks of earlier starts")
    }

    fn assignment(&mut self, workflow: &str, state: &str) -> Result<Option<Assignment>, Failure> {
        let place = (workflow.to_owned(), state.to_owned());
        if let Some(known) = self.assignments.get(&place) {
            return Ok(known.clone());
        }
        let found =
            routines::assignment(self.tx()?, workflow, state).during("find the routine of a state")?;
        self.assignments.insert(place, found.clone());
        Ok(found)
    }

    fn assign(
        &mut self,
        upload: &Upload,
        bytes: &[u8],
        to: NewAssignment<'_>,
        now: Timestamp,
    ) -> Result<Assignment, Failure> {
        self.wrote = true;
        self.assignments.clear();
        routines::assign(self.tx()?, upload, bytes, to, now).during("assign a routine")
    }

    fn expired_leases(&mut self, now: Timestamp, limit: u32) -> Result<Vec<u64>, Failure> {
        find::expired_leases(self.written()?, now, limit).during("find leases that are over")
    }

    fn due_timers(&mut self, now: Timestamp, limit: u32) -> Result<Vec<u64>, Failure> {
        find::due_timers(self.written()?, now, limit).during("find timers that are due")
    }

    fn pending_fan_outs(&mut self, limit: u32) -> Result<Vec<FanOutKey>, Failure> {
        find::pending_fan_outs(self.written()?, limit).during("find fan-outs that can go on")
    }

    fn extend_leases(&mut self, ms: i64) -> Result<u64, Failure> {
        self.wrote = true;
        find::extend_leases(self.written()?, ms).during("extend the open leases")
    }

    fn held_tasks(&mut self) -> Result<u64, Failure> {
        find::held_tasks(self.written()?).during("count the tasks under a lease")
    }

    fn live_tokens_outside(&mut self, served: &[(&str, &str)]) -> Result<u64, Failure> {
        find::live_tokens_outside(self.written()?, served).during("count the live tokens")
    }

    fn control(&mut self) -> Result<ControlRow, Failure> {
        let sql = format!("SELECT {CONTROL} FROM control");
        let row = sql::first(self.tx()?, &sql, params![], rows::control);
        row.during("read the control plane's row")?.ok_or_else(no_control)
    }

    fn record_graph(&mut self, structure: &str, checksum: &str) -> Result<(), Failure> {
        const SQL: &str = "UPDATE control SET structure = $1, checksum = $2";
        self.wrote = true;
        sql::run(self.tx()?, SQL, params![structure, checksum]).during("put the workflow on record").map(drop)
    }

    fn commit(&mut self, now: Timestamp) -> Result<(), Failure> {
        self.written()?;
        let writes = self.wrote || now.ms_since(self.alive_at).unsigned_abs() >= ALIVE_MS as u64;
        let (alive_at, latest) = (self.alive_at.max(now), self.marks.latest.max(now));
        let Marks { next_task, next_timer, .. } = self.marks;
        // Without writes there is nothing to flush, which a commit would do for the lock of the row alone.
        let end = if writes {
            format!(
                "UPDATE control SET alive_at = {}, latest = {}, next_task = {next_task}, next_timer = {next_timer}; \
                 COMMIT",
                alive_at.0, latest.0
            )
        } else {
            "ROLLBACK".to_owned()
        };
        sql::script(self.tx()?, &end).during("commit")?;
        self.forget();
        if writes {
            (self.alive_at, self.marks.latest) = (alive_at, latest);
        }
        Ok(())
    }

    fn rollback(&mut self) {
        if self.open
            && let Some(conn) = self.conn.as_mut()
            && sql::script(conn, "ROLLBACK").is_err()
        {
            // Postgres undoes what was open in a connection that is closed.
            self.conn = None;
        }
        self.forget();
    }
}

/// Where numbers go on. The highest ids in use are looked at too, so that a row which was put in by hand costs a gap.
fn marks(conn: &mut Connection) -> Result<(Marks, Timestamp), Broken> {
    const SQL: &str = "SELECT greatest(next_task, 1 + (SELECT coalesce(max(id), 0) FROM tasks)), \
        greatest(next_timer, 1 + (SELECT coalesce(max(id), 0) FROM timers)), latest, alive_at FROM control";
    let read = sql::first(conn, SQL, params![], |row| {
        let marks = Marks { next_task: whole(row, 0)?, next_timer: whole(row, 1)?, latest: time(row, 2)? };
        Ok((marks, time(row, 3)?))
    })?;
    read.ok_or_else(|| no_control().into())
}

pub(crate) fn no_control() -> Failure {
    let message =
        "the control plane's row is gone: another program changed the database; restore it from a backup";
    Failure::new(FailureKind::Unusable, message)
}

fn taken_over() -> Failure {
    let message = "another control plane took over this database; this one writes nothing any more";
    Failure::new(FailureKind::NotServing, message)
}
