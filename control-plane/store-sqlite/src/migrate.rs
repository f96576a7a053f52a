//! Brings a database to this program's schema, or says why it cannot.
//!
//! A migration has a number and a name, the same in every store. Migrations grow before they shrink: what an older
//! program reads stays until no older program can be running. A schema that was reached on another way (a newer
//! program, a hand that changed a table) is refused, and nothing is written.

use rusqlite::{Connection, TransactionBehavior, params};
use stateous_engine::Timestamp;
use stateous_store::{Failure, FailureKind};

use crate::failure::{Broken, During};
use crate::sql;

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

/// What an SQLite header says of a file that is ours: "Stus".
pub(crate) const APPLICATION_ID: i64 = 0x5374_7573;

/// The number of the last step.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Where the steps that were taken are on record.
const RECORD: &str = "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, \
    applied_at INTEGER NOT NULL) STRICT";

/// Checks that the steps which the database has on record are the first of ours, and that it still looks as they left
/// it. Only reads. `file` is its name for people.
pub(crate) fn check(conn: &Connection, file: &str) -> Result<(), Failure> {
    let doing = format!("read the schema of {file}");
    let application: i64 = value(conn, "PRAGMA application_id").during(&doing)?;
    let version: i64 = value(conn, "PRAGMA user_version").during(&doing)?;
    if application == 0 && version == 0 && objects(conn).during(&doing)?.is_empty() {
        // A new file, or one whose first migration was cut short.
        return Ok(());
    }
    if application != APPLICATION_ID {
        return Err(foreign(file));
    }
    if version > VERSION {
        return Err(newer(file, version));
    }
    let names =
        sql::all(conn, "SELECT name FROM migrations ORDER BY number", [], |row| Ok(row.get::<_, String>(0)?))
            .during(&doing)?;
    let known = MIGRATIONS.iter().take(names.len()).map(|m| m.name);
    let same = known.eq(names.iter().map(String::as_str)) && i64::try_from(names.len()) == Ok(version);
    if !same || missing(conn, version).during(&doing)? {
        let message = format!(
            "the tables of {file} are not those of schema version {version}: another program changed them; restore \
             the file from a backup, or name another"
        );
        return Err(Failure::new(FailureKind::Unusable, message));
    }
    Ok(())
}

/// Takes the steps that are missing, each in a transaction of its own.
pub(crate) fn migrate(conn: &mut Connection, file: &str, now: Timestamp) -> Result<(), Failure> {
    let version: i64 = value(conn, "PRAGMA user_version").during("read the schema version")?;
    for (number, migration) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > version) {
        step(conn, number, migration, now)
            .during(&format!("bring {file} to schema version {number} ({})", migration.name))?;
    }
    Ok(())
}

fn step(conn: &mut Connection, number: i64, migration: &Migration, now: Timestamp) -> Result<(), Broken> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if number == 1 {
        // In the same transaction as the first tables: a file is ours and has them, or neither.
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.execute_batch(RECORD)?;
    }
    tx.execute_batch(migration.sql)?;
    const SQL: &str = "INSERT INTO migrations (number, name, applied_at) VALUES (?1, ?2, ?3)";
    tx.execute(SQL, params![number, migration.name, now.0])?;
    tx.pragma_update(None, "user_version", number)?;
    Ok(tx.commit()?)
}

/// Whether something is missing or changed that the steps up to `version` made. What was added does not matter.
fn missing(conn: &Connection, version: i64) -> Result<bool, Broken> {
    let reference = Connection::open_in_memory()?;
    reference.execute_batch(RECORD)?;
    for (_, migration) in (1..=version).zip(MIGRATIONS) {
        reference.execute_batch(migration.sql)?;
    }
    let (expected, found) = (objects(&reference)?, objects(conn)?);
    if expected.iter().any(|object| !found.contains(object)) {
        return Ok(true);
    }
    // A first row of each: a file that lost its pages is found now, not when the first token needs one.
    for (_, table, _) in expected.iter().filter(|(kind, ..)| kind == "table") {
        conn.query_row(&format!("SELECT count(*) FROM (SELECT * FROM {table} LIMIT 1)"), [], |_| Ok(()))?;
    }
    Ok(false)
}

/// Tables and indexes: kind, name, definition.
fn objects(conn: &Connection) -> Result<Vec<(String, String, Option<String>)>, Broken> {
    const SQL: &str = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'";
    sql::all(conn, SQL, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

fn value(conn: &Connection, pragma: &str) -> Result<i64, rusqlite::Error> {
    conn.query_row(pragma, [], |row| row.get(0))
}

/// The refusal of another program's database.
pub(crate) fn foreign(file: &str) -> Failure {
    let message =
        format!("{file} is another program's SQLite database; name another file, or one that does not exist");
    Failure::new(FailureKind::Unusable, message)
}

/// The refusal of a database that this program is too old for.
pub(crate) fn newer(file: &str, version: i64) -> Failure {
    let message = format!(
        "{file} has schema version {version} and this program knows up to {VERSION}: it was written by a newer \
         stateous; install that one or newer"
    );
    Failure::new(FailureKind::Unusable, message)
}

#[cfg(test)]
mod tests {
    use stateous_engine::loaded::Wanted;
    use stateous_store::Store as _;

    use super::*;
    use crate::Options;

    #[test]
    fn a_database_of_every_older_schema_opens_with_its_rows() {
        const ROWS: &str = "INSERT INTO tokens (id, folded, workflow, structure, state, status, visit, started_at, \
            entered_at, seq, visits, counts, entered_by_event) \
            VALUES ('T', 't', 'w', 'x', 's', 'active', 1, 1, 1, 0, '{}', '{}', 'e'); \
            INSERT INTO contexts VALUES ('T', '{}')";
        let now = Timestamp(1_000_000);
        for version in 1..=VERSION {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("old.db");
            let mut conn = Connection::open(&path).unwrap();
            for (number, migration) in (1..=version).zip(MIGRATIONS) {
                step(&mut conn, number, migration, now).unwrap();
            }
            conn.execute_batch(ROWS).unwrap();
            drop(conn);

            let store = crate::open(&path, &Options { host: "test".to_owned(), now }).unwrap();
            let mut writer = store.writer().unwrap();
            writer.begin().unwrap();
            let wanted =
                Wanted { token: Some("T".to_owned()), context: true, held: true, ..Wanted::default() };
            let member = writer.load(&wanted).unwrap().member.unwrap();
            assert_eq!((member.token.id.as_str(), member.token.paused_at), ("T", None), "schema {version}");
        }
    }
}
