//! A supervisor under test: its folder, its scripted routines, its log.

use std::io::Write;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use stateous_api::ClientError;
use stateous_runtime::{Ended, Event, Limits, Outcome, Ports, PrepareError, Stats, Task};
use stateous_supervisor::outbox::{Left, Outbox};
use stateous_supervisor::{
    End, Error, Given, Options, Routines, Settings, Stopper, Stopping, SystemClock, supervise,
};
use tokio::sync::watch;
use tracing_subscriber::fmt::MakeWriter;

use crate::fake::{Fake, PATIENCE};

type Running = Pin<Box<dyn Future<Output = Outcome> + Send>>;
type Routine = dyn Fn(Task, Box<dyn Ports>) -> Running + Send + Sync;

/// Routines as a test writes them: one function for every state.
pub(crate) struct Scripted(Box<Routine>);

impl Scripted {
    pub(crate) fn new<F: Future<Output = Outcome> + Send + 'static>(
        run: impl Fn(Task, Box<dyn Ports>) -> F + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(move |task, ports| Box::pin(run(task, ports))))
    }
}

impl Routines for Scripted {
    type Ready = ();

    async fn prepare(
        &self,
        digest: &str,
        fetch: impl Future<Output = Result<Vec<u8>, ClientError>> + Send,
    ) -> Result<(), PrepareError> {
        let failed =
            |error: ClientError| PrepareError::Fetch { digest: digest.to_owned(), source: Arc::new(error) };
        fetch.await.map(drop).map_err(failed)
    }

    async fn run(&self, (): &(), task: Task, _: Limits, ports: impl Ports) -> Ended {
        let outcome = (self.0)(task, Box::new(ports)).await;
        Ended { outcome, context_writes: Default::default(), schedules: Vec::new(), stats: Stats::default() }
    }
}

pub(crate) fn event(name: &str) -> Outcome {
    Outcome::Event(Event { name: name.into(), payload: None })
}

/// The lines of the log, without times and levels.
#[derive(Clone)]
pub(crate) struct Log {
    text: Arc<Mutex<Vec<u8>>>,
    grown: watch::Sender<()>,
}

impl Log {
    pub(crate) fn lines(&self) -> Vec<String> {
        String::from_utf8(self.text.lock().unwrap().clone()).unwrap().lines().map(str::to_owned).collect()
    }

    /// Waits until there is this line.
    pub(crate) async fn wait_for(&self, line: &str) {
        let mut grown = self.grown.subscribe();
        let waiting = async {
            while !self.lines().iter().any(|there| there == line) {
                grown.changed().await.unwrap();
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            panic!("{line:?} is not in {:?}", self.lines());
        }
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.text.lock().unwrap().write(bytes);
        self.grown.send_replace(());
        n
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// One start of a supervisor.
pub(crate) struct House {
    pub(crate) stopper: Stopper,
    pub(crate) log: Log,
    running: tokio::task::JoinHandle<Result<End, Error>>,
    _logging: tracing::subscriber::DefaultGuard,
}

impl House {
    /// Starts a supervisor with so many slots.
    pub(crate) fn start(folder: &Path, fake: &Fake, slots: usize, routines: Scripted) -> Self {
        let log = Log { text: Arc::default(), grown: watch::channel(()).0 };
        let messages = tracing_subscriber::fmt::format::debug_fn(|out, field, value| {
            if field.name() == "message" { write!(out, "{value:?}") } else { Ok(()) }
        });
        let subscriber = tracing_subscriber::fmt()
            .with_writer(log.clone())
            .fmt_fields(messages)
            .without_time()
            .with_level(false)
            .with_target(false)
            .finish();
        let logging = tracing::subscriber::set_default(subscriber);
        let given = Given { url: Some(fake.url.clone()), name: Some("vm".into()), slots: Some(slots) };
        let settings = Settings::load(folder, given).unwrap();
        let (stopper, stopping) = Stopping::new();
        let seed = rand::random();
        let options = Options { routines: Arc::new(routines), stopping, clock: Arc::new(SystemClock), seed };
        let folder = folder.to_owned();
        let running = tokio::spawn(async move { supervise(&folder, &settings, options).await });
        Self { stopper, log, running, _logging: logging }
    }

    /// Waits for its end.
    pub(crate) async fn end(self) -> (Result<End, Error>, Vec<String>) {
        let end = tokio::time::timeout(PATIENCE, self.running).await;
        (end.expect("it ends").unwrap(), self.log.lines())
    }

    /// Stops it gracefully.
    pub(crate) async fn stop(self) -> Vec<String> {
        self.stopper.signal();
        let (end, log) = self.end().await;
        assert_eq!(end.unwrap(), End::Graceful);
        log
    }
}

/// What is in the outbox of a supervisor that does not run.
pub(crate) async fn left(folder: &Path) -> Left {
    let (outbox, _) = Outbox::open(folder, "f").unwrap();
    let left = outbox.left().await.unwrap();
    outbox.close().await;
    left
}
