//! This store passes the suite that every store passes, on Postgres with its default settings.

use stateous_engine::Timestamp;
use stateous_private_postgres::Cluster;
use stateous_store::conformance::Harness;
use stateous_store::{Failure, Store};
use stateous_store_postgres::{Limits, Options};

/// A database of the cluster that the tests of this process share.
struct Database {
    cluster: &'static Cluster,
    url: String,
}

impl Database {
    fn new(cluster: &'static Cluster) -> Self {
        Self { cluster, url: cluster.database() }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // The suite makes a hundred and more of them, each of several megabytes.
        if !std::thread::panicking() {
            let name = self.url.rsplit('/').next().unwrap_or_default();
            self.cluster.sql("postgres", &format!("DROP DATABASE {name} WITH (FORCE)"));
        }
    }
}

impl Harness for Database {
    fn open(&self) -> Result<Box<dyn Store>, Failure> {
        let options = Options { host: "test".to_owned(), now: Timestamp(0), limits: Limits::default() };
        Ok(Box::new(stateous_store_postgres::open(&self.url, &options)?))
    }

    fn another(&self) -> Box<dyn Harness> {
        Box::new(Self::new(self.cluster))
    }
}

stateous_store::conformance_suite!(match Cluster::shared() {
    Some(cluster) => Database::new(cluster),
    // It says that it is skipped.
    None => return,
});
