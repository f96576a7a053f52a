//! What each route takes and answers, part by part of the API.

use axum::http::Method;
use stateous_api::{self as api, Code};

use super::operation::{Operation, either, flag, list, number, object, text};
use super::reference;

/// Every operation.
pub(super) fn operations() -> Vec<Operation> {
    [tokens(), work(), tasks(), routines(), about()].into_iter().flatten().collect()
}

fn tokens() -> Vec<Operation> {
    let get = |path, id, about| Operation::new(Method::GET, path, id, about);
    let post = |path, id, about| Operation::new(Method::POST, path, id, about);
    let steer = |path, id, about| {
        post(path, id, about)
            .answers(200, reference::<api::Token>(), "The token, as it is now.")
            .refused(&[Code::TokenNotActive, Code::ChildToken])
    };
    let most = stateous_engine::limits::TASK_ID;
    vec![
        get("/tokens", "listTokens", "Tokens, the ones that moved last first; with `prefix` by id.")
            .field("workflow", text(), "*Ours.* Only of this workflow.")
            .field("state", text(), STATE)
            .field("status", text(), "Only in this status.")
            .field("parent", text(), "Only children of this token.")
            .field("prefix", text(), "*Ours.* Only those whose id begins so, ASCII case aside.")
            .field("limit", number(1, 1000), LIMIT)
            .field("cursor", text(), CURSOR)
            .answers(200, list::<api::Token>(), PAGE),
        post("/tokens", "startToken", "Starts a token; one that exists is answered unchanged.")
            .takes::<api::StartRequest>()
            .answers(201, reference::<api::Token>(), "The token was made.")
            .answers(200, reference::<api::Token>(), "The token existed; nothing changed.")
            .refused(&[Code::InvalidTokenId, Code::InvalidContext, Code::InvalidArgument]),
        get("/tokens/{token}", "getToken", "One token.").answers(
            200,
            reference::<api::Token>(),
            "The token.",
        ),
        get("/tokens/{token}/history", "getHistory", "The ledger of a token, oldest entry first.")
            .field("after", number(0, most), "*Ours.* Only entries after the one with this number.")
            .field("limit", number(1, 1000), "*Ours.* At most so many; all unless given.")
            .field(
                "wait_ms",
                number(0, api::WAIT_MS_MAX),
                "*Ours.* How long to wait for an entry when there is none yet and the token has not ended.",
            )
            .field(
                "kinds",
                text(),
                "*Ours.* `all`: every kind of entry, not only those that the original knows.",
            )
            .answers(200, list::<api::Entry>(), "The entries; none when none came in time."),
        post("/tokens/{token}/events/{event}", "fireEvent", "Fires an event at a token.")
            .header("Idempotency-Key", "With a key that this token saw before, nothing happens.")
            .takes::<api::FireRequest>()
            .or_nothing()
            .answers(
                200,
                either::<api::Token, api::Duplicate>(),
                "The token, as it is now; a `Duplicate` when the key was used before.",
            )
            .refused(&[Code::InvalidPayload, Code::EventNotAllowed, Code::TokenNotActive]),
        steer("/tokens/{token}/pause", "pauseToken", "An active token stands still; what arrives is held."),
        steer("/tokens/{token}/resume", "resumeToken", "A paused token goes on, with what it held."),
        steer("/tokens/{token}/cancel", "cancelToken", "An active or paused token ends for good."),
        post("/tokens/{token}/retry", "retryToken", "*Ours.* A failed token enters its last state again.")
            .answers(200, reference::<api::Token>(), "The token, as it is now.")
            .refused(&[Code::NotRetryable, Code::ChildToken, Code::TokenNotActive]),
    ]
}

const STATE: &str = "*Ours.* Only in this state: `<state>` of `workflow` or of the default workflow, or \
    `<workflow>/<state>`.";
const LIMIT: &str = "At most so many; 100 unless given.";
const CURSOR: &str = "*Ours.* Where to go on, as the `Link` header of the page before said. Empty: the first page, which \
    may then end early when its contexts are large.";
const PAGE: &str = "A page. A `Link` header with `rel=\"next\"` leads to the next one; without it this is the last. A page \
    can be short, even empty, and still have a next one.";

fn work() -> Vec<Operation> {
    let get = |path, id, about| Operation::new(Method::GET, path, id, about);
    vec![
        get("/tasks", "listTasks", "*Ours.* Tasks, lowest number first.")
            .field(
                "status",
                text(),
                "`open` (unless given), `any`, or one of: `queued`, `claimed`, `started`, `waiting`, `done`, `failed`, \
                 `cancelled`. `claimed` are `started` ones, too.",
            )
            .field("workflow", text(), "Only of this workflow.")
            .field("state", text(), STATE)
            .field("token", text(), "Only of this token.")
            .field("supervisor", text(), "Only those that this supervisor holds, or held last.")
            .field(
                "unserved",
                flag(),
                "Only queued ones of states that no supervisor asked for which was heard of in the last two minutes.",
            )
            .field("limit", number(1, 1000), LIMIT)
            .field("cursor", text(), CURSOR)
            .answers(200, list::<api::Task>(), PAGE),
        get("/tasks/{task}", "getTask", "*Ours.* One task.").answers(
            200,
            reference::<api::Task>(),
            "The task.",
        ),
        get(
            "/supervisors",
            "listSupervisors",
            "*Ours.* The supervisors that were heard of in the last ten minutes, by name.",
        )
        .answers(200, list::<api::Supervisor>(), "The supervisors."),
    ]
}

