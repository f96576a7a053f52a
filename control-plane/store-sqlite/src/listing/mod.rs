//! Listings: pages of tokens and of tasks, at a cost that follows the page and not the table.
//!
//! A page is merged from *stretches* of an index. A stretch is all that the index holds for one value of its leading
//! columns (one status of one state, say), and lies there in the listing's own order; there are as many as a workflow has
//! states, however many tokens or tasks there are. What no index can narrow is checked row by row, for at most [`LOOKED`]
//! rows a page.

mod tasks;
mod tokens;

pub(crate) use tasks::{held_by_supervisor, task, tasks};
pub(crate) use tokens::{listed, tokens};

use rusqlite::Connection;

use crate::failure::Broken;
use crate::sql;

/// The most rows that one page looks at. A page that ends here says where to go on.
const LOOKED: usize = 10_000;
/// The most rows that are looked up in one step.
const STEP: usize = 1_000;

/// How many rows the next step looks up, when those of this one were not enough: many of them are not wanted.
const fn wider(count: usize) -> usize {
    if count >= STEP / 4 { STEP } else { count * 4 }
}

/// Every value of a column that lies beyond `''`, each looked up by the one before it: SQLite's own `DISTINCT` would walk
/// over every row. `next` is a statement whose last parameter is the value before; `fixed` are the ones before that.
fn distinct(conn: &Connection, next: &str, fixed: &[&str]) -> Result<Vec<String>, Broken> {
    let mut found: Vec<String> = Vec::new();
    loop {
        let before = found.last().map_or("", String::as_str);
        let params = rusqlite::params_from_iter(fixed.iter().copied().chain([before]));
        match sql::first(conn, next, params, |row| Ok(row.get(0)?))? {
            Some(value) => found.push(value),
            None => return Ok(found),
        }
    }
}
