//! The outbox's tables. The only SQL of the supervisor.

use std::sync::Arc;

use rusqlite::{Connection, Row, params};
use sha2::{Digest, Sha256};

use super::{Damaged, Identity, Kind, Left, Message, NewMessage, OpenFailure, Size};

/// The layout of the tables below, kept as `PRAGMA user_version`.
const LAYOUT: i64 = 2;

const TABLES: &str = "
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        task INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        token TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('report', 'note', 'memory')),
        body TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        checksum BLOB NOT NULL
    ) STRICT;
    CREATE INDEX messages_attempt ON messages (task, attempt);
    CREATE TABLE meta (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        folder TEXT NOT NULL,
        starts INTEGER NOT NULL
    ) STRICT;
";

/// What layout 2 added: rows that cannot be trusted, as they were found, for whoever wants to look. No column is strict: a
/// damaged row may hold anything.
const PARKED: &str = "
    CREATE TABLE parked (
        id INTEGER PRIMARY KEY, task, attempt, token, kind, body, created_at, checksum, why TEXT NOT NULL
    );
    PRAGMA user_version = 2;
";

/// The most rows that are kept aside; the oldest go.
const PARKED_MAX: u32 = 1000;

/// Makes the tables if the file is new, and refuses a file that is not an outbox of ours without touching it.
pub(super) fn lay_out(db: &mut Connection) -> Result<(), OpenFailure> {
    let layout = db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))?;
    let new = match layout {
        1 | LAYOUT => false,
        0 => true,
        layout => return Err(OpenFailure::Newer { layout }),
    };
    let replaced = if new { what_gives_way(db)? } else { "" };
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    if new {
        let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        tx.execute_batch(replaced)?;
        tx.execute_batch(TABLES)?;
        tx.execute_batch(PARKED)?;
        tx.commit()?;
    } else if layout == 1 {
        let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        tx.execute_batch(PARKED)?;
        tx.commit()?;
    }
    Ok(())
}

/// What to drop from a file that has no layout of ours. An empty outbox of the Python supervisor gives way; one that
/// holds messages is not ours to drop.
fn what_gives_way(db: &Connection) -> Result<&'static str, OpenFailure> {
    let names: Vec<String> = db
        .prepare("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    match &*names {
        [] => Ok(""),
        [only] if only == "messages" => {
            match db.query_row("SELECT count(*) FROM messages", [], |row| row.get(0))? {
                0 => Ok("DROP TABLE messages"),
                messages => Err(OpenFailure::Unsent { messages }),
            }
        }
        _ => Err(OpenFailure::Foreign),
    }
}

/// Counts this start. `fresh` names the folder if it has no name yet.
pub(super) fn count_start(db: &Connection, fresh: &str) -> Result<Identity, rusqlite::Error> {
    db.query_row(
        "INSERT INTO meta (one, folder, starts) VALUES (1, ?1, 1)
         ON CONFLICT (one) DO UPDATE SET starts = starts + 1
         RETURNING folder, starts",
        [fresh],
        |row| Ok(Identity { folder: row.get(0)?, starts: number(row, 1)? }),
    )
}

