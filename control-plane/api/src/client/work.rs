//! The calls about tasks: those of a supervisor, and those that tell people which work there is.

use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;

use super::{ANSWER, Client, ClientError, Page, TasksQuery, json};
use crate::{
    BatchAnswer, BatchRequest, BatchResult, ClaimAnswer, ClaimRequest, Disposition, HeartbeatAnswer,
    HeartbeatRequest, MemoryRequest, NoteRequest, Report, ReturnRequest, StartedRequest, Supervisor, Task,
    Token,
};

/// What a supervisor's stored message says about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// A [`Report`].
    Report,
    /// A [`NoteRequest`].
    Note,
    /// A [`MemoryRequest`].
    Memory,
}

impl Client {
    /// Claims tasks. Waits as long as the claim asks the server to, and its timeout more.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn claim(&self, claim: &ClaimRequest) -> Result<ClaimAnswer, ClientError> {
        let mut request = self.with_body(Method::POST, &["tasks", "claim"], json(claim))?;
        *request.timeout_mut() = Some(self.timeout + Duration::from_millis(claim.wait_ms.unwrap_or(0)));
        self.read(&self.send(request, ANSWER).await?)
    }

    /// A page of tasks, lowest number first, and where the next one begins.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn tasks(&self, which: &TasksQuery) -> Result<Page<Task>, ClientError> {
        let (limit, unserved) =
            (which.limit.map(|limit| limit.to_string()), which.unserved.then(|| "true".to_owned()));
        let fields = [
            ("status", &which.status),
            ("workflow", &which.workflow),
            ("state", &which.state),
            ("token", &which.token),
            ("supervisor", &which.supervisor),
            ("unserved", &unserved),
            ("limit", &limit),
            ("cursor", &which.cursor),
        ];
        self.page("tasks", &fields).await
    }

    /// One task.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn task(&self, task: u64) -> Result<Task, ClientError> {
        self.get(&["tasks", &task.to_string()]).await
    }

    /// The supervisors that spoke in the last ten minutes, by name.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn supervisors(&self) -> Result<Vec<Supervisor>, ClientError> {
        self.get(&["supervisors"]).await
    }

    /// Asks whether the routine of a claimed task may begin.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn started(&self, task: u64, body: &StartedRequest) -> Result<Disposition, ClientError> {
        let request = self.with_body(Method::POST, &["tasks", &task.to_string(), "started"], json(body))?;
        self.read(&self.send(request, ANSWER).await?)
    }

    /// Gives back a task that was claimed and did not begin.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn give_back(&self, task: u64, body: &ReturnRequest) -> Result<(), ClientError> {
        let request = self.with_body(Method::POST, &["tasks", &task.to_string(), "return"], json(body))?;
        self.send(request, ANSWER).await.map(drop)
    }

    /// Renews leases. Answers the tasks that the supervisor no longer holds.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn heartbeat(&self, body: &HeartbeatRequest) -> Result<Vec<u64>, ClientError> {
        let request = self.with_body(Method::POST, &["tasks", "heartbeat"], json(body))?;
        let answer: HeartbeatAnswer = self.read(&self.send(request, ANSWER).await?)?;
        Ok(answer.lost)
    }

    /// Reports how a task ended. Answers its token.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn report(&self, task: u64, report: &Report) -> Result<Token, ClientError> {
        let request = self.with_body(Method::POST, &["tasks", &task.to_string(), "report"], json(report))?;
        self.read(&self.send(request, ANSWER).await?)
    }

    /// Writes a line of progress.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn note(&self, task: u64, note: &NoteRequest) -> Result<(), ClientError> {
        self.post_task(task, MessageKind::Note, json(note)).await
    }

    /// Writes or deletes one key of the routine's memory.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn memory(&self, task: u64, memory: &MemoryRequest) -> Result<(), ClientError> {
        self.post_task(task, MessageKind::Memory, json(memory)).await
    }

    /// Sends a message of an outbox as it was stored, byte for byte. What is told back is only that it was accepted.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn post_task(&self, task: u64, kind: MessageKind, body: String) -> Result<(), ClientError> {
        let (method, name) = match kind {
            MessageKind::Report => (Method::POST, "report"),
            MessageKind::Note => (Method::POST, "note"),
            MessageKind::Memory => (Method::PUT, "memory"),
        };
        let request = self.with_body(method, &["tasks", &task.to_string(), name], body)?;
        let answer = self.send(request, ANSWER).await?;
        // What a message says is forgotten once it counts, so the answer must be the control plane's own: a login page that
        // says 200 is none.
        let ours = match kind {
            MessageKind::Report => serde_json::from_slice::<Moved>(&answer.body).is_ok(),
            MessageKind::Note | MessageKind::Memory => answer.status.as_u16() == 204,
        };
        if ours { Ok(()) } else { Err(self.not_through(answer.status)) }
    }

    /// Sends many messages about tasks in one request. Answers one result for each, in the same order: what the message's
    /// own route would have answered.
    ///
    /// # Errors
    /// As every call: see [`ClientError`]. Then no message may have been taken, or all.
    pub async fn batch(&self, batch: &BatchRequest) -> Result<Vec<BatchResult>, ClientError> {
        let request = self.with_body(Method::POST, &["tasks", "batch"], json(batch))?;
        let answer: BatchAnswer = self.read(&self.send(request, ANSWER).await?)?;
        if answer.results.len() != batch.messages.len() {
            return Err(self.protocol("answered another number of messages than were sent".to_owned()));
        }
        Ok(answer.results)
    }
}

/// What tells the answer to a report from anybody else's page.
#[derive(Deserialize)]
struct Moved {
    #[serde(rename = "token")]
    _token: String,
}
