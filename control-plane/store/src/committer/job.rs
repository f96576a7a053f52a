//! What waits for the writer, and how each job is answered once its transaction is durable.

use std::borrow::Cow;

use stateous_engine::change::Answer;
use stateous_engine::model::Incarnation;
use stateous_engine::{Input, Refusal};
use tokio::sync::oneshot;

use super::parked::Parked;
use super::{Push, Upkeep};
use crate::failure::Failure;
use crate::rows::Assignment;

/// Where an answer goes. A closed end means that nobody waits any more.
pub(super) type Reply<T> = oneshot::Sender<Result<T, Failure>>;

/// One job.
pub(super) enum Job {
    Input {
        input: Input,
        reply: Reply<Result<Answer, Refusal>>,
    },
    Heartbeat {
        supervisor: String,
        incarnation: Option<Incarnation>,
        tasks: Vec<u64>,
        reply: Reply<Vec<u64>>,
    },
    Assign {
        push: Box<Push>,
        reply: Reply<Assignment>,
    },
    Upkeep {
        what: Upkeep,
        limit: u32,
        reply: Reply<u32>,
    },
    Claim(Parked),
}

impl Job {
    /// The order inside a batch: what people and supervisors said comes before what the clock says, so that a heartbeat
    /// which waits in the queue keeps its lease; claims come last, so that they see what the others queued.
    pub(super) const fn turn(&self) -> u8 {
        match self {
            Self::Input { .. } | Self::Heartbeat { .. } | Self::Assign { .. } => 0,
            Self::Upkeep { what: Upkeep::ExpireLeases, .. } => 1,
            Self::Upkeep { what: Upkeep::FireTimers, .. } => 2,
            Self::Claim(_) => 3,
        }
    }

    /// The inputs that it consists of, as far as it says so itself: a loop and a claim find theirs in the database.
    pub(super) fn inputs(&self) -> Vec<Cow<'_, Input>> {
        match self {
            Self::Input { input, .. } => vec![Cow::Borrowed(input)],
            Self::Heartbeat { supervisor, incarnation, tasks, .. } => {
                let renew = |&task| {
                    let (supervisor, incarnation) = (supervisor.clone(), incarnation.clone());
                    Input::RenewLease { task, supervisor, incarnation }
                };
                tasks.iter().map(renew).map(Cow::Owned).collect()
            }
            Self::Assign { .. } | Self::Upkeep { .. } | Self::Claim(_) => Vec::new(),
        }
    }

    /// The claim that it is.
    pub(super) const fn claim(&self) -> Option<&Parked> {
        match self {
            Self::Claim(parked) => Some(parked),
            _ => None,
        }
    }

    /// Answers a job that was not applied.
    pub(super) fn fail(self, failure: Failure) {
        // Whoever hung up does not hear of it.
        match self {
            Self::Input { reply, .. } => drop(reply.send(Err(failure))),
            Self::Heartbeat { reply, .. } => drop(reply.send(Err(failure))),
            Self::Assign { reply, .. } => drop(reply.send(Err(failure))),
            Self::Upkeep { reply, .. } => drop(reply.send(Err(failure))),
            Self::Claim(parked) => drop(parked.reply.send(Err(failure))),
        }
    }
}
