//! Components and the states that they serve.
//!
//! A component is kept once, under its digest, in chunks: a row of many megabytes would have to be one piece of memory
//! on both sides, several times over.

use stateous_engine::Timestamp;
use stateous_store::{Assignment, Failure, FailureKind, NewAssignment, Upload, codec};

use crate::connection::Connection;
use crate::failure::Broken;
use crate::rows::{self, ASSIGNMENT, ASSIGNMENT_WIDTH, UPLOAD, bigint, get, whole};
use crate::sql::{self, params};

/// The size of a chunk; the last one of a component is shorter.
const CHUNK: usize = 1 << 20;

/// What is in force for a state.
pub(crate) fn assignment(
    conn: &mut Connection,
    workflow: &str,
    state: &str,
) -> Result<Option<Assignment>, Broken> {
    let sql = format!(
        "SELECT {ASSIGNMENT} FROM assignments a WHERE a.workflow = $1 AND a.state = $2 ORDER BY a.version DESC LIMIT 1"
    );
    sql::first(conn, &sql, params![workflow, state], rows::assignment)
}

/// Keeps a component and puts it in force for a state, unless it is already, with the same limits.
pub(crate) fn assign(
    conn: &mut Connection,
    upload: &Upload,
    bytes: &[u8],
    to: NewAssignment<'_>,
    now: Timestamp,
) -> Result<Assignment, Broken> {
    keep(conn, upload, bytes)?;
    let before = assignment(conn, to.workflow, to.state)?;
    if let Some(same) = before.as_ref().filter(|a| a.digest == upload.digest && a.limits == *to.limits) {
        return Ok(same.clone());
    }
    let assignment = Assignment {
        workflow: to.workflow.to_owned(),
        state: to.state.to_owned(),
        version: before.map_or(1, |a| a.version + 1),
        digest: upload.digest.clone(),
        name: to.name.to_owned(),
        limits: to.limits.clone(),
        assigned_at: now,
    };
    const SQL: &str = "INSERT INTO assignments (workflow, state, version, digest, name, limits, assigned_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let limits = codec::write_limits(&assignment.limits);
    let Assignment { workflow, state, version, digest, name, .. } = &assignment;
    sql::run(conn, SQL, params![workflow, state, bigint(*version)?, digest, name, limits, now.0])?;
    Ok(assignment)
}

/// Keeps a component's bytes; a digest that is kept already is the same bytes, and keeps its first upload.
fn keep(conn: &mut Connection, upload: &Upload, bytes: &[u8]) -> Result<(), Broken> {
    const COMPONENT: &str = "INSERT INTO components (digest, size, sdk, uploaded_at) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (digest) DO NOTHING";
    const CHUNKS: &str = "INSERT INTO component_chunks (digest, number, bytes) VALUES ($1, $2, $3)";
    if upload.size != bytes.len() as u64 {
        let message = format!("component {} has {} bytes, not {}", upload.digest, bytes.len(), upload.size);
        return Err(Failure::new(FailureKind::Statement, message).into());
    }
    let row = params![&upload.digest, bigint(upload.size)?, upload.sdk.as_deref(), upload.uploaded_at.0];
    if sql::run(conn, COMPONENT, row)? == 0 {
        return Ok(());
    }
    for (number, chunk) in (0_i64..).zip(bytes.chunks(CHUNK)) {
        sql::run(conn, CHUNKS, params![&upload.digest, number, chunk])?;
    }
    Ok(())
}

/// What is in force for each state, with its upload.
pub(crate) fn assignments(conn: &mut Connection) -> Result<Vec<(Assignment, Upload)>, Broken> {
    let sql = format!(
        "SELECT {ASSIGNMENT}, {UPLOAD} FROM assignments a JOIN components c ON c.digest = a.digest \
         WHERE a.version = (SELECT max(v.version) FROM assignments v WHERE v.workflow = a.workflow AND v.state = a.state) \
         ORDER BY a.workflow, a.state"
    );
    sql::all(conn, &sql, params![], |row| Ok((rows::assignment(row)?, rows::upload(row, ASSIGNMENT_WIDTH)?)))
}

/// A component's bytes.
pub(crate) fn component(conn: &mut Connection, digest: &str) -> Result<Option<Vec<u8>>, Broken> {
    const COMPONENT: &str = "SELECT size FROM components WHERE digest = $1";
    const CHUNK: &str = "SELECT bytes FROM component_chunks WHERE digest = $1 AND number = $2";
    let Some(size) = sql::first(conn, COMPONENT, params![digest], |row| whole(row, 0))? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let mut numbers = 0_i64..;
    while let Some(number) = numbers.next()
        && let Some(()) = sql::first(conn, CHUNK, params![digest, number], |row| {
            bytes.extend_from_slice(get::<&[u8]>(row, 0)?);
            Ok(())
        })?
    {}
    if bytes.len() as u64 != size {
        let message = format!("component {digest} has {} of its {size} bytes; push it again", bytes.len());
        return Err(Failure::new(FailureKind::Statement, message).into());
    }
    Ok(Some(bytes))
}
