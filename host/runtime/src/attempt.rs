//! Everything that belongs to one attempt while it runs: the data of its wasmtime store.

use tokio::task::yield_now;

use crate::capabilities::{config, context, http, log, memory, notes, timers};
use crate::limiter::Limiter;
use crate::limits::Limits;
use crate::ports::Ports;
use crate::task::Task;
use crate::wasi::Wasi;

/// Work of the host, in bytes touched, after which other attempts get their turn: well under a millisecond.
const WORK_PER_TURN: usize = 256 << 10;
/// What a host call costs whatever it does.
const WORK_PER_CALL: usize = 256;

/// One attempt: its accounts, its ports and the state of each capability.
pub(crate) struct Attempt {
    pub(crate) limiter: Limiter,
    pub(crate) wasi: Wasi,
    pub(crate) ports: Box<dyn Ports>,
    pub(crate) context: context::State,
    pub(crate) memory: memory::State,
    pub(crate) notes: notes::State,
    pub(crate) timers: timers::State,
    pub(crate) config: config::Config,
    pub(crate) http: http::State,
    pub(crate) log: log::State,
    work: usize,
}

impl Attempt {
    pub(crate) fn new(task: &mut Task, limits: &Limits, ports: impl Ports) -> Self {
        Self {
            limiter: Limiter::new(limits.memory_bytes),
            wasi: Wasi::new(),
            context: context::State::new(std::mem::take(&mut task.context)),
            memory: memory::State::new(std::mem::take(&mut task.memory)),
            notes: notes::State::default(),
            timers: timers::State::default(),
            config: ports.config(),
            http: http::State::new(ports.web()),
            log: log::State::default(),
            ports: Box::new(ports),
            work: 0,
        }
    }

    /// Every capability says here what its call costs. Fuel only counts the guest's own instructions, so a
    /// guest that lets the host work would otherwise keep a thread, and no time limit could reach it.
    pub(crate) async fn work(&mut self, bytes: usize) {
        self.work = self.work.saturating_add(bytes).saturating_add(WORK_PER_CALL);
        if self.work > WORK_PER_TURN {
            self.work = 0;
            yield_now().await;
        }
    }

    /// The bytes that go out with the outcome so far, its payload not counted.
    pub(crate) fn outgoing_bytes(&self) -> usize {
        self.context.bytes() + self.timers.bytes()
    }

    /// What the guest printed becomes lines of the log, under the same bound as lines that it wrote there
    /// itself.
    pub(crate) fn flush_prints(&mut self) {
        let (stdout, stderr) = (self.wasi.stdout.text(), self.wasi.stderr.text());
        for (level, text) in [(crate::Level::Info, stdout), (crate::Level::Warn, stderr)] {
            for line in text.lines().filter(|line| !line.is_empty()) {
                self.log.line(&mut *self.ports, level, line);
            }
        }
    }
}
