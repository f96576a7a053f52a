//! A control plane from its start to its end: who is started in which order, and how it stops.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use stateous_engine::{Catalog, Rules};
use stateous_store::{Clock, Committer, Failure, Store};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tracing::debug;

use crate::app::App;
use crate::connections;
use crate::door::Hosts;
use crate::loops::{self, Lost};
use crate::router;
use crate::startup;

/// How long a lease lasts unless told otherwise: what the original's supervisors count on.
pub const LEASE_MS: i64 = 120_000;

/// What a control plane needs to be told besides its listener, store and graphs.
#[derive(Clone)]
pub struct Options {
    /// How long a lease lasts, in milliseconds.
    pub lease_ms: i64,
    /// The clock that decides leases and timers; `None` is the machine's, never behind the highest time in the database.
    pub clock: Option<Arc<dyn Clock>>,
    /// Host names under which this control plane is reached, besides IP addresses and `localhost`; `*` is any name. A
    /// request to another name is refused: a web page can point a name of its own at this machine.
    pub hosts: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { lease_ms: LEASE_MS, clock: None, hosts: Vec::new() }
    }
}

/// Why a control plane did not start, or stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Tokens are on their way in a workflow or structure that is not served.
    #[error(
        "refusing to serve: {live} token(s) are active or paused in a workflow or structure that is not among these graph \
         files; serve the files that they were started on until they end"
    )]
    LiveTokens {
        /// How many.
        live: u64,
    },
    /// The database broke while the control plane started.
    #[error("cannot use the database: {0}")]
    Database(#[from] Failure),
    /// The listener cannot be used.
    #[error("cannot listen: {0}")]
    Listener(#[from] io::Error),
    /// Another control plane serves the database now.
    #[error(
        "another control plane took this database; this control plane does no more work; trying again does not help: stop \
         this server"
    )]
    Lost,
    /// A part of the control plane ended that never should: a bug of ours.
    #[error("{0} of this control plane ended unexpectedly; its log says more")]
    Broken(&'static str),
}

/// How far a control plane is on its way to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It serves.
    Serving,
    /// It takes no new connection and finishes the requests that it has.
    Stopping,
    /// It drops what is left.
    Aborting,
}

/// A control plane that serves. Dropping it stops it without waiting.
pub struct ControlPlane {
    address: SocketAddr,
    stage: Arc<watch::Sender<Stage>>,
    nudge: Arc<Notify>,
    running: JoinHandle<Result<(), ServeError>>,
}

impl ControlPlane {
    /// Checks the database against the graphs, takes the writer, and begins to serve. `listener` is bound already, so
    /// that a port in use is found before a database is opened.
    ///
    /// # Errors
    /// See [`ServeError`]; nothing runs then.
    pub async fn start(
        listener: TcpListener,
        store: Arc<dyn Store>,
        catalog: Catalog,
        options: Options,
    ) -> Result<Self, ServeError> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;

        let rules = Arc::new(Rules { catalog, lease_ms: options.lease_ms });
        let started = {
            let (store, rules, clock) = (Arc::clone(&store), Arc::clone(&rules), options.clock);
            tokio::task::spawn_blocking(move || startup::prepare(store.as_ref(), &rules, clock))
                .await
                .map_err(|_| ServeError::Broken("the start"))??
        };
        let clock = started.clock;
        let (committer, writer) = Committer::start(started.writer, Arc::clone(&rules), Arc::clone(&clock));

        let (stage, watched) = watch::channel(Stage::Serving);
        let stage = Arc::new(stage);
        let nudge = Arc::new(Notify::new());
        let reader = store.reader();
        let looping = loops::Looping {
            committer: committer.clone(),
            reader: Arc::clone(&reader),
            clock: Arc::clone(&clock),
            lease_ms: options.lease_ms,
            nudge: Arc::clone(&nudge),
            stage: watched.clone(),
        };
        let hosts = Hosts::new(&options.hosts);
        let router = router::router(App::new(committer, reader, rules, clock, hosts, watched.clone()));

        let stopper = Arc::clone(&stage);
        let running = tokio::spawn(async move {
            let loops = tokio::spawn(loops::run(looping));
            let serving = tokio::spawn(connections::serve(listener, router, watched));
            // The loops end when the control plane is told to stop, or by themselves when it cannot go on.
            let ended = match loops.await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(Lost)) => Err(ServeError::Lost),
                Err(_) => Err(ServeError::Broken("the loops")),
            };
            if ended.is_err() {
                stopper.send_replace(Stage::Aborting);
            }
            let served = serving.await.map_err(|_| ServeError::Broken("the listener"));
            // The writer's thread ends when nobody can send to it any more; then the database is free.
            let wrote = match tokio::task::spawn_blocking(move || writer.join()).await {
                Ok(Ok(())) => Ok(()),
                _ => Err(ServeError::Broken("the writer's thread")),
            };
            drop(store);
            wrote.and(ended).and(served)
        });
        debug!(address = %address, "Serving on {address}");
        Ok(Self { address, stage, nudge, running })
    }

    /// Where it listens; with port 0, the port that the system chose.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it. The first call lets the requests in progress finish for five seconds, and answers claims that wait for
    /// work at once; a second call drops them.
    pub fn stop(&self) {
        self.stage.send_modify(|stage| {
            *stage = if *stage == Stage::Serving { Stage::Stopping } else { Stage::Aborting };
        });
    }

    /// Wakes the loops, after a test moved their clock.
    pub fn nudge(&self) {
        self.nudge.notify_waiters();
    }

    /// Waits for its end, after which the store is free.
    ///
    /// # Errors
    /// When it ended by itself: see [`ServeError`].
    pub async fn wait(&mut self) -> Result<(), ServeError> {
        (&mut self.running).await.unwrap_or(Err(ServeError::Broken("a part")))
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        self.stage.send_replace(Stage::Aborting);
    }
}

/// Serves until `shutdown` ends, then stops as [`ControlPlane::stop`] does. To drop what is left before the five seconds
/// are over, drop the future.
///
/// # Errors
/// When it did not start or ended by itself: see [`ServeError`].
pub async fn serve(
    listener: TcpListener,
    store: Arc<dyn Store>,
    catalog: Catalog,
    options: Options,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let mut plane = ControlPlane::start(listener, store, catalog, options).await?;
    tokio::select! {
        ended = plane.wait() => return ended,
        () = shutdown => plane.stop(),
    }
    plane.wait().await
}
