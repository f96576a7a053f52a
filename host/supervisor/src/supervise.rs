//! One supervisor from its start to its stop.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use stateous_api::{Client, ClientError, Incarnation};
use stateous_runtime::{PrepareError, read_local};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tracing::{error, info, warn};

use crate::attempt::Attempt;
use crate::claims::{Claimed, Claims};
use crate::clock::Clock;
use crate::heartbeats::Heartbeats;
use crate::lease::{Held, Lease};
use crate::operations::{self, Metrics, Progress};
use crate::outbox::{Identity, OpenError, Outbox, OutboxError};
use crate::reach::{Reach, Unanswered};
use crate::routines::Routines;
use crate::settings::Settings;
use crate::stop::{Stop, Stopping};
use crate::supervisor::{Supervisor, sentence};
use crate::web::Outgoing;

/// No lease is counted for longer, whatever a server says.
const LEASE_MAX: Duration = Duration::from_secs(86_400);

/// What a supervisor gets from outside.
pub struct Options<R> {
    /// What runs the routines.
    pub routines: Arc<R>,
    /// Who tells it to stop.
    pub stopping: Stopping,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Randomness: request ids and the folder's id come from it, so it must not repeat.
    pub seed: [u8; 32],
}

/// How a supervisor ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its routines ended, and their reports were sent or are in the outbox.
    Graceful,
    /// It was told to stop at once.
    Forced,
}

impl End {
    /// The exit code of the process.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Graceful => 0,
            Self::Forced => 1,
        }
    }
}

/// Why a supervisor did not start. One line for people.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL is none.
    #[error("{0}")]
    Url(ClientError),
    /// The outbox.
    #[error(transparent)]
    Outbox(#[from] OpenError),
    /// What is left in the outbox cannot be read.
    #[error("cannot read what is left to send: {0}")]
    Left(OutboxError),
    /// Something else answers there.
    #[error("{url} did not answer as a Stateous control plane: {sentence}")]
    Stranger {
        /// The URL.
        url: String,
        /// What came.
        sentence: String,
    },
    /// A component that the settings name.
    #[error("routines.\"{state}\": {error}")]
    Local {
        /// The state that it is to serve.
        state: String,
        /// What is wrong with it.
        error: PrepareError,
    },
    /// Nobody can ask there how it gets on.
    #[error("cannot listen on {address} (`listen` in stateous.toml): {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The operating system gave no thread.
    #[error("cannot start the thread for heartbeats: {0}")]
    Thread(std::io::Error),
}

/// Runs the supervisor of a folder until it is told to stop.
///
/// It opens the outbox, waits for the control plane, sends what an earlier start left, and only then claims tasks. When
/// this returns, the folder is free.
///
/// # Errors
/// When it cannot start: another supervisor runs on the folder, the outbox cannot be used, or the URL is not a control
/// plane's.
pub async fn supervise<R: Routines>(
    folder: &Path,
    settings: &Settings,
    options: Options<R>,
) -> Result<End, Error> {
    let mut random = StdRng::from_seed(options.seed);
    let mut fresh = [0; 16];
    random.fill_bytes(&mut fresh);
    let client = Client::new(&settings.url).map_err(Error::Url)?;
    let (outbox, identity) = Outbox::open_within(folder, &hex::encode(fresh), settings.outbox_bytes)?;
    let reach = Arc::new(Reach::new(client.url(), options.stopping.clone(), random.random()));
    let supervisor = Arc::new(Supervisor {
        name: settings.name.clone(),
        incarnation: Incarnation { folder: identity.folder.clone(), start: identity.starts },
        client,
        reach,
        outbox: outbox.clone(),
        held: Arc::default(),
        clock: options.clock,
        out: Arc::new(Outgoing::new(settings.http.clone())),
        slots: settings.slots,
        metrics: Metrics::new(),
        progress: Arc::new(Progress::new()),
        settings: settings.settings.clone(),
        secrets: settings.secrets.clone(),
        local: settings.routines.clone(),
    });
    let _operations = match settings.listen {
        None => None,
        Some(address) => {
            let listener =
                operations::bind(address).await.map_err(|source| Error::Listen { address, source })?;
            Some(operations::answer(listener, Arc::clone(&supervisor)))
        }
    };
    let held = Arc::clone(&supervisor.held);
    let work = Work { supervisor, routines: options.routines, stopping: options.stopping.clone() };
    let end = tokio::select! {
        biased;
        () = options.stopping.reached(Stop::Now) => {
            let n = held.len();
            warn!(routines = n, "stopping now: cancelling {n} routine(s)");
            Ok(End::Forced)
        }
        end = work.do_all(settings, &identity, random) => end.map(|()| End::Graceful),
    };
    outbox.close().await;
    end
}

