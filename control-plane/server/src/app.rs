//! What every handler can reach.

use std::sync::Arc;

use stateous_engine::change::Answer;
use stateous_engine::{Graph, Input, Rules};
use stateous_store::{Clock, Committer, Failure, FailureKind, Reader};
use tokio::sync::{Semaphore, watch};
use tracing::{debug, error};

use crate::connections::reaches;
use crate::control_plane::Stage;
use crate::door::Hosts;
use crate::operations::Counted;
use crate::refused::Refused;
use crate::supervisors::Supervisors;

/// How many reads run at once. Each holds a thread and a connection of the database.
const READS: usize = 16;

/// The parts of a control plane that requests need.
pub(crate) struct App {
    pub(crate) committer: Committer,
    pub(crate) rules: Arc<Rules>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hosts: Hosts,
    pub(crate) supervisors: Supervisors,
    pub(crate) counted: Counted,
    reader: Arc<dyn Reader>,
    reads: Semaphore,
    stage: watch::Receiver<Stage>,
}

impl App {
    pub(crate) fn new(
        committer: Committer,
        reader: Arc<dyn Reader>,
        rules: Arc<Rules>,
        clock: Arc<dyn Clock>,
        hosts: Hosts,
        stage: watch::Receiver<Stage>,
    ) -> Self {
        let (supervisors, counted) = (Supervisors::default(), Counted::default());
        let reads = Semaphore::new(READS);
        Self { committer, rules, clock, hosts, supervisors, counted, reader, reads, stage }
    }

    /// The graph that the original's routes speak of.
    pub(crate) fn default_graph(&self) -> &Graph {
        self.rules.catalog.default_graph()
    }

    /// Applies one input, and waits until it is durable.
    pub(crate) async fn submit(&self, input: Input) -> Result<Answer, Refused> {
        Ok(self.committer.submit(input).await??)
    }

    /// Reads beside the writer, on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Reader) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Refused> {
        let stopped = || Failure::new(FailureKind::NotServing, "this control plane is stopping");
        let _permit = self.reads.acquire().await.map_err(|_| stopped())?;
        let reader = Arc::clone(&self.reader);
        match tokio::task::spawn_blocking(move || read(reader.as_ref())).await {
            Ok(Ok(found)) => Ok(found),
            // The loops notice within a second that the database is gone, and then it is told once.
            Ok(Err(failure)) if failure.kind == FailureKind::Busy => {
                debug!(error = %failure, "A read failed: {failure}");
                Err(failure.into())
            }
            Ok(Err(failure)) => {
                error!(error = %failure, cause = failure.source.as_ref().map(tracing::field::display), "A read failed: {failure}");
                Err(failure.into())
            }
            Err(_) => Err(Refused::unexpected("a read panicked")),
        }
    }

    /// Ends when the control plane begins to stop.
    pub(crate) async fn stopping(&self) {
        reaches(&mut self.stage.clone(), Stage::Stopping).await;
    }
}
