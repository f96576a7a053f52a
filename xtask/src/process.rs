//! Programs that run beside us: started, watched through their log, and ended, whatever happens.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// A running program whose stderr goes to a file. Dropping it kills it.
pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program. Its stderr goes to `<folder>/<name>.log`.
    pub(crate) fn start(name: &str, folder: &Path, command: &mut Command) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    /// Waits until the program has logged a line that holds `text`, and gives that line back.
    pub(crate) fn wait_for_line(&mut self, text: &str, limit: Duration) -> Result<String> {
        let (name, log) = (self.name.clone(), self.log.clone());
        let found = until(limit, || {
            let logged = std::fs::read_to_string(&log).unwrap_or_default();
            if let Some(line) = logged.lines().find(|line| line.contains(text)) {
                return Some(Ok(line.to_owned()));
            }
            match self.child.try_wait() {
                Ok(Some(status)) => Some(Err(format!("{name} ended with {status}: {}", logged.trim()))),
                _ => None,
            }
        });
        match found {
            Some(Ok(line)) => Ok(line),
            Some(Err(ended)) => bail!(ended),
            None => bail!("{name} did not say {text:?} within {limit:?}; its log is {}", log.display()),
        }
    }

    /// Ends the program at once, as a power cut would (SIGKILL).
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill().with_context(|| format!("cannot kill {}", self.name))?;
        self.child.wait().with_context(|| format!("cannot wait for {}", self.name))?;
        Ok(())
    }

    /// Asks the program to stop (SIGTERM) and waits for it.
    pub(crate) fn stop(mut self, limit: Duration) -> Result<ExitStatus> {
        let pid = self.child.id().to_string();
        crate::shell::output(Command::new("kill").args(["-TERM", &pid]))?;
        let name = self.name.clone();
        until(limit, || self.child.try_wait().ok().flatten())
            .with_context(|| format!("{name} did not stop within {limit:?}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks again and again until there is an answer, or `limit` is over.
#[expect(
    clippy::disallowed_methods,
    reason = "another process cannot wake us; we look at it ten times a second or more"
)]
pub(crate) fn until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
