//! Reads beside the writer: what the API shows.

use std::fmt::Write as _;
use std::sync::Arc;

use rusqlite::params;
use stateous_engine::Timestamp;
use stateous_engine::change::TokenView;
use stateous_engine::model::{Entry, Status};
use stateous_store::{Assignment, Failure, ListedToken, Reader, TokenFilter, Upload};

use crate::rows::{self, ENTRY, TOKEN, TOKEN_WIDTH};
use crate::{Held, find, routines, sql};

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

    fn tokens(&self, filter: &TokenFilter) -> Result<Vec<ListedToken>, Failure> {
        let sql = listing(filter);
        self.held.pool().read("list tokens", |conn| {
            sql::all(conn, &sql, params![filter.parent, filter.limit], |row| {
                Ok(ListedToken { token: rows::token(row)?, context: row.get(TOKEN_WIDTH)? })
            })
        })
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

/// The statement of a listing. ?1 is the parent, ?2 the limit.
///
/// The newest of each status come from that status's stretch of an index and are merged: the cost follows the limit,
/// not the number of tokens, and one index serves a listing with a status and one without.
pub(crate) fn listing(filter: &TokenFilter) -> String {
    let parent = if filter.parent.is_some() { "parent = ?1 AND " } else { "?1 IS NULL AND " };
    let mut page = String::new();
    for status in Status::ALL.into_iter().filter(|s| filter.takes(*s)) {
        let union = if page.is_empty() { "" } else { " UNION ALL " };
        let status = status.as_str();
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "{union}SELECT * FROM (SELECT rowid AS number, entered_at, id FROM tokens \
             WHERE {parent}status = '{status}' ORDER BY entered_at DESC, id LIMIT ?2)"
        );
    }
    format!(
        "SELECT {TOKEN}, c.context FROM (SELECT * FROM ({page}) ORDER BY entered_at DESC, id LIMIT ?2) AS page \
         JOIN tokens t ON t.rowid = page.number JOIN contexts c ON c.token = t.id \
         ORDER BY page.entered_at DESC, page.id"
    )
}
