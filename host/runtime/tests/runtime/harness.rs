//! One runtime for all tests, ports that write down what they were asked, and the compile worker: this
//! program itself.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use stateous_inspect::digest;
use stateous_runtime::{
    CompileWorker, Config, Ended, Event, Level, Limits, Outcome, Patience, PortError, Ports, PrepareError,
    Prepared, Runtime, RuntimeOptions, StopCode, Task, Web, WebBody, WebError,
};

/// Never dropped, so its cache folder lives in the build directory.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut options =
        RuntimeOptions::new(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compiled"), worker());
    options.slots = 8;
    Runtime::new(options).unwrap()
});

/// This program, told to run only [`compile_worker`]; libtest takes the two paths for names of tests that do
/// not exist.
pub(crate) fn worker() -> CompileWorker {
    CompileWorker::new(
        std::env::current_exe().unwrap(),
        ["--exact", "harness::compile_worker", "--nocapture"],
    )
}

/// Not a test: what the children that compile run.
#[test]
#[expect(clippy::disallowed_methods, reason = "here this is the main function of a child process")]
fn compile_worker() {
    let args = std::env::args_os().skip(1).map(PathBuf::from).collect::<Vec<_>>();
    let [_, _, _, input, output] = &args[..] else { return };
    if let Err(e) = stateous_runtime::compile_worker(input, output) {
        eprintln!("{e}");
        std::process::exit(1);
    }
}

pub(crate) fn runtime() -> &'static Runtime {
    &RUNTIME
}

pub(crate) async fn prepare(component: Vec<u8>) -> Result<Prepared, PrepareError> {
    let digest = digest(&component);
    runtime().prepare(&digest, async { Ok::<_, Infallible>(component) }).await
}

/// What an attempt did and how it ended.
pub(crate) struct Story {
    pub(crate) ended: Ended,
    /// Port calls and log lines, one a line.
    pub(crate) calls: String,
}

impl Story {
    /// The code and message of a stop.
    pub(crate) fn stopped(&self) -> (StopCode, &str) {
        match &self.ended.outcome {
            Outcome::Stopped { code, message } => (*code, message),
            other => panic!("not stopped but {other:?}; {}", self.calls),
        }
    }

    /// The message of a failure.
    pub(crate) fn failed(&self) -> (&str, bool) {
        match &self.ended.outcome {
            Outcome::Failed { message, retry } => (message, *retry),
            other => panic!("not failed but {other:?}; {}", self.calls),
        }
    }
}

/// Runs a component with the usual task and limits that suit a test.
pub(crate) async fn run(component: Vec<u8>) -> Story {
    run_with(component, task(), limits()).await
}

pub(crate) async fn run_with(component: Vec<u8>, task: Task, limits: Limits) -> Story {
    run_on(component, task, limits, Recorder::default()).await
}

pub(crate) async fn run_on(component: Vec<u8>, task: Task, limits: Limits, ports: Recorder) -> Story {
    let prepared = prepare(component).await.unwrap_or_else(|e| panic!("{e}"));
    let calls = ports.calls.clone();
    let ended = runtime().run(&prepared, task, limits, ports).await;
    let calls = calls.lock().unwrap().join("\n");
    Story { ended, calls }
}

/// Little fuel, so that a guest that spins ends soon in a slow build too.
pub(crate) fn limits() -> Limits {
    Limits { fuel: 500_000_000, wall: Duration::from_secs(60), ..Limits::default() }
}

pub(crate) fn task() -> Task {
    Task {
        token: "order-1".to_owned(),
        id: 7,
        workflow: "orders".to_owned(),
        state: "draft".to_owned(),
        visit: 1,
        attempt: 2,
        entered_by: Event { name: "__started__".to_owned(), payload: None },
        context: r#"{"title": "A title", "price": 1.50}"#.to_owned(),
        memory: BTreeMap::new(),
        now_ms: 1_700_000_000_000,
    }
}

/// Ports that write down every call and answer yes, or what they were told to.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) calls: Arc<Mutex<Vec<String>>>,
    /// The answer to every call that can be refused.
    pub(crate) answer: Option<PortError>,
    /// Calls never return.
    pub(crate) hang: bool,
    pub(crate) config: Config,
    /// What an HTTP request gets; `None` is an answer that never comes.
    pub(crate) web: Option<Result<Bytes, WebError>>,
}

impl Recorder {
    async fn called(&mut self, call: String) -> Result<(), PortError> {
        self.calls.lock().unwrap().push(call);
        if self.hang {
            std::future::pending::<()>().await;
        }
        self.answer.clone().map_or(Ok(()), Err)
    }
}

/// Writes down every request, and answers 200 with the body that it was told.
struct Answers {
    calls: Arc<Mutex<Vec<String>>>,
    answer: Option<Result<Bytes, WebError>>,
}

#[async_trait]
impl Web for Answers {
    async fn send(
        self: Arc<Self>,
        request: http::Request<WebBody>,
        _: Patience,
    ) -> Result<http::Response<WebBody>, WebError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let mut lines = vec![format!("{} {}", head.method, head.uri)];
        lines.extend(head.headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())));
        lines.push(String::from_utf8_lossy(&body).into_owned());
        self.calls.lock().unwrap().push(lines.join(" | "));
        let Some(answer) = self.answer.clone() else { return std::future::pending().await };
        let body = Full::new(answer?).map_err(|never| match never {}).boxed_unsync();
        Ok(http::Response::builder().status(200).header("x-from", "test").body(body).unwrap())
    }
}

#[async_trait]
impl Ports for Recorder {
    async fn set_memory(&mut self, key: &str, value: &str) -> Result<(), PortError> {
        self.called(format!("set {key} = {value}")).await
    }

    async fn delete_memory(&mut self, key: &str) -> Result<(), PortError> {
        self.called(format!("delete {key}")).await
    }

    async fn note(&mut self, text: &str) -> Result<(), PortError> {
        self.called(format!("note {text}")).await
    }

    fn config(&self) -> Config {
        self.config.clone()
    }

    fn web(&self) -> Arc<dyn Web> {
        Arc::new(Answers { calls: Arc::clone(&self.calls), answer: self.web.clone() })
    }

    fn log(&mut self, level: Level, text: &str) {
        self.calls.lock().unwrap().push(format!("{level:?}: {text}"));
    }
}