struct Work<R> {
    supervisor: Arc<Supervisor>,
    routines: Arc<R>,
    stopping: Stopping,
}

impl<R: Routines> Work<R> {
    async fn do_all(self, settings: &Settings, identity: &Identity, mut random: StdRng) -> Result<(), Error> {
        let Supervisor { name, client, reach, held, .. } = &*self.supervisor;
        match reach.call(|_| client.health()).await {
            Ok(_) => {}
            Err(Unanswered::GaveUp) => return Ok(()),
            Err(Unanswered::No(error)) => {
                return Err(Error::Stranger { url: reach.url().to_owned(), sentence: sentence(&error) });
            }
        }
        let states = settings
            .states
            .as_ref()
            .map_or_else(|| "every state that has a routine".to_owned(), |states| states.join(", "));
        info!(
            supervisor.name = %name,
            folder.id = %identity.folder,
            folder.start = identity.starts,
            "{name} serves {states}; the control plane is {}",
            reach.url()
        );
        for (state, path) in &self.supervisor.local {
            read_local(path).map_err(|error| Error::Local { state: state.clone(), error })?;
            warn!(state, "{state} runs {} of this machine, whatever was uploaded", path.display());
        }
        let heartbeats =
            Heartbeats::start(name, &self.supervisor.incarnation, Arc::clone(held), Arc::clone(reach))
                .map_err(Error::Thread)?;
        self.supervisor.drain().await.map_err(Error::Left)?;
        let slots = Arc::new(Semaphore::new(settings.slots));
        let (out, claimed) = mpsc::unbounded_channel();
        let claims = Claims {
            supervisor: Arc::clone(&self.supervisor),
            stopping: self.stopping.clone(),
            slots,
            states: settings.states.clone(),
            out,
            seed: random.random(),
        };
        self.run_all(claims, claimed).await;
        drop(heartbeats);
        Ok(())
    }

    /// Runs what is claimed, until the claims have ended and every attempt is done.
    async fn run_all(&self, claims: Claims, mut claimed: mpsc::UnboundedReceiver<Claimed>) {
        let mut attempts = JoinSet::new();
        let mut claiming = JoinSet::new();
        claiming.spawn(claims.claim_until_stopped());
        let (mut claims_open, mut told) = (true, false);
        while claims_open || !attempts.is_empty() {
            tokio::select! {
                () = self.stopping.reached(Stop::Graceful), if !told => {
                    told = true;
                    self.supervisor.progress.stops();
                    let n = attempts.len();
                    info!(
                        routines = n,
                        "stopping: no new tasks; waiting for {n} routine(s) (signal again to stop now)"
                    );
                }
                next = claimed.recv(), if claims_open => match next {
                    Some(claimed) => self.begin(claimed, &mut attempts),
                    None => claims_open = false,
                },
                Some(done) = attempts.join_next() => if let Err(panic) = done {
                    error!("an attempt failed inside this supervisor; its task is left to its lease: {panic}");
                },
            }
        }
        if let Some(Err(panic)) = claiming.join_next().await {
            error!("claiming failed inside this supervisor: {panic}");
        }
    }

    fn begin(&self, claimed: Claimed, attempts: &mut JoinSet<()>) {
        let Claimed { grant, granted_at, slot } = claimed;
        let length = Duration::from_millis(grant.lease_ms).min(LEASE_MAX);
        let now = std::time::Instant::now();
        let lease = Lease::new(grant.task, grant.attempt, length, granted_at.into_std(), now);
        let Some(held) = Held::add(&self.supervisor.held, lease) else {
            return;
        };
        let attempt = Attempt { supervisor: Arc::clone(&self.supervisor), grant, held, granted_at };
        let routines = Arc::clone(&self.routines);
        attempts.spawn(async move {
            attempt.run(&*routines).await;
            drop(slot);
        });
    }
}
