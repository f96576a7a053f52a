//! `POST /tasks/batch`: *ours*. Many messages about tasks, in one request and one commit.
//!
//! Only the envelope is read first. Then each message is read as its own route would read it, and all that can be read go
//! to the committer together. Fields of an item that this version does not know are ignored.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::value::to_raw_value;
use stateous_api::{BATCH_BYTES_MAX, BatchAnswer, BatchResult, Code};
use stateous_engine::json::Json;
use stateous_engine::{Input, limits};

use super::messages::{Kind, Said};
use crate::app::App;
use crate::body;
use crate::fields::{Fields, whole};
use crate::refused::Refused;
use crate::views;

/// `POST /tasks/batch`
pub(crate) async fn batch(State(app): State<Arc<App>>, request: Request) -> Result<Response, Refused> {
    let mut envelope = body::object_within(request, BATCH_BYTES_MAX, Code::InvalidBody).await?;
    let supervisor = envelope.supervisor()?;
    let wrong = || Refused::new(Code::InvalidBody, "'messages' is a list of messages");
    let messages = envelope.list("messages", wrong)?;
    if messages.len() > limits::ITEMS {
        let message = format!("'messages' has at most {} messages", limits::ITEMS);
        return Err(Refused::new(Code::InvalidArgument, message));
    }
    app.supervisors.spoke(&supervisor, app.clock.now());

    let mut results: Vec<Result<Said, Refused>> = Vec::with_capacity(messages.len());
    let (mut inputs, mut places) = (Vec::new(), Vec::new());
    for message in messages {
        results.push(match read(message) {
            Ok(input) => {
                places.push(results.len());
                inputs.push(input);
                // Until the committer has said what became of it.
                Ok(Said::Nothing)
            }
            Err(refused) => Err(refused),
        });
    }
    let answers = app.committer.submit_all(inputs).await;
    for (place, answer) in places.into_iter().zip(answers) {
        results[place] = match answer {
            Ok(Ok(answer)) => Said::of(answer),
            Ok(Err(refusal)) => Err(refusal.into()),
            Err(failure) => Err(failure.into()),
        };
    }
    let results = results.into_iter().map(result).collect::<Result<_, _>>()?;
    Ok(views::json(StatusCode::OK, &BatchAnswer { results }))
}

/// One message, read as its own route reads it.
fn read(message: Json) -> Result<Input, Refused> {
    let wrong = |message: &str| Refused::new(Code::InvalidBody, message);
    let Json::Object(fields) = message else {
        return Err(wrong("a message of a batch is a JSON object"));
    };
    let mut fields = Fields::new(fields);
    let task = fields.take("task");
    let task = task.as_ref().and_then(whole).filter(|task| *task <= limits::TASK_ID);
    let task = task.ok_or_else(|| wrong("a message's 'task' is the number of a task"))?;
    let kind = fields.take("kind");
    let kind = kind.as_ref().and_then(Json::as_str).and_then(Kind::parse);
    let kind = kind.ok_or_else(|| wrong("a message's 'kind' is 'started', 'report', 'note' or 'memory'"))?;
    let Some(Json::String(text)) = fields.take("body") else {
        return Err(wrong("a message's 'body' is the text of the body that its own route would get"));
    };
    if text.len() > limits::BODY {
        return Err(body::too_large(limits::BODY));
    }
    kind.input(task, &mut body::read(text.as_bytes(), kind.unsendable())?)
}

fn result(said: Result<Said, Refused>) -> Result<BatchResult, Refused> {
    match said {
        Ok(Said::Token(token)) => with(200, &token),
        Ok(Said::Disposition(disposition)) => with(200, &disposition),
        Ok(Said::Nothing) => Ok(BatchResult { status: 204, body: None }),
        Err(refused) => {
            let (status, body) = refused.told();
            with(status, &body)
        }
    }
}

fn with(status: u16, body: &impl Serialize) -> Result<BatchResult, Refused> {
    let body = to_raw_value(body).map_err(|_| Refused::unexpected("an answer cannot be written as JSON"))?;
    Ok(BatchResult { status, body: Some(body) })
}
