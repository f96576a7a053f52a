//! What a test does to a server's processes. Every process named here is one that the cluster started.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// A server that stands still with all of its children; it goes on when this is dropped.
#[derive(Debug)]
pub struct Frozen {
    processes: Vec<u32>,
}

impl Frozen {
    /// Stops the server first, so that it starts no further child.
    pub(crate) fn all_of(server: u32) -> Self {
        send(server, Signal::STOP);
        let mut frozen = Self { processes: vec![server] };
        frozen.processes.extend(children(server));
        frozen.processes[1..].iter().for_each(|child| send(*child, Signal::STOP));
        frozen
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.processes.iter().for_each(|process| send(*process, Signal::CONT));
    }
}

/// Returns when the process has ended.
#[expect(
    clippy::disallowed_methods,
    reason = "nobody but its parent is told when a process ends: it is asked for"
)]
pub(crate) fn gone(process: u32) {
    while runs(process) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process is there. One that has ended and that its parent has not asked after yet has no command line.
pub(crate) fn runs(process: u32) -> bool {
    let there = pid(process).is_some_and(|pid| test_kill_process(pid).is_ok());
    there && fs::read(format!("/proc/{process}/cmdline")).map_or(true, |line| !line.is_empty())
}

/// The children of a server.
pub(crate) fn children(server: u32) -> Vec<u32> {
    let file = format!("/proc/{server}/task/{server}/children");
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn pid(process: u32) -> Option<Pid> {
    Pid::from_raw(process.try_into().ok()?)
}

fn send(process: u32, signal: Signal) {
    let sent = pid(process).map(|pid| kill_process(pid, signal));
    // A child of the server may have ended meanwhile.
    debug_assert!(sent.is_some(), "{process} is no process id");
}
