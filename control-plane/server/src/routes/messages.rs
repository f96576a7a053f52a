//! What is said about a task that somebody works on: started, return, report, note, memory. Each has a route of its own; `batch`
//! takes many of them in one request.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use stateous_api::{self as api, Code, Disposition};
use stateous_engine::Input;
use stateous_engine::change::Answer;

use super::tasks::{memory_of, note_of, report_of, returned_of, started_of};
use super::{TaskId, other};
use crate::app::App;
use crate::body;
use crate::fields::Fields;
use crate::refused::Refused;
use crate::views;

/// What a message says: one for each route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Started,
    Return,
    Report,
    Note,
    Memory,
}

impl Kind {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "started" => Some(Self::Started),
            "return" => Some(Self::Return),
            "report" => Some(Self::Report),
            "note" => Some(Self::Note),
            "memory" => Some(Self::Memory),
            _ => None,
        }
    }

    /// The code for a body that is JSON but cannot be stored and sent again.
    pub(super) const fn unsendable(self) -> Code {
        match self {
            Self::Started | Self::Return => Code::InvalidBody,
            Self::Report | Self::Note | Self::Memory => Code::InvalidPayload,
        }
    }

    /// What a message asks of the engine.
    pub(super) fn input(self, task: u64, body: &mut Fields) -> Result<Input, Refused> {
        match self {
            Self::Started => started_of(task, body),
            Self::Return => returned_of(task, body),
            Self::Report => report_of(task, body),
            Self::Note => note_of(task, body),
            Self::Memory => memory_of(task, body),
        }
    }
}

/// What a message is answered with.
pub(super) enum Said {
    /// The token that was moved.
    Token(Box<api::Token>),
    /// Whether the routine may begin.
    Disposition(Disposition),
    /// 204.
    Nothing,
}

impl Said {
    pub(super) fn of(answer: Answer) -> Result<Self, Refused> {
        match answer {
            Answer::Token(view) => Ok(Self::Token(Box::new(views::token_view(&view)?))),
            Answer::Run => Ok(Self::Disposition(Disposition::Run)),
            Answer::Skip(reason) => Ok(Self::Disposition(Disposition::Skip { reason })),
            Answer::Done => Ok(Self::Nothing),
            answer => Err(other(&answer)),
        }
    }
}

/// `POST /tasks/{n}/started`: *ours*. Run, or skip; an attempt that is over is no error here.
pub(crate) async fn started(
    State(app): State<Arc<App>>,
    task: TaskId,
    request: Request,
) -> Result<Response, Refused> {
    one(&app, Kind::Started, task, request).await
}

/// `POST /tasks/{n}/return`: *ours*. What was claimed and did not begin goes back, and no failure is counted.
pub(crate) async fn give_back(
    State(app): State<Arc<App>>,
    task: TaskId,
    request: Request,
) -> Result<Response, Refused> {
    one(&app, Kind::Return, task, request).await
}

/// `POST /tasks/{n}/report`
pub(crate) async fn report(
    State(app): State<Arc<App>>,
    task: TaskId,
    request: Request,
) -> Result<Response, Refused> {
    one(&app, Kind::Report, task, request).await
}

/// `POST /tasks/{n}/note`
pub(crate) async fn note(
    State(app): State<Arc<App>>,
    task: TaskId,
    request: Request,
) -> Result<Response, Refused> {
    one(&app, Kind::Note, task, request).await
}

/// `PUT /tasks/{n}/memory`
pub(crate) async fn memory(
    State(app): State<Arc<App>>,
    task: TaskId,
    request: Request,
) -> Result<Response, Refused> {
    one(&app, Kind::Memory, task, request).await
}

async fn one(app: &App, kind: Kind, task: TaskId, request: Request) -> Result<Response, Refused> {
    let mut body = body::object(request, kind.unsendable()).await?;
    let input = kind.input(task.0, &mut body)?;
    heard(app, &input);
    Ok(match Said::of(app.submit(input).await?)? {
        Said::Token(token) => views::json(StatusCode::OK, &token),
        Said::Disposition(disposition) => views::json(StatusCode::OK, &disposition),
        Said::Nothing => StatusCode::NO_CONTENT.into_response(),
    })
}

/// A supervisor that says its name is alive.
fn heard(app: &App, input: &Input) {
    if let Input::StartTask { supervisor, .. }
    | Input::ReturnTask { supervisor, .. }
    | Input::ReportTask { supervisor: Some(supervisor), .. } = input
    {
        app.supervisors.spoke(supervisor, app.clock.now());
    }
}
