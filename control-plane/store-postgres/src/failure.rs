//! What Postgres says when it breaks, as a [`Failure`]: whose fault it is, and what a person can do about it.

use std::time::Duration;

use stateous_store::{Failure, FailureKind};

/// What stops a statement: the database, the way to it, or a row that does not read as it was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Row(#[from] Failure),
    /// There was no answer within this time.
    #[error("no answer within {0:?}")]
    Silent(Duration),
    /// The connection broke before.
    #[error("the connection broke before")]
    Gone,
}

/// Says what we were doing when something broke.
pub(crate) trait During<T> {
    /// `doing` completes "could not …".
    fn during(self, doing: &str) -> Result<T, Failure>;
}

impl<T> During<T> for Result<T, Broken> {
    fn during(self, doing: &str) -> Result<T, Failure> {
        self.map_err(|broken| match broken {
            Broken::Sql(e) => failure(doing, e),
            Broken::Row(failure) => {
                Failure { message: format!("could not {doing}: {}", failure.message), ..failure }
            }
            Broken::Silent(limit) => {
                let why = format!("the database gave no answer for {} s; try again", limit.as_secs_f32());
                Failure::new(FailureKind::Busy, format!("could not {doing}: {why}"))
            }
            Broken::Gone => {
                let why = "the connection to the database broke; try again";
                Failure::new(FailureKind::Busy, format!("could not {doing}: {why}"))
            }
        })
    }
}

fn failure(doing: &str, error: sqlx::Error) -> Failure {
    let (kind, why) = match &error {
        sqlx::Error::Database(said) => classify(said.code().as_deref().unwrap_or_default()),
        sqlx::Error::Configuration(_) => {
            (FailureKind::Unusable, "the URL or a file that it names cannot be used; check it")
        }
        // A value that Postgres cannot hold, or a column that does not read as its type.
        sqlx::Error::Encode(_)
        | sqlx::Error::Decode(_)
        | sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::ColumnIndexOutOfBounds { .. }
        | sqlx::Error::RowNotFound => {
            (FailureKind::Statement, "the database holds or was given a value that does not fit its column")
        }
        _ => (FailureKind::Busy, "the database cannot be reached; check that it runs, then try again"),
    };
    Failure::caused(kind, format!("could not {doing}: {why}"), error)
}

/// What an SQLSTATE means for us.
fn classify(code: &str) -> (FailureKind, &'static str) {
    use FailureKind::{Busy, Collided, Statement, Unusable};
    match code {
        "40001" | "40P01" => (Collided, "another transaction was in the way; try again"),
        "57014" => (Busy, "it took longer than a statement may (statement_timeout); try again"),
        "55P03" => (
            Busy,
            "another session has held a lock for longer than a statement waits (lock_timeout); end it, then try again",
        ),
        "53100" => (Busy, "the database's disk is full; free some space, then try again"),
        "53200" => (Busy, "the database has no memory left; try again"),
        "53300" => (Busy, "the database takes no more connections (max_connections); try again"),
        "58030" => (Busy, "the database's disk could not be read or written; check it, then try again"),
        "25006" => (
            Busy,
            "the database takes no writes: it is a standby or set to read only; name the primary, or wait until it is one",
        ),
        // Told to connections that are ended: by a shutdown, a crash, an operator or a limit.
        "25P03" | "57P01" | "57P02" | "57P03" | "57P05" => {
            (Busy, "the database closed the connection or does not take one yet; try again")
        }
        "28000" | "28P01" => (Unusable, "the database refused the user or the password; check the URL"),
        "3D000" => (Unusable, "there is no such database; make it with createdb, or name another"),
        "3F000" => (Unusable, "there is no schema to put tables in; check the user's search_path"),
        "42501" => (Unusable, "the user may not do this; grant it all rights in the database"),
        "42P01" | "42703" => (
            Unusable,
            "a table or column is not there: another program changed the database; restore it from a backup",
        ),
        _ => match code.get(..2).unwrap_or_default() {
            "08" => (Busy, "the connection to the database broke; try again"),
            "53" | "58" => (Busy, "the database or its machine has run out of something; try again"),
            "23" => (Statement, "the rows contradict what the database holds already"),
            "54" => (Statement, "a value is larger than a row can hold"),
            "XX" => (Unusable, "the database is damaged; restore it from a backup"),
            _ => (Statement, "the database refused the statement"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_kind_and_one_sentence() {
        let check = |code: &str, kind: FailureKind, says: &str| {
            let (found, why) = classify(code);
            assert_eq!(found, kind, "{code}");
            assert!(why.contains(says), "{code}: {why}");
        };
        check("40P01", FailureKind::Collided, "in the way");
        check("40001", FailureKind::Collided, "in the way");
        check("57014", FailureKind::Busy, "statement_timeout");
        check("55P03", FailureKind::Busy, "lock_timeout");
        check("53100", FailureKind::Busy, "disk is full");
        check("08006", FailureKind::Busy, "connection");
        check("57P01", FailureKind::Busy, "closed the connection");
        check("25006", FailureKind::Busy, "takes no writes");
        check("23505", FailureKind::Statement, "the rows contradict");
        check("54000", FailureKind::Statement, "larger than a row");
        check("3D000", FailureKind::Unusable, "createdb");
        check("XX001", FailureKind::Unusable, "damaged");
        check("22021", FailureKind::Statement, "refused");
        check("", FailureKind::Statement, "refused");
    }

    #[test]
    fn a_way_that_is_cut_is_nobodys_fault() {
        let cut = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        for broken in [Broken::Sql(cut.into()), Broken::Silent(Duration::from_secs(35)), Broken::Gone] {
            let failure = Err::<(), _>(broken).during("save a change").unwrap_err();
            assert_eq!(failure.kind, FailureKind::Busy);
            assert!(failure.message.starts_with("could not save a change: the "), "{failure}");
        }
    }

    #[test]
    fn a_damaged_row_keeps_its_story() {
        let row = Failure::new(FailureKind::Statement, "the column tokens.status holds \"x\"");
        let failure = Err::<(), _>(Broken::Row(row)).during("load a token").unwrap_err();
        assert_eq!(failure.message, "could not load a token: the column tokens.status holds \"x\"");
        assert_eq!(failure.kind, FailureKind::Statement);
    }
}
