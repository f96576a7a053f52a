//! Brings a database to this program's schema, or says why it cannot.
//!
//! A migration has a number and a name, the same in every store. Migrations grow before they shrink: what an older
//! program reads stays until no older program can be running. A schema that was reached on another way (a newer
//! program, a hand that changed a table) is refused, and nothing is written. Whoever calls holds the database's lock, so
//! nobody else migrates at the same time.

use sqlx::postgres::PgRow;
use stateous_engine::Timestamp;
use stateous_store::{Failure, FailureKind};

use crate::connection::Connection;
use crate::failure::{Broken, During};
use crate::rows::get;
use crate::sql::{self, params};

/// One step of the schema.
struct Migration {
    name: &'static str,
    sql: &'static str,
}

/// Every step; the first has number 1.
const MIGRATIONS: &[Migration] = &[
    Migration { name: "tables", sql: include_str!("../migrations/0001_tables.sql") },
    Migration { name: "held", sql: include_str!("../migrations/0002_held.sql") },
    Migration { name: "ended_by", sql: include_str!("../migrations/0003_ended_by.sql") },
    Migration { name: "private", sql: include_str!("../migrations/0004_private.sql") },
    Migration { name: "listing", sql: include_str!("../migrations/0005_listing.sql") },
];

/// What the comment on the table of migrations says in a database that is ours.
const APPLICATION: &str = "Stateous";

/// The number of the last step.
const VERSION: i64 = MIGRATIONS.len() as i64;

/// Where the steps that were taken are on record.
const RECORD: &str = "CREATE TABLE migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL, \
    applied_at BIGINT NOT NULL)";

/// Checks that the steps which the database has on record are the first of ours, and that it still looks as they left
/// it. Only reads. `name` is its name for people.
pub(crate) fn check(conn: &mut Connection, name: &str) -> Result<(), Failure> {
    let doing = format!("read the schema of {name}");
    match application(conn).during(&doing)?.as_deref() {
        Some(APPLICATION) => {}
        Some(_) => return Err(foreign(name)),
        None => {
            // An empty schema, or one whose first migration was cut short; other programs' tables may be beside ours.
            let found = objects(conn, OURS).during(&doing)?;
            let ours = reference(conn, VERSION).during(&doing)?;
            let taken = found.iter().any(|(kind, table, _)| {
                kind == "table" && ours.iter().any(|(kind, ours, _)| kind == "table" && ours == table)
            });
            return if taken { Err(foreign(name)) } else { Ok(()) };
        }
    }
    let names =
        sql::all(conn, "SELECT name FROM migrations ORDER BY number", params![], |row| get::<String>(row, 0))
            .during(&doing)?;
    let version = i64::try_from(names.len()).unwrap_or(i64::MAX);
    if version > VERSION {
        return Err(newer(name, version));
    }
    let same = MIGRATIONS.iter().take(names.len()).map(|m| m.name).eq(names.iter().map(String::as_str));
    if !same || missing(conn, version).during(&doing)? {
        let message = format!(
            "the tables of {name} are not those of schema version {version}: another program changed them; restore \
             the database from a backup, or name another"
        );
        return Err(Failure::new(FailureKind::Unusable, message));
    }
    Ok(())
}

/// Takes the steps that are missing, each in a transaction of its own.
pub(crate) fn migrate(conn: &mut Connection, name: &str, now: Timestamp) -> Result<(), Failure> {
    let version = version(conn).during("read the schema version")?;
    for (number, migration) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > version) {
        step(conn, number, migration, now)
            .during(&format!("bring {name} to schema version {number} ({})", migration.name))?;
    }
    Ok(())
}

fn step(conn: &mut Connection, number: i64, migration: &Migration, now: Timestamp) -> Result<(), Broken> {
    let first = match number {
        // In the same transaction as the first tables: a database is ours and has them, or neither.
        1 => format!("{RECORD}; COMMENT ON TABLE migrations IS '{APPLICATION}';"),
        _ => String::new(),
    };
    let taken = format!(
        "BEGIN; {first} {} ; INSERT INTO migrations (number, name, applied_at) VALUES ({number}, '{}', {}); COMMIT",
        migration.sql, migration.name, now.0
    );
    sql::script(conn, &taken).map(drop)
}

