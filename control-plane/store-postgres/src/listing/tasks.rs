//! Pages of tasks, and what supervisors hold.

use std::collections::{BTreeMap, BTreeSet};

use stateous_engine::model::{Task, TaskStatus};
use stateous_store::{QueuedFilter, TaskFilter, TaskPage};

use super::{LOOKED, rows as count_of, wider};
use crate::connection::Connection;
use crate::failure::Broken;
use crate::find;
use crate::load::cannot_be_there;
use crate::rows::{self, TASK, get, whole};
use crate::sql::{self, params};

/// States of workflows.
type Pairs = BTreeSet<(String, String)>;

/// One task.
pub(crate) fn task(conn: &mut Connection, id: u64) -> Result<Option<Task>, Broken> {
    let sql = format!("SELECT {TASK} FROM tasks WHERE id = $1");
    // No task has a larger number, and Postgres could not even be asked for one.
    let Ok(id) = i64::try_from(id) else { return Ok(None) };
    sql::first(conn, &sql, params![id], rows::task)
}

/// How many tasks each supervisor holds. Walks over the tasks that are held at all, which supervisors bound.
pub(crate) fn held_by_supervisor(conn: &mut Connection) -> Result<BTreeMap<String, u64>, Broken> {
    const SQL: &str = "SELECT claimed_by, count(*) FROM tasks \
        WHERE status IN ('claimed', 'started') AND claimed_by IS NOT NULL GROUP BY claimed_by";
    let found = sql::all(conn, SQL, params![], |row| Ok((get(row, 0)?, whole(row, 1)?)))?;
    Ok(found.into_iter().collect())
}

/// A page of the listing that a filter asks for.
pub(crate) fn tasks(conn: &mut Connection, filter: &TaskFilter) -> Result<TaskPage, Broken> {
    let limit = filter.limit as usize;
    let mut page = TaskPage::default();
    let names = [&filter.workflow, &filter.state, &filter.token, &filter.supervisor];
    if limit == 0 || names.into_iter().flatten().any(|name| cannot_be_there(name)) {
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
        let tasks = stretches.read(conn, after, count)?;
        let last = tasks.len() < count;
        for task in tasks {
            if page.tasks.len() == limit || looked == LOOKED {
                page.next = Some(after);
                return Ok(page);
            }
            looked += 1;
            after = task.id;
            page.tasks.extend(Some(task).filter(|task| filter.takes(task, unserved.as_ref())));
        }
        if last {
            return Ok(page);
        }
        count = wider(count);
    }
}

/// States with queued tasks that none of these claims would take.
fn unserved(conn: &mut Connection, claims: &[QueuedFilter]) -> Result<Pairs, Broken> {
    let (queued, assigned) = (find::queued_states(conn)?, find::assigned_states(conn)?);
    let mut found = Pairs::new();
    for (workflow, state) in queued {
        let pair = (workflow, state);
        let known = || Ok::<_, Broken>(assigned.contains(&pair));
        if !QueuedFilter::is_served(claims, &pair.0, &pair.1, known)? {
            found.insert(pair);
        }
    }
    Ok(found)
}

/// Where the tasks of a listing lie.
enum Stretches<'a> {
    /// Every task.
    All,
    /// The tasks of a token; only the open ones, or all.
    OfToken { token: &'a str, open: bool },
    /// Open tasks, by status and state.
    Open(Vec<(TaskStatus, String, String)>),
}

impl<'a> Stretches<'a> {
    fn of(conn: &mut Connection, filter: &'a TaskFilter, unserved: Option<&Pairs>) -> Result<Self, Broken> {
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

    /// Tasks with ids above `after`, lowest first, at most `count`.
    fn read(&self, conn: &mut Connection, after: u64, count: usize) -> Result<Vec<Task>, Broken> {
        const OPEN: &str = "status IN ('queued', 'claimed', 'started', 'waiting')";
        const ENDED: &str = "status IN ('finalizing', 'done', 'failed', 'cancelled')";
        let (after, count) = (i64::try_from(after).unwrap_or(i64::MAX), count_of(count));
        match self {
            Self::All => {
                let sql = format!("SELECT {TASK} FROM tasks WHERE id > $1 ORDER BY id LIMIT $2");
                sql::all(conn, &sql, params![after, count], rows::task)
            }
            Self::OfToken { token, open } => {
                // One index holds what is open, another what is not.
                let stretch = |of: &str| {
                    format!(
                        "(SELECT {TASK} FROM tasks WHERE {of} AND token = $3 AND id > $1 ORDER BY id LIMIT $2)"
                    )
                };
                let ended = if *open { String::new() } else { format!(" UNION ALL {}", stretch(ENDED)) };
                let sql = format!(
                    "SELECT found.* FROM ({}{ended}) AS found ORDER BY found.id LIMIT $2",
                    stretch(OPEN)
                );
                sql::all(conn, &sql, params![after, count, *token], rows::task)
            }
            Self::Open(stretches) => {
                // One index holds what is queued, another what is at work.
                let sql = format!(
                    "SELECT found.* FROM ( \
                     SELECT q.* FROM unnest($3::text[], $4::text[]) AS s (workflow, state) CROSS JOIN LATERAL ( \
                         SELECT {TASK} FROM tasks WHERE status = 'queued' \
                         AND workflow = s.workflow AND state = s.state AND id > $1 ORDER BY id LIMIT $2) AS q \
                     UNION ALL SELECT w.* FROM unnest($5::text[], $6::text[], $7::text[]) AS s (status, workflow, state) \
                     CROSS JOIN LATERAL ( \
                         SELECT {TASK} FROM tasks WHERE status IN ('claimed', 'started', 'waiting') AND status = s.status \
                         AND workflow = s.workflow AND state = s.state AND id > $1 ORDER BY id LIMIT $2) AS w \
                     ) AS found ORDER BY found.id LIMIT $2"
                );
                let is_queued = |(status, ..): &&(TaskStatus, String, String)| *status == TaskStatus::Queued;
                let (queued, at_work): (Vec<_>, Vec<_>) = stretches.iter().partition(is_queued);
                let workflows = |of: &[&'_ (TaskStatus, String, String)]| -> Vec<String> {
                    of.iter().map(|(_, workflow, _)| workflow.clone()).collect()
                };
                let states = |of: &[&'_ (TaskStatus, String, String)]| -> Vec<String> {
                    of.iter().map(|(.., state)| state.clone()).collect()
                };
                let statuses: Vec<&str> = at_work.iter().map(|(status, ..)| status.as_str()).collect();
                let values = params![
                    after,
                    count,
                    workflows(&queued),
                    states(&queued),
                    statuses,
                    workflows(&at_work),
                    states(&at_work),
                ];
                sql::all(conn, &sql, values, rows::task)
            }
        }
    }
}

/// The states of which a task is claimed, started or waiting.
fn states_at_work(conn: &mut Connection) -> Result<Vec<(String, String)>, Broken> {
    const SQL: &str = "WITH RECURSIVE pairs AS ( \
        (SELECT workflow, state FROM tasks WHERE status IN ('claimed', 'started', 'waiting') \
            ORDER BY workflow, state LIMIT 1) \
        UNION ALL SELECT next.workflow, next.state FROM pairs CROSS JOIN LATERAL ( \
            SELECT workflow, state FROM tasks WHERE status IN ('claimed', 'started', 'waiting') \
            AND (workflow, state) > (pairs.workflow, pairs.state) ORDER BY workflow, state LIMIT 1) AS next) \
        SELECT workflow, state FROM pairs";
    sql::all(conn, SQL, params![], |row| Ok((get(row, 0)?, get(row, 1)?)))
}
