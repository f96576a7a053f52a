//! What a supervisor needs of whatever runs its routines. The runtime is the one that users get; tests script another.

use stateous_api::ClientError;
use stateous_runtime::{Ended, Limits, Ports, PrepareError, Prepared, Runtime, Task};

/// Makes components ready and runs them.
pub trait Routines: Send + Sync + 'static {
    /// A component that is ready to run.
    type Ready: Send + Sync;

    /// Makes the component with this digest ready; `fetch` brings its bytes if they are not at hand.
    fn prepare(
        &self,
        digest: &str,
        fetch: impl Future<Output = Result<Vec<u8>, ClientError>> + Send,
    ) -> impl Future<Output = Result<Self::Ready, PrepareError>> + Send;

    /// Runs one attempt to its end. Dropping the future stops it at once.
    fn run(
        &self,
        ready: &Self::Ready,
        task: Task,
        limits: Limits,
        ports: impl Ports,
    ) -> impl Future<Output = Ended> + Send;
}

impl Routines for Runtime {
    type Ready = Prepared;

    async fn prepare(
        &self,
        digest: &str,
        fetch: impl Future<Output = Result<Vec<u8>, ClientError>> + Send,
    ) -> Result<Prepared, PrepareError> {
        Self::prepare(self, digest, fetch).await
    }

    async fn run(&self, ready: &Prepared, task: Task, limits: Limits, ports: impl Ports) -> Ended {
        Self::run(self, ready, task, limits, ports).await
    }
}
