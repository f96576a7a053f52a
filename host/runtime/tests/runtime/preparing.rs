//! From a digest to something that runs: fetched and compiled once, found on disk by the next process, and
//! every way to fail.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use stateous_inspect::digest;
use stateous_runtime::{
    CompileWorker, Config, Level, Limits, Outcome, PortError, Ports, PrepareError, Prepared, Runtime,
    RuntimeError, RuntimeOptions, Web,
};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::harness::{Recorder, limits, task, worker};
use crate::scripted::Script;

fn runtime_in(dir: &Path, worker: CompileWorker) -> Runtime {
    let mut options = RuntimeOptions::new(dir, worker);
    options.slots = 1;
    Runtime::new(options).unwrap()
}

/// Somebody who serves one component and counts how often it was asked for.
struct Source {
    bytes: Vec<u8>,
    asked: AtomicUsize,
}

impl Source {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, asked: AtomicUsize::new(0) }
    }

    async fn fetch(&self) -> Result<Vec<u8>, std::io::Error> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(self.bytes.clone())
    }

    async fn prepare(&self, runtime: &Runtime) -> Result<Prepared, PrepareError> {
        runtime.prepare(&digest(&self.bytes), self.fetch()).await
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn code(result: Result<Prepared, PrepareError>) -> &'static str {
    result.map_or_else(|e| e.code(), |_| "prepared")
}

#[tokio::test]
async fn many_at_once_compile_once_and_the_next_process_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let source = Source::new(Script::new().note("compiled once").build());
    {
        let runtime = runtime_in(dir.path(), worker());
        let (a, b, c) =
            tokio::join!(source.prepare(&runtime), source.prepare(&runtime), source.prepare(&runtime));
        assert_eq!(a.unwrap().digest(), digest(&source.bytes));
        assert!(b.is_ok() && c.is_ok());
        assert_eq!(source.asked(), 1);
    }
    let no_compiler = runtime_in(dir.path(), CompileWorker::new("/no/such/program", [""; 0]));
    let prepared = source.prepare(&no_compiler).await.unwrap();
    assert_eq!(source.asked(), 1, "found on disk");
    let ended = no_compiler.run(&prepared, task(), Limits::default(), Recorder::default()).await;
    assert_eq!(ended.outcome, Outcome::Waiting);
}

#[tokio::test]
async fn a_damaged_compiled_form_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let source = Source::new(Script::new().note("damaged").build());
    source.prepare(&runtime_in(dir.path(), worker())).await.unwrap();
    let engine = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
    let file = std::fs::read_dir(engine).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();

    source.prepare(&runtime_in(dir.path(), worker())).await.unwrap();
    assert_eq!(source.asked(), 2);
}

#[tokio::test]
async fn nothing_but_the_compiled_form_is_left_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime_in(dir.path(), worker());
    Source::new(Script::new().note("clean").build()).prepare(&runtime).await.unwrap();
    Source::new(b"\0asm\x0d\0\x01\0 no component".to_vec()).prepare(&runtime).await.err().unwrap();
    let engine = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
    let names = std::fs::read_dir(engine).unwrap().map(|e| e.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(names[0].to_string_lossy().ends_with(".cwasm"), "{names:?}");
}

#[tokio::test]
async fn other_bytes_than_asked_for_are_not_compiled() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime_in(dir.path(), worker());
    let wanted = digest(b"something else");
    let fetch = async { Ok::<_, std::io::Error>(Script::new().build()) };
    let error = runtime.prepare(&wanted, fetch).await.err().unwrap();
    assert_eq!(error.code(), "wrong_digest");
    assert!(error.is_transient());

    let error =
        runtime.prepare("../../etc/passwd", async { Ok::<_, std::io::Error>(vec![]) }).await.err().unwrap();
    assert_eq!(error.code(), "wrong_digest");
}

#[tokio::test]
async fn a_fetch_that_fails_is_asked_again_and_a_bad_component_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime_in(dir.path(), worker());
    let source = Source::new(Script::new().note("fetched").build());
    let fails = async { Err(std::io::Error::other("connection refused")) };
    let error = runtime.prepare(&digest(&source.bytes), fails).await.err().unwrap();
    assert_eq!(error.code(), "fetch_failed");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "connection refused");
    assert_eq!(code(source.prepare(&runtime).await), "prepared");

    let bad = Source::new(wat::parse_str("(component (core module (memory 1 1 shared)))").unwrap());
    for _ in 0..3 {
        assert_eq!(code(bad.prepare(&runtime).await), "compile_failed");
    }
    assert_eq!(bad.asked(), 1, "remembered");
}

#[tokio::test]
async fn a_compiler_that_hangs_or_is_missing_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let source = Source::new(Script::new().note("never compiled").build());
    let mut hangs = CompileWorker::new("/bin/sh", ["-c", "exec /bin/sleep 60", "sleep"]);
    hangs.wall = std::time::Duration::from_millis(50);
    let error = source.prepare(&runtime_in(dir.path(), hangs)).await.err().unwrap();
    assert_eq!(error.code(), "compile_limit");
    assert!(error.to_string().ends_with("it was not compiled within 50ms"), "{error}");

    let missing = CompileWorker::new("/no/such/program", ["compile-worker"]);
    let error = source.prepare(&runtime_in(dir.path(), missing)).await.err().unwrap();
    assert_eq!(error.code(), "host");
    assert!(error.is_transient());
}

/// Ports whose guests wait in a note until all of them are there.
struct Together(Arc<Barrier>);

#[async_trait]
impl Ports for Together {
    async fn set_memory(&mut self, _: &str, _: &str) -> Result<(), PortError> {
        Ok(())
    }

    async fn delete_memory(&mut self, _: &str) -> Result<(), PortError> {
        Ok(())
    }

    async fn note(&mut self, _: &str) -> Result<(), PortError> {
        self.0.wait().await;
        Ok(())
    }

    fn config(&self) -> Config {
        Config::default()
    }

    fn web(&self) -> Arc<dyn Web> {
        Recorder::default().web()
    }

    fn log(&mut self, _: Level, _: &str) {}
}

#[tokio::test]
async fn the_most_slots_run_at_the_same_time() {
    const SLOTS: usize = 1000;
    let dir = tempfile::tempdir().unwrap();
    let mut options = RuntimeOptions::new(dir.path(), worker());
    options.slots = SLOTS;
    let runtime = Arc::new(Runtime::new(options).unwrap());
    let prepared = Source::new(Script::new().note("all here?").build()).prepare(&runtime).await.unwrap();
    let all = Arc::new(Barrier::new(SLOTS));
    let mut runs = JoinSet::new();
    for _ in 0..SLOTS {
        let (runtime, prepared, ports) = (runtime.clone(), prepared.clone(), Together(all.clone()));
        runs.spawn(async move { runtime.run(&prepared, task(), limits(), ports).await.outcome });
    }
    while let Some(outcome) = runs.join_next().await {
        assert_eq!(outcome.unwrap(), Outcome::Waiting);
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_in_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = RuntimeOptions::new(dir.path(), worker());
    options.slots = 0;
    let error = Runtime::new(options.clone()).err().unwrap();
    assert_eq!(error.to_string(), "a runtime needs 1 to 1000 slots, not 0");

    options.slots = 1;
    options.cache_dir = dir.path().join("file");
    std::fs::write(&options.cache_dir, "").unwrap();
    let error = Runtime::new(options).err().unwrap();
    assert!(matches!(error, RuntimeError::Cache { .. }), "{error}");
}
