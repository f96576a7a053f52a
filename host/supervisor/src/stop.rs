//! Being told to stop: the first signal asks for a graceful stop, the second ends everything at once.

use tokio::sync::watch;

/// How far a supervisor has been told to stop. It only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stop {
    /// Nobody asked.
    #[default]
    No,
    /// Take no new tasks, wait for the routines that run.
    Graceful,
    /// Stop them too.
    Now,
}

/// The side that tells. Dropping it tells nothing.
#[derive(Debug)]
pub struct Stopper(watch::Sender<Stop>);

impl Stopper {
    /// One more signal: graceful first, then at once.
    pub fn signal(&self) {
        self.0.send_modify(|stop| *stop = if *stop == Stop::No { Stop::Graceful } else { Stop::Now });
    }

    /// At once, as after a second signal.
    pub fn now(&self) {
        self.0.send_replace(Stop::Now);
    }
}

/// The side that is told. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Stopping(watch::Receiver<Stop>);

impl Stopping {
    /// Both sides.
    #[must_use]
    pub fn new() -> (Stopper, Self) {
        let (tell, told) = watch::channel(Stop::No);
        (Stopper(tell), Self(told))
    }

    /// Told by this process's SIGINT and SIGTERM, from now on. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the operating system does not let us listen.
    #[cfg(unix)]
    pub fn on_signals() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let (stopper, stopping) = Self::new();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                stopper.signal();
            }
        });
        Ok(stopping)
    }

    /// How far it has come.
    #[must_use]
    pub fn stop(&self) -> Stop {
        *self.0.borrow()
    }

    /// Whether anybody asked.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.stop() >= Stop::Graceful
    }

    /// Returns once it has come as far as `stop`; never when nobody will ask.
    pub async fn reached(&self, stop: Stop) {
        let mut told = self.0.clone();
        if told.wait_for(|now| *now >= stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_second_signal_is_stronger_than_the_first() {
        let (stopper, stopping) = Stopping::new();
        assert!(!stopping.asked());
        stopper.signal();
        stopping.reached(Stop::Graceful).await;
        assert_eq!(stopping.stop(), Stop::Graceful);
        stopper.signal();
        stopping.reached(Stop::Now).await;
        stopper.signal();
        assert_eq!(stopping.stop(), Stop::Now);
    }
}
