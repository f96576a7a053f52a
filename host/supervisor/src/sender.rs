//! Sends what is in the outbox: in order per attempt, each message until it is accepted or refused.

use std::collections::VecDeque;
use std::sync::Arc;

use stateous_api::client::MessageKind;
use stateous_api::{ClientError, Code, HeartbeatRequest};
use tokio::sync::mpsc;
use tracing::{info, warn};

use crate::bodies::{self, Reporter};
use crate::outbox::{Kind, Message, NewMessage};
use crate::reach::Unanswered;
use crate::supervisor::{AttemptId, Supervisor, sentence};

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It counts.
    Accepted,
    /// The control plane cannot be reached and this supervisor is stopping: it stays in the outbox for the next start.
    Stays,
    /// The attempt is over: nothing that it says counts any more.
    Over,
    /// The attempt is still ours, but the control plane does not take what the message says.
    Refused {
        /// What kind of message it was.
        kind: Kind,
        /// Whether it was a failed report.
        failed: bool,
        /// Why, in the control plane's words.
        sentence: String,
    },
}

impl Supervisor {
    /// Sends the messages of one attempt as they come, until its report has an answer or one of them is refused.
    pub(crate) async fn send_in_order(
        self: Arc<Self>,
        mut written: mpsc::UnboundedReceiver<Message>,
    ) -> Delivery {
        let mut waiting = VecDeque::new();
        let mut complete = false;
        while let Some(message) = written.recv().await {
            complete |= message.new.kind == Kind::Report;
            waiting.push_back(message);
            while let Some(next) = waiting.front() {
                match self.deliver(next).await {
                    Delivery::Accepted => drop(waiting.pop_front()),
                    // The next message is the occasion to try again: the control plane may have come back by then.
                    Delivery::Stays => break,
                    refused => return refused,
                }
            }
            if complete {
                break;
            }
        }
        if waiting.is_empty() { Delivery::Accepted } else { Delivery::Stays }
    }

    /// Sends one message until it has an answer, and takes it out of the outbox when it is accepted.
    pub(crate) async fn deliver(&self, message: &Message) -> Delivery {
        let new = &message.new;
        let kind = match new.kind {
            Kind::Report => MessageKind::Report,
            Kind::Note => MessageKind::Note,
            Kind::Memory => MessageKind::Memory,
        };
        let send = |_| self.client.post_task(new.task, kind, new.body.to_string());
        match self.reach.call(send).await {
            Ok(()) => {
                self.outbox.delete(message.id);
                if new.kind == Kind::Report {
                    let (task, token, said) = (new.task, &new.token, bodies::said(&new.body));
                    info!(task.id = task, token.id = %token, "task {task} of {token}: reported {said}");
                }
                Delivery::Accepted
            }
            Err(Unanswered::GaveUp) => stays(new),
            Err(Unanswered::No(error)) => self.judge(new, &error).await,
        }
    }

    /// Ends an attempt whose message did not count. A refused message of an attempt that is still ours becomes a failed
    /// report, so that the task does not hang until its lease ends.
    pub(crate) async fn settle(&self, id: &AttemptId, delivery: Delivery) {
        match delivery {
            Delivery::Stays => return,
            Delivery::Refused { kind, failed: false, sentence } => {
                let reporter = Reporter { supervisor: self.name.clone(), attempt: id.attempt };
                let body = match kind {
                    Kind::Report => reporter.refused(&sentence),
                    Kind::Note | Kind::Memory => reporter.write_refused(kind.as_str(), &sentence),
                };
                let new = id.message(Kind::Report, body, self.clock.now_ms());
                let message = match self.outbox.replace_attempt(new.clone()).await {
                    Ok(message) => message,
                    Err(error) => unwritten(new, &error),
                };
                if self.deliver(&message).await == Delivery::Stays {
                    return;
                }
            }
            Delivery::Accepted | Delivery::Over | Delivery::Refused { .. } => {}
        }
        // Also a message that was written while its attempt was being stopped, and that nobody sent.
        self.outbox.delete_attempt(id.task, id.attempt);
    }

    /// What a refusal means: a late message of an attempt that is over, or one that says what cannot be.
    async fn judge(&self, new: &NewMessage, error: &ClientError) -> Delivery {
        let sentence = sentence(error);
        let failed = new.kind == Kind::Report && bodies::said(&new.body) == "failed";
        log_refusal(new, failed, &sentence);
        let over = match (error.code(), error.status()) {
            (Some(Code::AttemptOver | Code::TaskNotHeld | Code::TaskNotFound), _) | (_, Some(404)) => true,
            // The event does not fit, or the token has moved on: only the lease tells.
            (_, Some(409)) => match self.still_held(new.task).await {
                Ok(held) => !held,
                Err(Unanswered::GaveUp) => return stays(new),
                Err(Unanswered::No(_)) => true,
            },
            _ => false,
        };
        if over { Delivery::Over } else { Delivery::Refused { kind: new.kind, failed, sentence } }
    }

    async fn still_held(&self, task: u64) -> Result<bool, Unanswered> {
        let body = HeartbeatRequest {
            supervisor: self.name.clone(),
            tasks: vec![task],
            incarnation: Some(self.incarnation.clone()),
        };
        let lost = self.reach.call(|_| self.client.heartbeat(&body)).await?;
        Ok(lost.is_empty())
    }
}

/// A message that the outbox did not take is sent all the same: if it arrives, nothing is lost.
pub(crate) fn unwritten(new: NewMessage, error: &crate::outbox::OutboxError) -> Message {
    let (task, token, kind) = (new.task, &new.token, new.kind.as_str());
    warn!(task.id = task, token.id = %token, "task {task} of {token}: the {kind} is sent unwritten: {error}");
    // No row has this id.
    Message { id: 0, new }
}

fn stays(new: &NewMessage) -> Delivery {
    let (task, token, kind) = (new.task, &new.token, new.kind.as_str());
    warn!(
        task.id = task,
        token.id = %token,
        "task {task} of {token}: the control plane cannot be reached; the {kind} stays in the outbox for the next start"
    );
    Delivery::Stays
}

fn log_refusal(new: &NewMessage, failed: bool, sentence: &str) {
    let (task, token) = (new.task, &new.token);
    match new.kind {
        Kind::Report => {
            let which = if failed { "the failure report too" } else { "the report" };
            warn!(task.id = task, token.id = %token, "task {task} of {token}: the control plane refused {which}: {sentence}");
        }
        Kind::Note | Kind::Memory => {
            let kind = new.kind.as_str();
            warn!(task.id = task, token.id = %token, "task {task}: the control plane refused a {kind}: {sentence}");
        }
    }
}
