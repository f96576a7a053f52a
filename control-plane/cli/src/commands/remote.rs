//! Talking to a control plane from a command.

use std::future::Future;

use stateous_api::{Client, ClientError};

use crate::Failed;

/// Where the control plane is.
#[derive(clap::Args, Clone)]
pub(crate) struct Remote {
    /// The control plane's URL.
    #[arg(long, env = "STATEOUS_URL", default_value = "http://127.0.0.1:8080", global = true)]
    url: String,
}

impl Remote {
    /// Runs `act` with a client. One thread is enough: a command makes a few calls, one after the other.
    pub(crate) fn run<F>(&self, act: impl FnOnce(Client) -> F) -> Result<(), Failed>
    where
        F: Future<Output = Result<(), Failed>>,
    {
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
