//! A program under test.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tokio::process::{Child, Command};

/// A running program; its stderr goes to a file. Dropping it kills it.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program that logs to `<folder>/<name>.log`, anew if it was there.
    ///
    /// # Errors
    /// When the log cannot be written or the program not be started.
    pub fn start(name: &str, folder: &Path, command: &mut Command) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = std::fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).kill_on_drop(true);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    /// What it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits for a log line that holds `text`, and gives it back.
    ///
    /// # Errors
    /// When the program ends first, or says nothing of the kind within half a minute.
    pub async fn line(&mut self, text: &str) -> Result<String> {
        let log = self.log.clone();
        let read = || std::fs::read_to_string(&log).unwrap_or_default();
        let child = &mut self.child;
        let found = eventually(Duration::from_secs(30), async || {
            // The status first: what was logged before the end is in the file then.
            let ended = child.try_wait().ok().flatten();
            let logged = read();
            match logged.lines().find(|line| line.contains(text)) {
                Some(line) => Some(Ok(line.to_owned())),
                None => ended.map(Err),
            }
        })
        .await;
        match found {
            Some(Ok(line)) => Ok(line),
            Some(Err(status)) => bail!("{} ended with {status}: {}", self.name, read().trim()),
            None => bail!("{} did not say {text:?} in time: {}", self.name, read().trim()),
        }
    }

    /// Ends it at once (SIGKILL).
    ///
    /// # Errors
    /// When it cannot be killed.
    pub async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.with_context(|| format!("cannot kill {}", self.name))
    }

    /// Sends a signal by name, such as `TERM`.
    ///
    /// # Errors
    /// When the program has ended.
    pub async fn signal(&self, signal: &str) -> Result<()> {
        let pid = self.child.id().with_context(|| format!("{} has ended", self.name))?.to_string();
        let status = Command::new("kill").args([&format!("-{signal}"), &pid]).status().await?;
        anyhow::ensure!(status.success(), "kill -{signal} {pid} failed");
        Ok(())
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When it does not end within `limit`.
    pub async fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        tokio::time::timeout(limit, self.child.wait())
            .await
            .with_context(|| format!("{} did not end within {limit:?}: {}", self.name, self.log()))?
            .with_context(|| format!("cannot wait for {}", self.name))
    }
}

/// Asks again and again until there is an answer, or `limit` is over.
pub async fn eventually<T>(limit: Duration, mut ask: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = ask().await {
            return Some(answer);
        }
        if Instant::now() >= end {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
