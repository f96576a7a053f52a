//! Sends what an earlier start left in the outbox, before anything is claimed.

use std::collections::{BTreeMap, HashSet};

use tracing::{error, info};

use crate::bodies::Reporter;
use crate::outbox::{Kind, Message, OutboxError};
use crate::sender::{Delivery, unwritten};
use crate::supervisor::{AttemptId, Supervisor};

impl Supervisor {
    /// Sends everything in order. What cannot be sent before a stop stays, and so does what comes after it in its task.
    ///
    /// # Errors
    /// When the outbox cannot be read at all.
    pub(crate) async fn drain(&self) -> Result<(), OutboxError> {
        let left = self.outbox.left().await?;
        let mut hurt = BTreeMap::new();
        for row in &left.damaged {
            let (id, why) = (row.id, &row.why);
            error!(message.id = id, "message {id} in the outbox is damaged and is put aside: {why}");
            if let Some((task, attempt, token)) = row.of.clone() {
                hurt.entry((task, attempt)).or_insert((AttemptId { task, attempt, token }, why.clone()));
            }
        }
        self.outbox.park(left.damaged);
        self.send_left(&left.messages, &hurt).await;
        for (id, why) in hurt.into_values() {
            self.end_hurt(&id, &why).await;
        }
        Ok(())
    }

    /// What the control plane does not get whole does not count as done: the attempt ends as failed, and says why.
    async fn end_hurt(&self, id: &AttemptId, why: &str) {
        let reporter = Reporter { supervisor: self.name.clone(), attempt: id.attempt };
        let new = id.message(Kind::Report, reporter.outbox_damaged(why), self.clock.now_ms());
        let message = match self.outbox.replace_attempt(new.clone()).await {
            Ok(message) => message,
            Err(error) => unwritten(new, &error),
        };
        let delivery = self.deliver(&message).await;
        self.settle(id, delivery).await;
    }

    async fn send_left(&self, messages: &[Message], hurt: &BTreeMap<(u64, u64), (AttemptId, String)>) {
        if messages.is_empty() {
            return;
        }
        let n = messages.len();
        info!(messages = n, "sending {n} message(s) left in the outbox");
        let (mut held_back, mut settled) = (HashSet::new(), HashSet::new());
        for message in messages {
            let id = AttemptId::of(&message.new);
            let in_doubt = message.new.kind == Kind::Report
                && hurt.contains_key(&(message.new.task, message.new.attempt));
            if in_doubt || held_back.contains(&id.task) || settled.contains(&id) {
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
    }
}
