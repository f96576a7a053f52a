//! What happens when a routine uses a capability: it is on this supervisor's disk when the routine's call returns.

use std::sync::Arc;

use async_trait::async_trait;
use stateous_runtime::{Config, Level, PortError, Ports, Refusal, RefusalCode, Web};
use tokio::sync::mpsc;
use tracing::{debug, error, info, warn};

use crate::bodies;
use crate::outbox::{Kind, Message, OutboxError};
use crate::supervisor::{AttemptId, Supervisor};
use crate::web::Secrets;

/// The ports of one attempt.
pub(crate) struct OutboxPorts {
    pub(crate) supervisor: Arc<Supervisor>,
    pub(crate) id: AttemptId,
    /// Where written messages go to be sent, in order.
    pub(crate) written: mpsc::UnboundedSender<Message>,
    /// Which requests the routine was uploaded with.
    pub(crate) asks: Vec<String>,
    /// The secrets that its state may use.
    pub(crate) secrets: Secrets,
}

impl OutboxPorts {
    async fn write(&self, kind: Kind, body: String) -> Result<(), PortError> {
        let new = self.id.message(kind, body, self.supervisor.clock.now_ms());
        match self.supervisor.outbox.put(new).await {
            Ok(message) => {
                // Nobody sends any more: the attempt is being stopped.
                let _ = self.written.send(message);
                Ok(())
            }
            Err(full @ (OutboxError::Full | OutboxError::Crowded { .. })) => {
                error!(task.id = self.id.task, token.id = %self.id.token, "task {} of {}: {full}", self.id.task, self.id.token);
                Err(PortError::Refused(Refusal::new(RefusalCode::OutboxFull, full.to_string())))
            }
            Err(broken) => Err(PortError::Broken(broken.to_string())),
        }
    }

    async fn memory(&self, key: &str, value: Option<&str>) -> Result<(), PortError> {
        let body = bodies::memory(self.id.attempt, key, value).map_err(|error| {
            PortError::Refused(Refusal::new(
                RefusalCode::InvalidJson,
                format!("the value is not JSON: {error}"),
            ))
        })?;
        self.write(Kind::Memory, body).await
    }
}

#[async_trait]
impl Ports for OutboxPorts {
    async fn set_memory(&mut self, key: &str, value: &str) -> Result<(), PortError> {
        self.memory(key, Some(value)).await
    }

    async fn delete_memory(&mut self, key: &str) -> Result<(), PortError> {
        self.memory(key, None).await
    }

    async fn note(&mut self, text: &str) -> Result<(), PortError> {
        self.write(Kind::Note, bodies::note(self.id.attempt, text)).await
    }

    fn config(&self) -> Config {
        let secrets = self.secrets.keys().cloned().collect();
        Config { settings: self.supervisor.settings.clone(), secrets }
    }

    fn web(&self) -> Arc<dyn Web> {
        self.supervisor.out.of(self.id.clone(), &self.asks, self.secrets.clone())
    }

    fn log(&mut self, level: Level, text: &str) {
        let AttemptId { task, token, .. } = &self.id;
        match level {
            Level::Debug => debug!(task.id = task, token.id = %token, "task {task} of {token} says: {text}"),
            Level::Info => info!(task.id = task, token.id = %token, "task {task} of {token} says: {text}"),
            Level::Warn => warn!(task.id = task, token.id = %token, "task {task} of {token} says: {text}"),
            Level::Error => error!(task.id = task, token.id = %token, "task {task} of {token} says: {text}"),
        }
    }
}