/// Writes a message and gives it its place in the order.
pub(super) fn insert(db: &Connection, new: &NewMessage) -> Result<Message, rusqlite::Error> {
    let mut statement = db.prepare_cached(
        "INSERT INTO messages (task, attempt, token, kind, body, created_at, checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let (task, attempt, at) = (signed(new.task)?, signed(new.attempt)?, signed(new.created_at_ms)?);
    let row = params![task, attempt, new.token, new.kind.as_str(), new.body, at, &checksum(new)[..]];
    let id = statement.insert(row)?;
    Ok(Message { id, new: new.clone() })
}

/// Removes one message, and says what became free. Nothing happens if it is gone already.
pub(super) fn delete(db: &Connection, id: i64) -> Result<Size, rusqlite::Error> {
    let mut statement =
        db.prepare_cached("DELETE FROM messages WHERE id = ?1 RETURNING length(CAST(body AS BLOB))")?;
    freed(statement.query([id])?)
}

/// Removes every message of an attempt, and says what became free.
pub(super) fn delete_attempt(db: &Connection, task: u64, attempt: u64) -> Result<Size, rusqlite::Error> {
    let mut statement = db.prepare_cached(
        "DELETE FROM messages WHERE task = ?1 AND attempt = ?2 RETURNING length(CAST(body AS BLOB))",
    )?;
    freed(statement.query([signed(task)?, signed(attempt)?])?)
}

fn freed(mut rows: rusqlite::Rows<'_>) -> Result<Size, rusqlite::Error> {
    let mut size = Size::default();
    while let Some(row) = rows.next()? {
        size.messages += 1;
        size.bytes += number(row, 0)?;
    }
    Ok(size)
}

/// How much there is.
pub(super) fn size(db: &Connection) -> Result<Size, rusqlite::Error> {
    const SQL: &str = "SELECT count(*), coalesce(sum(length(CAST(body AS BLOB))), 0) FROM messages";
    db.query_row(SQL, [], |row| Ok(Size { messages: number(row, 0)?, bytes: number(row, 1)? }))
}

/// Puts a row aside that cannot be trusted.
pub(super) fn park(db: &Connection, damaged: &Damaged) -> Result<Size, rusqlite::Error> {
    db.execute(
        "INSERT OR REPLACE INTO parked (id, task, attempt, token, kind, body, created_at, checksum, why)
         SELECT id, task, attempt, token, kind, body, created_at, checksum, ?2 FROM messages WHERE id = ?1",
        params![damaged.id, damaged.why],
    )?;
    db.execute(
        "DELETE FROM parked WHERE id NOT IN (SELECT id FROM parked ORDER BY id DESC LIMIT ?1)",
        [PARKED_MAX],
    )?;
    delete(db, damaged.id)
}

/// How many rows were put aside.
pub(super) fn parked(db: &Connection) -> Result<u64, rusqlite::Error> {
    db.query_row("SELECT count(*) FROM parked", [], |row| number(row, 0))
}

/// Everything in the outbox, in order. A row that cannot be read, or does not match its checksum, is named and left
/// where it is.
pub(super) fn left(db: &Connection) -> Result<Left, rusqlite::Error> {
    let ids: Vec<i64> = db
        .prepare("SELECT id FROM messages ORDER BY id")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut left = Left::default();
    let mut one = db.prepare(
        "SELECT id, task, attempt, token, kind, body, created_at, checksum FROM messages WHERE id = ?1",
    )?;
    for id in ids {
        match one.query_row([id], message) {
            Ok(Some(message)) => left.messages.push(message),
            Ok(None) => {
                let why = "its checksum does not match".into();
                left.damaged.push(Damaged { id, why, of: attempt_of(db, id) });
            }
            Err(error) => left.damaged.push(Damaged { id, why: error.to_string(), of: attempt_of(db, id) }),
        }
    }
    Ok(left)
}

/// Whose message a damaged row seems to be.
fn attempt_of(db: &Connection, id: i64) -> Option<(u64, u64, String)> {
    db.query_row("SELECT task, attempt, token FROM messages WHERE id = ?1", [id], |row| {
        Ok((number(row, 0)?, number(row, 1)?, row.get(2)?))
    })
    .ok()
}

fn message(row: &Row<'_>) -> Result<Option<Message>, rusqlite::Error> {
    let kind: String = row.get(4)?;
    let Some(kind) = Kind::parse(&kind) else {
        return Ok(None);
    };
    let new = NewMessage {
        task: number(row, 1)?,
        attempt: number(row, 2)?,
        token: row.get(3)?,
        kind,
        body: Arc::from(row.get::<_, String>(5)?),
        created_at_ms: number(row, 6)?,
    };
    let intact = row.get::<_, Vec<u8>>(7)?[..] == checksum(&new)[..];
    Ok(intact.then_some(Message { id: row.get(0)?, new }))
}

/// SHA-256 over every field, each with its length before it, so that no two rows read alike.
fn checksum(new: &NewMessage) -> [u8; 32] {
    let mut hash = Sha256::new();
    for number in [new.task, new.attempt, new.created_at_ms] {
        hash.update(number.to_be_bytes());
    }
    for text in [&*new.token, new.kind.as_str(), &*new.body] {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize().into()
}

fn signed(number: u64) -> Result<i64, rusqlite::Error> {
    i64::try_from(number).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn number(row: &Row<'_>, at: usize) -> Result<u64, rusqlite::Error> {
    let number: i64 = row.get(at)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, number))
}
