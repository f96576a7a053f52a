//! Sends what an earlier start left in the outbox, before anything is claimed.

use std::collections::HashSet;

use tracing::{error, info};

use crate::outbox::OutboxError;
use crate::sender::Delivery;
use crate::supervisor::{AttemptId, Supervisor};

impl Supervisor {
    /// Sends everything in order. What cannot be sent before a stop stays, and so does what comes after it in its task.
    ///
    /// # Errors
    /// When the outbox cannot be read at all.
    pub(crate) async fn drain(&self) -> Result<(), OutboxError> {
        let left = self.outbox.left().await?;
        for row in &left.damaged {
            let (id, why) = (row.id, &row.why);
            error!(message.id = id, "message {id} in the outbox is damaged and is not sent: {why}");
        }
        if left.messages.is_empty() {
            return Ok(());
        }
        let n = left.messages.len();
        info!(messages = n, "sending {n} message(s) left in the outbox");
        let (mut held_back, mut settled) = (HashSet::new(), HashSet::new());
        for message in &left.messages {
            let id = AttemptId::of(&message.new);
            if held_back.contains(&id.task) || settled.contains(&id) {
                continue;
            }
            match self.deliver(message).await {
                Delivery::Accepted => {}
                Delivery::Stays => drop(held_back.insert(id.task)),
                delivery => {
                    self.settle(&id, delivery).await;
                    settled.insert(id);
                }
            }
        }
        Ok(())
    }
}
