//! Four ways to run a statement. Statements with parameters are prepared once a connection and kept; plans are not kept
//! (`open` says so to Postgres).

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{AssertSqlSafe, raw_sql};

use crate::connection::Connection;
use crate::failure::Broken;

/// The parameters of a statement, in order.
macro_rules! params {
    () => {
        $crate::sql::Params::Ok(::sqlx::postgres::PgArguments::default())
    };
    ($($value:expr),+ $(,)?) => {{
        let mut arguments = ::sqlx::postgres::PgArguments::default();
        let mut added: Result<(), ::sqlx::error::BoxDynError> = Ok(());
        $(
            let value = $value;
            added = added.and_then(|()| ::sqlx::Arguments::add(&mut arguments, value));
        )+
        added.map(|()| arguments)
    }};
}
pub(crate) use params;

/// What [`params!`] makes.
pub(crate) type Params = Result<PgArguments, sqlx::error::BoxDynError>;

/// The first row, if there is one.
pub(crate) fn first<T>(
    conn: &mut Connection,
    sql: &str,
    params: Params,
    read: impl FnOnce(&PgRow) -> Result<T, Broken>,
) -> Result<Option<T>, Broken> {
    let query = sqlx::query_with(AssertSqlSafe(sql), params.map_err(sqlx::Error::Encode)?);
    conn.wait(async |conn| query.fetch_optional(conn).await)?.map(|row| read(&row)).transpose()
}

/// Every row, in the statement's order.
pub(crate) fn all<T>(
    conn: &mut Connection,
    sql: &str,
    params: Params,
    read: impl Fn(&PgRow) -> Result<T, Broken>,
) -> Result<Vec<T>, Broken> {
    let query = sqlx::query_with(AssertSqlSafe(sql), params.map_err(sqlx::Error::Encode)?);
    conn.wait(async |conn| query.fetch_all(conn).await)?.iter().map(read).collect()
}

/// Writes, and answers how many rows were written.
pub(crate) fn run(conn: &mut Connection, sql: &str, params: Params) -> Result<u64, Broken> {
    let query = sqlx::query_with(AssertSqlSafe(sql), params.map_err(sqlx::Error::Encode)?);
    Ok(conn.wait(async |conn| query.execute(conn).await)?.rows_affected())
}

/// Runs statements without parameters in one round trip, and answers every row of every one. They may hold nothing that
/// came from outside.
pub(crate) fn script(conn: &mut Connection, sql: &str) -> Result<Vec<PgRow>, Broken> {
    let script = raw_sql(AssertSqlSafe(sql));
    conn.wait(async |conn| script.fetch_all(conn).await)
}
