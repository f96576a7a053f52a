//! One connection, as synchronous code sees it: each statement blocks its caller, for no longer than its limit.
//!
//! Every connection has a small runtime of its own, which runs only while a statement does and on the thread that waits
//! for it: an answer wakes nobody else. Postgres ends statements by itself (`statement_timeout`); the limit here is
//! for a network that says nothing any more.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgDatabaseError, PgSeverity};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::runtime::{Builder, Runtime};

use crate::failure::Broken;

/// A connection. What was open in it is undone by Postgres when it is dropped.
pub(crate) struct Connection {
    inner: PgConnection,
    /// `None` only while it is being dropped.
    runtime: Option<Runtime>,
    limit: Duration,
    gone: bool,
}

impl Connection {
    /// Connects within `connect`. Every statement afterwards gets an answer within `limit`, or the connection is gone.
    pub(crate) fn open(
        options: &PgConnectOptions,
        connect: Duration,
        limit: Duration,
    ) -> Result<Self, Broken> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(sqlx::Error::Io)?;
        let connected = runtime.block_on(async { tokio::time::timeout(connect, options.connect()).await });
        let broken = match connected {
            Ok(Ok(inner)) => return Ok(Self { inner, runtime: Some(runtime), limit, gone: false }),
            Ok(Err(error)) => Broken::Sql(error),
            Err(_) => Broken::Silent(connect),
        };
        // A name that is being looked up must not be waited for.
        runtime.shutdown_background();
        Err(broken)
    }

    /// Another limit for every statement from now on.
    pub(crate) const fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Runs statements, and waits for them.
    pub(crate) fn wait<T>(
        &mut self,
        ask: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, Broken> {
        self.wait_within(self.limit, ask)
    }

    /// Asks for a sign of life.
    pub(crate) fn ping(&mut self, limit: Duration) -> Result<(), Broken> {
        self.wait_within(limit, async |conn| conn.ping().await)
    }

    /// Whether no statement can be run on it any more.
    pub(crate) const fn is_gone(&self) -> bool {
        self.gone
    }

    fn wait_within<T>(
        &mut self,
        limit: Duration,
        ask: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, Broken> {
        let Self { inner, runtime: Some(runtime), gone, .. } = self else { return Err(Broken::Gone) };
        if *gone {
            return Err(Broken::Gone);
        }
        let answer = runtime.block_on(async { tokio::time::timeout(limit, ask(inner)).await });
        // An answer that comes too late would be taken for the next statement's.
        *gone = answer.as_ref().map_or(true, |answer| answer.as_ref().is_err_and(ends_the_connection));
        Ok(answer.map_err(|_| Broken::Silent(limit))??)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Not by its own drop, which may not happen inside another runtime.
            runtime.shutdown_background();
        }
    }
}

/// Whether Postgres closed the connection with this error, or it is in no state to go on.
fn ends_the_connection(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(said) => said
            .try_downcast_ref::<PgDatabaseError>()
            .is_none_or(|said| matches!(said.severity(), PgSeverity::Fatal | PgSeverity::Panic)),
        sqlx::Error::Encode(_)
        | sqlx::Error::Decode(_)
        | sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::ColumnIndexOutOfBounds { .. }
        | sqlx::Error::RowNotFound => false,
        _ => true,
    }
}
