//! This store passes the suite that every store passes.

use stateous_engine::Timestamp;
use stateous_store::conformance::Harness;
use stateous_store::{Failure, Store};
use stateous_store_sqlite::Options;
use tempfile::TempDir;

/// A database in a folder that goes with it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder can be made for the test"))
    }
}

impl Harness for Folder {
    fn open(&self) -> Result<Box<dyn Store>, Failure> {
        let options = Options { host: "test".to_owned(), now: Timestamp(0) };
        Ok(Box::new(stateous_store_sqlite::open(&self.0.path().join("test.db"), &options)?))
    }

    fn another(&self) -> Box<dyn Harness> {
        Box::new(Self::new())
    }
}

stateous_store::conformance_suite!(Folder::new());