fn tasks() -> Vec<Operation> {
    const NOT_HELD: [Code; 2] = [Code::TaskNotHeld, Code::AttemptOver];
    let post = |path, id, about| Operation::new(Method::POST, path, id, about);
    vec![
        post("/tasks/claim", "claimTasks", "A supervisor asks for work.")
            .takes::<api::ClaimRequest>()
            .answers(
                200,
                either::<api::PlainGrant, api::ClaimAnswer>(),
                "One grant; with `max` in the request a list of them, which may be empty.",
            )
            .answers_nothing(204, "There is no work. Only without `max`.")
            .refused(&[Code::InvalidArgument]),
        post("/tasks/heartbeat", "renewLeases", "A supervisor keeps the tasks that it works on.")
            .takes::<api::HeartbeatRequest>()
            .answers(200, reference::<api::HeartbeatAnswer>(), "The tasks that it holds no more.")
            .refused(&[Code::InvalidArgument]),
        post("/tasks/batch", "sendMessages", "*Ours.* Many messages about tasks, in one commit.")
            .takes::<api::BatchRequest>()
            .answers(200, reference::<api::BatchAnswer>(), "One result for each message.")
            .refused(&[Code::InvalidArgument]),
        post("/tasks/{task}/started", "startTask", "*Ours.* Whether the routine of an attempt may begin.")
            .takes::<api::StartedRequest>()
            .answers(200, reference::<api::Disposition>(), "Run, or skip.")
            .refused(&[Code::InvalidArgument]),
        post("/tasks/{task}/return", "returnTask", "*Ours.* What was claimed and did not begin goes back.")
            .takes::<api::ReturnRequest>()
            .answers_nothing(204, "It is queued again; no failure is counted.")
            .refused(&NOT_HELD)
            .refused(&[Code::InvalidArgument]),
        post("/tasks/{task}/report", "reportTask", "How an attempt ended.")
            .takes::<api::Report>()
            .answers(200, reference::<api::Token>(), "The token, as it is now.")
            .refused(&NOT_HELD)
            .refused(&[
                Code::EventNotAllowed,
                Code::InvalidArgument,
                Code::InvalidContext,
                Code::InvalidPayload,
            ]),
        post("/tasks/{task}/note", "addNote", "A line of progress in the token's history.")
            .takes::<api::NoteRequest>()
            .answers_nothing(204, "It is in the history.")
            .refused(&NOT_HELD)
            .refused(&[Code::InvalidArgument, Code::InvalidPayload]),
        Operation::new(
            Method::PUT,
            "/tasks/{task}/memory",
            "setMemory",
            "Writes or deletes one key of a routine's memory.",
        )
        .takes::<api::MemoryRequest>()
        .answers_nothing(204, "It is written.")
        .refused(&NOT_HELD)
        .refused(&[Code::InvalidArgument, Code::InvalidPayload]),
    ]
}

fn routines() -> Vec<Operation> {
    let most = stateous_engine::limits::TASK_ID;
    let get = |path, id, about| Operation::new(Method::GET, path, id, about);
    let push = Operation::new(
        Method::POST,
        "/routines",
        "pushRoutine",
        "*Ours.* Uploads a component and puts it in force for a state.",
    )
    .takes_component()
    .field("workflow", text(), "The workflow; the default workflow unless given.")
    .field("state", text(), "The state that the component is to serve.")
    .required()
    .field("name", text(), "A name for people; the state's name unless given.")
    .field("fuel", number(1, most), "Fuel of an attempt.")
    .field("memory_bytes", number(1, most), "Linear memory of an attempt, in bytes.")
    .field("wall_ms", number(1, most), "Wall time of an attempt, in milliseconds.")
    .field("http", text(), "Which HTTP requests it asks to send: one rule a line.")
    .answers(201, reference::<api::RoutineInForce>(), "It is newly in force.")
    .answers(200, reference::<api::RoutineInForce>(), "The same was in force already; nothing changed.")
    .refused(&[Code::RoutineInvalid]);
    vec![
        get("/routines", "listRoutines", "*Ours.* What is in force for each state, by workflow and state.")
            .answers(200, list::<api::RoutineInForce>(), "The components in force."),
        push,
        get("/routines/{digest}", "getComponent", "*Ours.* The bytes of a component.")
            .answers_component(200, "The component.")
            .answers_nothing(304, "The caller has it: it named its digest in `If-None-Match`.")
            .refused(&[Code::RoutineNotFound]),
    ]
}

fn about() -> Vec<Operation> {
    let get = |path, id, about| Operation::new(Method::GET, path, id, about);
    vec![
        get("/workflow", "getWorkflow", "The graph file of the default workflow.").answers(
            200,
            object(),
            "The graph file, as it was compiled.",
        ),
        get("/health", "getHealth", "Which workflow is served. Does not touch the database.").answers(
            200,
            reference::<api::Health>(),
            "It serves.",
        ),
        get("/openapi.json", "getDocument", "*Ours.* This document.").answers(200, object(), "The document."),
    ]
}
