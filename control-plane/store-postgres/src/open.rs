//! From a URL to a database that is surely ours, surely whole enough to serve, and surely nobody else's.
//!
//! Whatever is refused stays as it was. The checks go from the cheap to the dear: does the URL make sense, does somebody
//! answer, is it a Postgres that we know, is nobody serving the database, is its schema one that this program knows.

use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use stateous_store::{Failure, FailureKind};

use crate::connection::Connection;
use crate::failure::{Broken, During};
use crate::lock::Lock;
use crate::rows::get;
use crate::sql::{self, params};
use crate::{Limits, Options, PostgresStore, migrate};

/// The oldest Postgres that is taken, as `server_version_num` says it.
const OLDEST: i32 = 15_00_00;
/// How much longer than Postgres itself we wait for the end of a statement: then the network says nothing any more.
const GRACE: Duration = Duration::from_secs(5);

/// Opens the database at `url`, and makes its tables when there are none; the database itself must exist.
///
/// # Errors
/// `NotServing` when another control plane holds it. `Unusable` when it is not a database of ours, is newer than this
/// program, or may not be used; such a database is left as it was. `Busy` when it cannot be reached now.
pub fn open(url: &str, options: &Options) -> Result<PostgresStore, Failure> {
    let address = Address::read(url, options.limits.clone())?;
    let opening = format!("open {}", address.name);
    let mut conn = address.connect_to_hold().during(&opening)?;
    look(&mut conn, &address)?;
    Lock::take(&mut conn, &address)?;
    // A migration may take as long as it takes, whatever a request may.
    sql::script(&mut conn, "SET statement_timeout = 0").during(&opening)?;
    conn.set_limit(Duration::MAX);
    migrate::check(&mut conn, &address.name)?;
    migrate::migrate(&mut conn, &address.name, options.now)?;
    conn.set_limit(address.limits.statement + GRACE);
    sql::script(&mut conn, "RESET statement_timeout").during(&opening)?;
    let line = format!("process {} on {}, since {}", std::process::id(), options.host, options.now);
    let lock = Lock::serve(conn, address.clone(), &line)?;
    Ok(PostgresStore::new(address, lock))
}

/// Where a database is, and how we speak to it.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    options: PgConnectOptions,
    /// For people: without the password.
    pub(crate) name: String,
    pub(crate) limits: Limits,
}

impl Address {
    fn read(url: &str, limits: Limits) -> Result<Self, Failure> {
        let options: PgConnectOptions = url.parse().map_err(|e: sqlx::Error| {
            let message =
                "the database's URL cannot be read; write postgres://USER:PASSWORD@HOST:PORT/DATABASE";
            Failure::caused(FailureKind::Unusable, message, e)
        })?;
        let place = match options.get_socket() {
            Some(folder) => folder.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        };
        let database = options.get_database().unwrap_or(options.get_username());
        let name = format!("postgres://{place}/{database}");
        let application = options.get_application_name().unwrap_or("stateous").to_owned();
        // Statements hold what tokens hold: they are no matter for a log.
        let quiet = options.disable_statement_logging().application_name(&application);
        Ok(Self { options: quiet, name, limits })
    }

    /// A connection that writes. A transaction in which nothing is asked for longer than a statement may take is ended by
    /// Postgres, so that a control plane that stands still holds up nobody.
    pub(crate) fn connect_to_write(&self) -> Result<Connection, Broken> {
        let silence = milliseconds(self.limits.silence);
        durable(self.connect(&[("idle_in_transaction_session_timeout", silence)])?)
    }

    /// A connection that reads beside the writer.
    pub(crate) fn connect_to_read(&self) -> Result<Connection, Broken> {
        self.connect(&[("default_transaction_read_only", "on".to_owned())])
    }

    /// A connection for the lock, which Postgres closes when it hears nothing of it for too long.
    pub(crate) fn connect_to_hold(&self) -> Result<Connection, Broken> {
        durable(self.connect(&[("idle_session_timeout", milliseconds(self.limits.silence))])?)
    }

    fn connect(&self, besides: &[(&str, String)]) -> Result<Connection, Broken> {
        let Limits { connect, statement, lock, keepalives, .. } = &self.limits;
        let settings = [
            ("statement_timeout", milliseconds(*statement)),
            ("lock_timeout", milliseconds(*lock)),
            ("tcp_keepalives_idle", keepalives.idle.as_secs().to_string()),
            ("tcp_keepalives_interval", keepalives.interval.as_secs().to_string()),
            ("tcp_keepalives_count", keepalives.count.to_string()),
            ("default_transaction_isolation", "read committed".to_owned()),
            // A plan that was made for an empty table walks over a large one. Plans are made for each statement.
            ("plan_cache_mode", "force_custom_plan".to_owned()),
            // Every statement is written for one index, in its order. What Postgres guesses of tables that it has not
            // looked at yet, or not lately, must not lead it to walk over them.
            ("enable_seqscan", "off".to_owned()),
            ("enable_bitmapscan", "off".to_owned()),
            ("enable_hashjoin", "off".to_owned()),
            ("enable_mergejoin", "off".to_owned()),
            // Rows are what counts, wherever they lie: else an index in the order of the table is walked past many rows
            // that are not asked for, to find those that are.
            ("seq_page_cost", "0".to_owned()),
            ("random_page_cost", "0".to_owned()),
            // Statements are short: to compile one costs more than to run it.
            ("jit", "off".to_owned()),
        ];
        let options = self.options.clone().options(settings).options(besides.iter().cloned());
        Connection::open(&options, *connect, *statement + GRACE)
    }
}

/// Whatever the server's default is, a commit is on the disk when it returns. Stricter settings stay.
fn durable(mut conn: Connection) -> Result<Connection, Broken> {
    const SQL: &str = "SELECT set_config('synchronous_commit', 'on', false) \
        WHERE current_setting('synchronous_commit') IN ('off', 'local')";
    sql::script(&mut conn, SQL)?;
    Ok(conn)
}

fn milliseconds(time: Duration) -> String {
    time.as_millis().to_string()
}

/// Looks at what answers, before anything is written.
fn look(conn: &mut Connection, address: &Address) -> Result<(), Failure> {
    const SQL: &str = "SELECT current_setting('server_version_num')::int, current_setting('server_version'), \
        current_setting('server_encoding'), current_schema() IS NOT NULL";
    let unusable = |message: String| Err(Failure::new(FailureKind::Unusable, message));
    let name = &address.name;
    let found = sql::first(conn, SQL, params![], |row| {
        Ok((get::<i32>(row, 0)?, get::<String>(row, 1)?, get::<String>(row, 2)?, get::<bool>(row, 3)?))
    });
    let Some((number, version, encoding, schema)) = found.during(&format!("look at {name}"))? else {
        return unusable(format!("{name} does not say which Postgres it is"));
    };
    if number < OLDEST {
        return unusable(format!("{name} is Postgres {version}; Stateous needs 15 or newer"));
    }
    if encoding != "UTF8" {
        return unusable(format!("{name} keeps text as {encoding}; make a database with the encoding UTF8"));
    }
    if !schema {
        return unusable(format!("{name} has no schema to put tables in; check the user's search_path"));
    }
    Ok(())
}
