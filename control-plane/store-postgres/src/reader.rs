//! Reads beside the writer: what the API shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use stateous_engine::Timestamp;
use stateous_engine::change::TokenView;
use stateous_engine::model::{Entry, Task};
use stateous_store::{
    Assignment, Failure, ListedToken, Reader, TaskFilter, TaskPage, TokenFilter, TokenPage, Upload,
};

use crate::load::cannot_be_there;
use crate::rows::{self, ENTRY, TOKEN, TOKEN_WIDTH, get};
use crate::sql::{self, params};
use crate::{Held, find, listing, routines};

/// Reads through the pool.
pub(crate) struct PostgresReader {
    held: Arc<Held>,
}

impl PostgresReader {
    pub(crate) const fn new(held: Arc<Held>) -> Self {
        Self { held }
    }
}

impl Reader for PostgresReader {
    fn token(&self, id: &str) -> Result<Option<TokenView>, Failure> {
        if cannot_be_there(id) {
            return Ok(None);
        }
        let sql = format!(
            "SELECT {TOKEN}, c.context FROM tokens t JOIN contexts c ON c.token = t.id \
             WHERE t.folded = $1 AND t.id = $2"
        );
        self.held.pool().read("read a token", |conn| {
            sql::first(conn, &sql, params![id.to_ascii_lowercase(), id], |row| {
                Ok(TokenView { token: rows::token(row)?, context: get::<&str>(row, TOKEN_WIDTH)?.into() })
            })
        })
    }

    fn tokens(&self, filter: &TokenFilter) -> Result<TokenPage, Failure> {
        self.held.pool().read("list tokens", |conn| listing::tokens(conn, filter))
    }

    fn listed(&self, ids: &[String], bytes: usize) -> Result<(Vec<ListedToken>, usize), Failure> {
        self.held.pool().read("list tokens", |conn| listing::listed(conn, ids, bytes))
    }

    fn task(&self, id: u64) -> Result<Option<Task>, Failure> {
        self.held.pool().read("read a task", |conn| listing::task(conn, id))
    }

    fn tasks(&self, filter: &TaskFilter) -> Result<TaskPage, Failure> {
        self.held.pool().read("list tasks", |conn| listing::tasks(conn, filter))
    }

    fn held_by_supervisor(&self) -> Result<BTreeMap<String, u64>, Failure> {
        self.held.pool().read("count held tasks", listing::held_by_supervisor)
    }

    fn history(&self, id: &str, after: u64, limit: u32) -> Result<Option<Vec<Entry>>, Failure> {
        const EXISTS: &str = "SELECT 1 FROM tokens WHERE folded = $1 AND id = $2";
        if cannot_be_there(id) {
            return Ok(None);
        }
        let entries =
            format!("SELECT {ENTRY} FROM ledger WHERE token = $1 AND seq > $2 ORDER BY seq LIMIT $3");
        self.held.pool().read("read a history", |conn| {
            if sql::first(conn, EXISTS, params![id.to_ascii_lowercase(), id], |_| Ok(()))?.is_none() {
                return Ok(None);
            }
            // No entry has a larger number, and Postgres could not even be asked for one.
            let after = i64::try_from(after).unwrap_or(i64::MAX);
            sql::all(conn, &entries, params![id, after, i64::from(limit)], rows::entry).map(Some)
        })
    }

    fn assignments(&self) -> Result<Vec<(Assignment, Upload)>, Failure> {
        self.held.pool().read("list routines", routines::assignments)
    }

    fn component(&self, digest: &str) -> Result<Option<Vec<u8>>, Failure> {
        if cannot_be_there(digest) {
            return Ok(None);
        }
        self.held.pool().read("read a component", |conn| routines::component(conn, digest))
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        self.held.pool().read("find the next lease or timer", find::next_due)
    }
}
