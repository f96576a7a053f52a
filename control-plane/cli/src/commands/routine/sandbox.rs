//! The real sandbox with a control plane made of nothing: what a routine writes is kept here and sent nowhere. For
//! `stateous routine run`, and for the empty run that `stateous routine build` measures.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, bail};
use async_trait::async_trait;
use stateous_runtime::{
    CompileWorker, Config, Ended, Event, Level, Limits, Patience, PortError, Ports, Prepared, Runtime,
    RuntimeOptions, Task, Web, WebBody, WebError,
};

/// The most bytes of compiled forms that are kept for later runs.
const CACHE_BYTES_MAX: u64 = 1 << 30;

/// One component in a sandbox of its own.
pub(super) struct Sandbox {
    runtime: Runtime,
    prepared: Prepared,
}

/// What an attempt did besides ending.
#[derive(Default)]
pub(super) struct Written {
    /// The memory afterwards.
    pub(super) memory: BTreeMap<String, String>,
    pub(super) notes: Vec<String>,
    pub(super) log: Vec<(Level, String)>,
}

impl Sandbox {
    /// Checks a component as an upload is checked, and makes it ready to run. Compiled forms are kept between runs.
    pub(super) async fn of(component: Vec<u8>, limits: &Limits) -> Result<Self> {
        if let Err(problems) = stateous_inspect::check(&component) {
            let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
            bail!("the component would be refused: {}", all.join("; "));
        }
        let this = std::env::current_exe().context("cannot find this program, which compiles routines")?;
        let mut options = RuntimeOptions::new(cache_dir(), CompileWorker::new(this, ["compile-worker"]));
        options.cache_bytes_max = CACHE_BYTES_MAX;
        options.slots = 1;
        options.caps = *limits;
        let runtime = Runtime::new(options)?;
        let digest = stateous_inspect::digest(&component);
        let prepared = runtime.prepare(&digest, async { Ok::<_, Infallible>(component) }).await?;
        Ok(Self { runtime, prepared })
    }

    /// Runs one attempt.
    pub(super) async fn run(&self, task: Task, limits: Limits) -> (Ended, Written) {
        let written = Written { memory: task.memory.clone(), ..Written::default() };
        let ports = Local(Arc::new(Mutex::new(written)));
        let kept = ports.clone();
        let ended = self.runtime.run(&self.prepared, task, limits, ports).await;
        let written = std::mem::take(&mut *kept.lock());
        (ended, written)
    }
}

/// A task as a first attempt of a first visit has it, with this context.
pub(super) fn first_task(context: String, now_ms: u64) -> Task {
    Task {
        token: "T-1".to_owned(),
        id: 1,
        workflow: "local".to_owned(),
        state: "local".to_owned(),
        visit: 1,
        attempt: 1,
        entered_by: Event { name: "__started__".to_owned(), payload: None },
        context,
        memory: BTreeMap::new(),
        now_ms,
    }
}

/// Where compiled forms are kept: the person's own cache, and the machine's folder for passing files where they have no
/// home.
fn cache_dir() -> PathBuf {
    let home = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    home.unwrap_or_else(std::env::temp_dir).join("stateous/compiled")
}

/// Ports that keep everything and refuse nothing: the runtime has checked the form of what comes here.
#[derive(Clone)]
struct Local(Arc<Mutex<Written>>);

impl Local {
    fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Ports for Local {
    async fn set_memory(&mut self, key: &str, value: &str) -> Result<(), PortError> {
        self.lock().memory.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    async fn delete_memory(&mut self, key: &str) -> Result<(), PortError> {
        self.lock().memory.remove(key);
        Ok(())
    }

    async fn note(&mut self, text: &str) -> Result<(), PortError> {
        self.lock().notes.push(text.to_owned());
        Ok(())
    }

    fn config(&self) -> Config {
        Config::default()
    }

    fn web(&self) -> Arc<dyn Web> {
        Arc::new(NoWeb)
    }

    fn log(&mut self, level: Level, text: &str) {
        self.lock().log.push((level, text.to_owned()));
    }
}

/// No request leaves a run on the developer's own machine: what a routine may reach, its supervisor's owner says.
struct NoWeb;

#[async_trait]
impl Web for NoWeb {
    async fn send(
        self: Arc<Self>,
        _: http::Request<WebBody>,
        _: Patience,
    ) -> Result<http::Response<WebBody>, WebError> {
        Err(WebError::Denied("`stateous routine run` sends nothing: a supervisor grants hosts".to_owned()))
    }
}
