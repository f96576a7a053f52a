//! What a [`crate::Runtime`] is made from, and why making one can fail.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::limits::Limits;

/// The settings of a runtime. One process has one.
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    /// Where compiled forms are kept. Made if missing, readable by its owner only. Everything in it can be
    /// deleted at any time: what is missing is compiled again. Nobody else may write there, since it holds
    /// native code.
    pub cache_dir: PathBuf,
    /// The most bytes of compiled forms that are kept on disk; the oldest go first. The newest stays in any
    /// case.
    pub cache_bytes_max: u64,
    /// How many attempts may run at once: 1 to 1000.
    pub slots: usize,
    /// Nothing runs with more than this.
    pub caps: Limits,
    /// How a child process that compiles is started.
    pub compile_worker: CompileWorker,
}

impl RuntimeOptions {
    /// 2 GiB of cache, 4 slots, [`Limits::default_caps`].
    pub fn new(cache_dir: impl Into<PathBuf>, compile_worker: CompileWorker) -> Self {
        Self {
            cache_dir: cache_dir.into(),
            cache_bytes_max: 2 << 30,
            slots: 4,
            caps: Limits::default_caps(),
            compile_worker,
        }
    }
}

/// A command that ends up in [`crate::compile_worker`]: `exe args… IN OUT`, exit code 0 when OUT is there,
/// else 1 with the reason on standard error.
#[derive(Debug, Clone)]
pub struct CompileWorker {
    /// Usually the running program itself.
    pub exe: PathBuf,
    /// What comes before the two paths, such as `compile-worker`.
    pub args: Vec<OsString>,
    /// The child is killed when it takes longer: 180 s.
    pub wall: Duration,
}

impl CompileWorker {
    /// The usual wall time.
    pub fn new(exe: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self {
            exe: exe.into(),
            args: args.into_iter().map(Into::into).collect(),
            wall: Duration::from_secs(180),
        }
    }
}

/// Why a runtime could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The settings contradict themselves.
    #[error("a runtime needs 1 to 1000 slots, not {0}")]
    Slots(usize),
    /// wasmtime refused; nearly always because address space for the pool could not be reserved.
    #[error(
        "the WebAssembly engine for {slots} slots did not start: {message}. Use fewer slots, or \
         lift `ulimit -v`"
    )]
    Engine {
        /// The slots that were asked for.
        slots: usize,
        /// The engine's own words.
        message: String,
    },
    /// The folder for compiled forms cannot be used.
    #[error("the folder {} for compiled routines cannot be used", path.display())]
    Cache {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
}
