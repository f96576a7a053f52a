//! Three ways to run a statement. Statements are prepared once a connection and kept.

use rusqlite::{Connection, Params, Row};

use crate::failure::Broken;

/// The first row, if there is one.
pub(crate) fn first<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, Broken>,
) -> Result<Option<T>, Broken> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    rows.next()?.map(read).transpose()
}

/// Every row, in the statement's order.
pub(crate) fn all<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, Broken>,
) -> Result<Vec<T>, Broken> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Writes, and answers how many rows were written.
pub(crate) fn run(conn: &Connection, sql: &str, params: impl Params) -> Result<usize, Broken> {
    Ok(conn.prepare_cached(sql)?.execute(params)?)
}
