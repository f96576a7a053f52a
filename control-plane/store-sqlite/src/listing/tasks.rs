//! Pages of tasks, and what supervisors hold.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};
use stateous_engine::model::{Task, TaskStatus};
use stateous_store::{QueuedFilter, TaskFilter, TaskPage};

use super::{LOOKED, distinct, wider};
use crate::failure::Broken;
use crate::rows::{self, TASK};
use crate::{find, sql};

/// States of workflows.
type Pairs = BTreeSet<(String, String)>;

/// One task.
pub(crate) fn task(conn: &Connection, id: u64) -> Result<Option<Task>, Broken> {
    let sql = format!("SELECT {TASK} FROM tasks WHERE id = ?1");
    // No task has a larger number, and SQLite could not even be asked for one.
    if i64::try_from(id).is_err() {
        return Ok(None);
    }
    sql::first(conn, &sql, [id], rows::task)
}

/// How many tasks each supervisor holds. Walks over the tasks that are held at all, which supervisors bound.
pub(crate) fn held_by_supervisor(conn: &Connection) -> Result<BTreeMap<String, u64>, Broken> {
    const SQL: &str = "SELECT claimed_by, count(*) FROM tasks INDEXED BY tasks_leased \
        WHERE status IN ('claimed', 'started') AND claimed_by IS NOT NULL GROUP BY claimed_by";
    Ok(sql::all(conn, SQL, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
}

/// A page of the listing that a filter asks for.
pub(crate) fn tasks(conn: &Connection, filter: &TaskFilter) -> Result<TaskPage, Broken> {
    let limit = filter.limit as usize;
    let mut page = TaskPage::default();
    if limit == 0 {
        return Ok(page);
    }
    let unserved = match &filter.unserved {
        Some(claims) => Some(unserved(conn, claims)?),
        None => None,
    };
    let stretches = Stretches::of(conn, filter, unserved.as_ref())?;
    let (mut after, mut looked) = (filter.after, 0);
    // One more than the page has room for: it tells whether there is a next one.
    let mut count = limit + 1;
    loop {
        let ids = stretches.read(conn, after, count)?;
        let last = ids.len() < count;
        for id in ids {
            if page.tasks.len() == limit || looked == LOOKED {
                page.next = Some(after);
                return Ok(page);
            }
            looked += 1;
            after = id;
            let found = task(conn, id)?.filter(|task| filter.takes(task, unserved.as_ref()));
            page.tasks.extend(found);
        }
        if last {
            return Ok(page);
        }
        count = wider(count);
    }
}

/// States with queued tasks that none of these claims would take.
fn unserved(conn: &Connection, claims: &[QueuedFilter]) -> Result<Pairs, Broken> {
    let mut found = Pairs::new();
    for (workflow, state) in find::queued_states(conn)? {
        let assigned = || find::is_assigned(conn, &workflow, &state);
        if !QueuedFilter::is_served(claims, &workflow, &state, assigned)? {
            found.insert((workflow, state));
        }
    }
    Ok(found)
}

/// Where the ids of a listing lie.
enum Stretches<'a> {
    /// Every task.
    All,
    /// The tasks of a token; only the open ones, or all.
    OfToken { token: &'a str, open: bool },
    /// Open tasks, by status and state.
    Open(Vec<(TaskStatus, String, String)>),
}

impl<'a> Stretches<'a> {
    fn of(conn: &Connection, filter: &'a TaskFilter, unserved: Option<&Pairs>) -> Result<Self, Broken> {
        let open = filter.statuses.iter().all(|status| status.is_open());
        if let Some(token) = &filter.token {
            return Ok(Self::OfToken { token, open });
        }
        if !open {
            return Ok(Self::All);
        }
        let mut found = Vec::new();
        if filter.statuses.contains(&TaskStatus::Queued) {
            let queued = match unserved {
                Some(pairs) => pairs.iter().cloned().collect(),
                None => find::queued_states(conn)?,
            };
            found.extend(queued.into_iter().map(|(workflow, state)| (TaskStatus::Queued, workflow, state)));
        }
        let beyond: Vec<TaskStatus> =
            filter.statuses.iter().copied().filter(|status| *status != TaskStatus::Queued).collect();
        if !beyond.is_empty() && unserved.is_none() {
            for (workflow, state) in states_at_work(conn)? {
                found.extend(beyond.iter().map(|status| (*status, workflow.clone(), state.clone())));
            }
        }
        let same = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|w| w == found);
        found.retain(|(_, workflow, state)| same(&filter.workflow, workflow) && same(&filter.state, state));
        Ok(Self::Open(found))
    }

    /// Ids above `after`, lowest first, at most `count`.
    fn read(&self, conn: &Connection, after: u64, count: usize) -> Result<Vec<u64>, Broken> {
        const ALL: &str = "SELECT id FROM tasks WHERE id > ?1 ORDER BY id LIMIT ?2";
        const OF_TOKEN: &str = "SELECT id FROM tasks INDEXED BY tasks_token \
            WHERE token = ?3 AND id > ?1 ORDER BY id LIMIT ?2";
        const OPEN_OF_TOKEN: &str = "SELECT id FROM tasks INDEXED BY tasks_open \
            WHERE status IN ('queued', 'claimed', 'started', 'waiting') AND token = ?3 AND id > ?1 \
            ORDER BY id LIMIT ?2";
        const QUEUED: &str = "SELECT id FROM tasks INDEXED BY tasks_queued \
            WHERE status = 'queued' AND workflow = ?4 AND state = ?5 AND id > ?1 AND id <= ?3 \
            ORDER BY id LIMIT ?2";
        const AT_WORK: &str = "SELECT id FROM tasks INDEXED BY tasks_at_work \
            WHERE status IN ('claimed', 'started', 'waiting') AND status = ?6 AND workflow = ?4 AND state = ?5 \
            AND id > ?1 AND id <= ?3 ORDER BY id LIMIT ?2";
        let id = |row: &rusqlite::Row<'_>| Ok(row.get(0)?);
        let after = after.min(i64::MAX as u64);
        match self {
            Self::All => sql::all(conn, ALL, params![after, count], id),
            Self::OfToken { token, open } => {
                let sql = if *open { OPEN_OF_TOKEN } else { OF_TOKEN };
                sql::all(conn, sql, params![after, count, token], id)
            }
            Self::Open(stretches) => {
                let mut lowest: Vec<u64> = Vec::new();
                for (status, workflow, state) in stretches {
                    // A stretch is read no further than it can still matter.
                    let full = lowest.len() >= count;
                    let highest = lowest.last().copied().filter(|_| full).unwrap_or(i64::MAX as u64);
                    lowest.extend(if *status == TaskStatus::Queued {
                        sql::all(conn, QUEUED, params![after, count, highest, workflow, state], id)?
                    } else {
                        let params = params![after, count, highest, workflow, state, status.as_str()];
                        sql::all(conn, AT_WORK, params, id)?
                    });
                    lowest.sort_unstable();
                    lowest.truncate(count);
                }
                Ok(lowest)
            }
        }
    }
}

/// The states of which a task is claimed, started or waiting.
fn states_at_work(conn: &Connection) -> Result<Vec<(String, String)>, Broken> {
    const WORKFLOW: &str = "SELECT workflow FROM tasks INDEXED BY tasks_at_work \
        WHERE status IN ('claimed', 'started', 'waiting') AND workflow > ?1 ORDER BY workflow LIMIT 1";
    const STATE: &str = "SELECT state FROM tasks INDEXED BY tasks_at_work \
        WHERE status IN ('claimed', 'started', 'waiting') AND workflow = ?1 AND state > ?2 \
        ORDER BY state LIMIT 1";
    let mut pairs = Vec::new();
    for workflow in distinct(conn, WORKFLOW, &[])? {
        let states = distinct(conn, STATE, &[&workflow])?;
        pairs.extend(states.into_iter().map(|state| (workflow.clone(), state)));
    }
    Ok(pairs)
}