/// The mark of a database that is ours; `None` when there is no table of migrations.
fn application(conn: &mut Connection) -> Result<Option<String>, Broken> {
    const SQL: &str = "SELECT coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_class c \
        WHERE c.relname = 'migrations' AND c.relnamespace = current_schema()::regnamespace";
    sql::first(conn, SQL, params![], |row| get(row, 0))
}

/// How many steps were taken.
fn version(conn: &mut Connection) -> Result<i64, Broken> {
    if application(conn)?.is_none() {
        return Ok(0);
    }
    Ok(sql::first(conn, "SELECT count(*) FROM migrations", params![], |row| get(row, 0))?.unwrap_or(0))
}

/// Whether something is missing or changed that the steps up to `version` made. What was added does not matter.
fn missing(conn: &mut Connection, version: i64) -> Result<bool, Broken> {
    let (expected, found) = (reference(conn, version)?, objects(conn, OURS)?);
    if expected.iter().any(|object| !found.contains(object)) {
        return Ok(true);
    }
    // A first row of each: a table that may not be read, or cannot be, is found now and not when a token needs it.
    for (_, table, _) in expected.iter().filter(|(kind, ..)| kind == "table") {
        sql::script(conn, &format!("SELECT 1 FROM {table} LIMIT 1"))?;
    }
    Ok(false)
}

/// A part of the schema: its kind, its name, its definition.
type Object = (String, String, String);

/// The schema in which our tables are.
const OURS: &str = "current_schema()::regnamespace";
/// The schema of what goes with the session.
const TEMPORARY: &str = "pg_my_temp_schema()";

/// What the steps up to `version` make, found out by taking them among temporary tables that are dropped at once.
fn reference(conn: &mut Connection, version: i64) -> Result<Vec<Object>, Broken> {
    let steps: String =
        (1..=version).zip(MIGRATIONS).map(|(_, migration)| format!("{};", migration.sql)).collect();
    sql::script(conn, &format!("BEGIN; SET LOCAL search_path = pg_temp; {RECORD}; {steps}"))?;
    let found = objects(conn, TEMPORARY);
    sql::script(conn, "ROLLBACK")?;
    found
}

/// Tables with their columns, indexes and checks.
fn objects(conn: &mut Connection, schema: &str) -> Result<Vec<Object>, Broken> {
    let sql = format!(
        "SELECT 'table', c.relname::text, coalesce(string_agg(concat_ws(' ', a.attname, \
             format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation, a.attnotnull), ', ' ORDER BY a.attnum), '') \
         FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
         WHERE c.relkind = 'r' AND c.relnamespace = {schema} GROUP BY c.relname \
         UNION ALL SELECT 'index', i.relname::text, regexp_replace(pg_get_indexdef(i.oid), ' ON [^ ]*\\.', ' ON ') \
         FROM pg_class i WHERE i.relkind = 'i' AND i.relnamespace = {schema} \
         UNION ALL SELECT 'check', k.conname::text, pg_get_constraintdef(k.oid) \
         FROM pg_constraint k WHERE k.contype = 'c' AND k.connamespace = {schema}"
    );
    sql::all(conn, &sql, params![], |row: &PgRow| Ok((get(row, 0)?, get(row, 1)?, get(row, 2)?)))
}

/// The refusal of tables that are another program's.
fn foreign(name: &str) -> Failure {
    let message = format!(
        "{name} holds another program's tables under names that Stateous needs; name another database, or a user \
         whose search_path begins with a schema of its own"
    );
    Failure::new(FailureKind::Unusable, message)
}

/// The refusal of a database that this program is too old for.
fn newer(name: &str, version: i64) -> Failure {
    let message = format!(
        "{name} has schema version {version} and this program knows up to {VERSION}: it was written by a newer \
         stateous; install that one or newer"
    );
    Failure::new(FailureKind::Unusable, message)
}
