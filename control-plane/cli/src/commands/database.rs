//! From the value of `--db` to an open database, at once or as soon as nobody else serves it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{bail, ensure};
use stateous_engine::Timestamp;
use stateous_store::{Clock as _, Failure, FailureKind, Store, SystemClock};

use crate::text::say;

/// How often a standby tries to take the database. With what a start takes, it serves within two seconds of its
/// predecessor's end.
const STANDBY: Duration = Duration::from_millis(250);

/// Opens the database that a URL names.
pub(crate) fn open(url: &str) -> anyhow::Result<Arc<dyn Store>> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let now = SystemClock::new(Timestamp::default()).now();
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        let limits = stateous_store_postgres::Limits::default();
        let options = stateous_store_postgres::Options { host, now, limits };
        return Ok(Arc::new(stateous_store_postgres::open(url, &options)?));
    }
    let Some(file) = url.strip_prefix("sqlite:///") else {
        let scheme = url.split(':').next().unwrap_or(url);
        ensure!(
            scheme == "sqlite",
            "--db takes sqlite:///FILE or postgres://HOST/DATABASE; this version of Stateous has no store for '{scheme}'"
        );
        bail!("--db takes sqlite:///FILE, such as sqlite:///stateous.db, not '{url}'");
    };
    ensure!(!file.is_empty(), "--db names no file: write sqlite:///FILE, such as sqlite:///stateous.db");
    let options = stateous_store_sqlite::Options { host, now };
    Ok(Arc::new(stateous_store_sqlite::open(Path::new(file), &options)?))
}

/// Opens the database as soon as nobody else serves it. What will not pass by waiting ends the wait.
#[expect(clippy::disallowed_methods, reason = "nobody tells a standby that a database is free: it tries")]
pub(crate) fn stand_by(url: &str) -> anyhow::Result<Arc<dyn Store>> {
    let mut told = None;
    loop {
        let error = match open(url) {
            Ok(store) => return Ok(store),
            Err(error) => error,
        };
        let kind = error.downcast_ref::<Failure>().map(|failure| failure.kind);
        if !matches!(kind, Some(FailureKind::NotServing | FailureKind::Busy)) {
            return Err(error);
        }
        // Once for each reason, not once for each try.
        if told != kind {
            say(&format!("standing by: {error}"));
            told = kind;
        }
        std::thread::sleep(STANDBY);
    }
}
