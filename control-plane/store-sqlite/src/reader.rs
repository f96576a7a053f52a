//! Reads beside the writer: what the API shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::params;
use stateous_engine::Timestamp;
use stateous_engine::change::TokenView;
use stateous_engine::model::{Entry, Task};
use stateous_store::{
    Assignment, Failure, ListedToken, Reader, TaskFilter, TaskPage, TokenFilter, TokenPage, Upload,
};

use crate::rows::{self, ENTRY, TOKEN, TOKEN_WIDTH};
use crate::{Held, find, listing, routines, sql};

/// Reads through the pool.
pub(crate) struct SqliteReader {
    held: Arc<Held>,
}

impl SqliteReader {
    pub(crate) const fn new(held: Arc<Held>) -> Self {
        Self { held }
    }
}

impl Reader for SqliteReader {
    fn token(&self, id: &str) -> Result<Option<TokenView>, Failure> {
        let sql = format!(
            "SELECT {TOKEN}, c.context FROM tokens t JOIN contexts c ON c.token = t.id \
             WHERE t.folded = ?1 AND t.id = ?2"
        );
        self.held.pool().read("read a token", |conn| {
            sql::first(conn, &sql, [&id.to_ascii_lowercase(), id], |row| {
                Ok(TokenView { token: rows::token(row)?, context: row.get(TOKEN_WIDTH)? })
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
        const EXISTS: &str = "SELECT 1 FROM tokens WHERE folded = ?1 AND id = ?2";
        let entries =
            format!("SELECT {ENTRY} FROM ledger WHERE token = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3");
        self.held.pool().read("read a history", |conn| {
            if sql::first(conn, EXISTS, [&id.to_ascii_lowercase(), id], |_| Ok(()))?.is_none() {
                return Ok(None);
            }
            // No entry has a larger number, and SQLite could not even be asked for one.
            let after = after.min(i64::MAX as u64);
            sql::all(conn, &entries, params![id, after, limit], rows::entry).map(Some)
        })
    }

    fn assignments(&self) -> Result<Vec<(Assignment, Upload)>, Failure> {
        self.held.pool().read("list routines", routines::assignments)
    }

    fn component(&self, digest: &str) -> Result<Option<Vec<u8>>, Failure> {
        self.held.pool().read("read a component", |conn| routines::component(conn, digest))
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        self.held.pool().read("find the next lease or timer", find::next_due)
    }
}
