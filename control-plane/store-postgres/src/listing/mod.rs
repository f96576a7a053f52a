//! Listings: pages of tokens and of tasks, at a cost that follows the page and not the table.
//!
//! A page is merged from *stretches* of an index. A stretch is all that the index holds for one value of its leading
//! columns (one status of one state, say), and lies there in the listing's own order; there are as many as a workflow has
//! states, however many tokens or tasks there are. All stretches of a page are read in one statement. What no index can
//! narrow is checked row by row, for at most [`LOOKED`] rows a page.

mod tasks;
mod tokens;

pub(crate) use tasks::{held_by_supervisor, task, tasks};
pub(crate) use tokens::{listed, tokens};

/// The most rows that one page looks at. A page that ends here says where to go on.
const LOOKED: usize = 10_000;
/// The most rows that are looked up in one step.
const STEP: usize = 1_000;

/// How many rows the next step looks up, when those of this one were not enough: many of them are not wanted.
const fn wider(count: usize) -> usize {
    if count >= STEP / 4 { STEP } else { count * 4 }
}

/// A number of rows as Postgres takes it.
fn rows(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
