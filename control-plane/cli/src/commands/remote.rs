//! Talking to a control plane from a command.

use stateous_api::{Client, ClientError};

use crate::Failed;

/// Where a control plane is unless told otherwise.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// Where the control plane is.
#[derive(clap::Args, Clone)]
pub(crate) struct Remote {
    /// The control plane's URL.
    #[arg(long, env = "STATEOUS_URL", default_value = DEFAULT_URL, global = true)]
    url: String,
}

impl Remote {
    /// The control plane at `url`.
    pub(crate) fn at(url: &str) -> Self {
        Self { url: url.to_owned() }
    }

    /// Runs `act` with a client. One thread is enough: a command makes a few calls, one after the other.
    pub(crate) fn run<T>(&self, act: impl AsyncFnOnce(Client) -> Result<T, Failed>) -> Result<T, Failed> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let done = runtime.block_on(async { act(Client::new(&self.url)?).await });
        done.map_err(|failed| failed.advised(start_one))
    }
}

/// What to do when nobody answers.
fn start_one(error: &anyhow::Error) -> Option<String> {
    matches!(error.downcast_ref(), Some(ClientError::Unreachable { .. })).then(|| {
        "`stateous serve GRAPH` or `stateous dev FOLDER` starts one there; --url or STATEOUS_URL names another".to_owned()
    })
}
