//! A supervisor of a folder inside this process: for `supervise`, `serve --supervise` and `dev`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use stateous_runtime::{CompileWorker, Runtime, RuntimeOptions};
use stateous_supervisor::{End, Given, Options, Settings, Stopping, SystemClock};

/// Reads a folder's settings and makes what runs its routines, so that whatever is wrong with them is said before
/// anything starts.
pub(crate) struct Host {
    folder: PathBuf,
    settings: Settings,
    runtime: Arc<Runtime>,
}

impl Host {
    /// A supervisor for `folder`; `given` goes before its file.
    pub(crate) fn new(folder: &Path, given: Given) -> anyhow::Result<Self> {
        let settings = Settings::load(folder, given)?;
        let this = std::env::current_exe().context("cannot find this program, which compiles routines")?;
        let mut options =
            RuntimeOptions::new(folder.join(".stateous/cache"), CompileWorker::new(this, ["compile-worker"]));
        options.slots = settings.slots;
        options.caps = settings.caps;
        options.cache_bytes_max = settings.cache_bytes;
        let runtime = Arc::new(Runtime::new(options)?);
        Ok(Self { folder: folder.to_owned(), settings, runtime })
    }

    /// Runs it until it is told to stop.
    pub(crate) async fn run(self, stopping: Stopping) -> anyhow::Result<End> {
        let options = Options {
            routines: self.runtime,
            stopping,
            clock: Arc::new(SystemClock),
            // The one place that draws randomness: request ids, the folder's id and the jitter come from it.
            seed: rand::random(),
        };
        Ok(stateous_supervisor::supervise(&self.folder, &self.settings, options).await?)
    }
}
