//! The database of a test: SQLite in its folder, or Postgres when `STATEOUS_TEST_DATABASE=postgres` says so. What the tests
//! expect is the same.

use std::path::Path;
use std::sync::Arc;

use stateous_engine::Timestamp;
use stateous_private_postgres::Cluster;
use stateous_store::{Failure, Store};

/// Where a folder says which database of the cluster is its own.
const URL: &str = "postgres-url";

/// Opens the database of a folder; a new one when it has none. Not on a thread that drives futures, since it blocks.
pub(crate) fn open(folder: &Path, now: Timestamp) -> Result<Arc<dyn Store>, Failure> {
    let host = "test".to_owned();
    if std::env::var_os("STATEOUS_TEST_DATABASE").is_none_or(|database| database != "postgres") {
        let options = stateous_store_sqlite::Options { host, now };
        return Ok(Arc::new(stateous_store_sqlite::open(&folder.join("stateous.db"), &options)?));
    }
    let url = std::fs::read_to_string(folder.join(URL)).unwrap_or_else(|_| {
        let cluster = Cluster::shared().expect("there is a Postgres, since it was asked for");
        let url = cluster.database();
        std::fs::write(folder.join(URL), &url).unwrap();
        url
    });
    let limits = stateous_store_postgres::Limits::default();
    let options = stateous_store_postgres::Options { host, now, limits };
    Ok(Arc::new(stateous_store_postgres::open(&url, &options)?))
}

/// Whether a database can be opened there, which says that nobody holds it.
pub(crate) async fn is_free(folder: &Path) -> bool {
    let folder = folder.to_owned();
    tokio::task::spawn_blocking(move || open(&folder, crate::harness::START).is_ok()).await.unwrap()
}
