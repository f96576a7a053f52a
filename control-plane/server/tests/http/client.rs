//! Our own client against the real control plane: every call once, and how each kind of trouble reads.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use stateous_api::client::{HistoryQuery, MessageKind, TasksQuery, TokensQuery};
use stateous_api::{
    BatchKind, BatchMessage, BatchRequest, ClaimRequest, Client, ClientError, Code, Disposition, FireRequest,
    HeartbeatRequest, MemoryRequest, NoteRequest, Raw, Report, ReturnRequest, RoutinePush, StartRequest,
    StartedRequest,
};

use crate::harness::Plane;

const ROUTINE: &str = include_str!("../../../../host/inspect/tests/routine.wat");

fn raw(text: &str) -> Raw {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn start(token: &str) -> StartRequest {
    StartRequest { token: token.into(), context: Some(raw(r#"{"repo":"a","n":1.50}"#)), workflow: None }
}

fn claim(max: u32) -> ClaimRequest {
    ClaimRequest {
        supervisor: "vm".into(),
        states: None,
        request: Some("r-1".into()),
        max: Some(max),
        wait_ms: Some(10_000),
        incarnation: None,
        routines: true,
    }
}

#[tokio::test]
async fn every_call() {
    let plane = Plane::new().await;
    let client = Client::new(&format!("http://{}/", plane.address)).unwrap();
    assert_eq!(client.health().await.unwrap().workflow, "sdlc");
    assert!(client.workflow().await.unwrap().get().contains("\"stateous\":1"));

    let bytes = wat::parse_str(ROUTINE).unwrap();
    let push =
        RoutinePush { state: "coding".into(), name: Some("coding.wasm".into()), ..RoutinePush::default() };
    let pushed = client.push_routine(&push, bytes.clone().into()).await.unwrap();
    assert!(pushed.created);
    assert!(!client.push_routine(&push, bytes.clone().into()).await.unwrap().created);
    assert_eq!(client.routines().await.unwrap(), std::slice::from_ref(&pushed.routine));
    assert_eq!(client.component(&pushed.routine.digest).await.unwrap(), bytes);

    assert!(client.start_token(&start("T")).await.unwrap().created);
    assert!(!client.start_token(&start("T")).await.unwrap().created);
    let answer = client.claim(&claim(3)).await.unwrap();
    let grant = &answer.grants[0];
    assert_eq!((grant.token.as_str(), grant.state_name(), grant.lease_ms), ("T", "coding", 120_000));
    assert!(grant.context.get().contains("\"n\":1.50"), "{}", grant.context);
    assert_eq!(grant.routine.as_ref().unwrap().digest, pushed.routine.digest);
    let task = grant.task;

    let started = StartedRequest { supervisor: "vm".into(), attempt: 1, incarnation: None };
    assert_eq!(client.started(task, &started).await.unwrap(), Disposition::Run);
    let told = client.task(task).await.unwrap();
    assert_eq!((told.status.as_str(), told.phase.as_str()), ("claimed", "started"));
    assert_eq!(
        client.tasks(&TasksQuery { token: Some("T".into()), ..TasksQuery::default() }).await.unwrap().items,
        [told]
    );
    let unserved = TasksQuery { unserved: true, ..TasksQuery::default() };
    assert!(client.tasks(&unserved).await.unwrap().items.is_empty());
    let known = client.supervisors().await.unwrap();
    assert_eq!((known[0].name.as_str(), known[0].tasks, known[0].routines), ("vm", 1, true));
    let beat = HeartbeatRequest { supervisor: "vm".into(), tasks: vec![task, 99], incarnation: None };
    assert_eq!(client.heartbeat(&beat).await.unwrap(), [99]);
    client.note(task, &NoteRequest { text: "half way".into(), attempt: Some(1) }).await.unwrap();
    let memory = MemoryRequest { key: "k".into(), value: Some(raw("[1.0]")), attempt: Some(1) };
    client.memory(task, &memory).await.unwrap();
    client.post_task(task, MessageKind::Memory, r#"{"key":"k","value":null}"#.into()).await.unwrap();
    let message = |kind, body: &str| BatchMessage { task, kind, body: body.to_owned() };
    let messages = vec![
        message(BatchKind::Started, r#"{"supervisor":"vm","attempt":1}"#),
        message(MessageKind::Memory.into(), r#"{"key":"k","value":2.50,"attempt":1}"#),
        message(BatchKind::Note, r#"{"text":""}"#),
    ];
    let results = client.batch(&BatchRequest { supervisor: "vm".into(), messages }).await.unwrap();
    assert_eq!(results.iter().map(|one| one.status).collect::<Vec<_>>(), [200, 204, 422]);
    assert_eq!(results[0].body.as_ref().unwrap().get(), r#"{"disposition":"run"}"#);
    let report = Report {
        context: BTreeMap::from([("n".to_owned(), raw("2.50"))]),
        attempt: Some(1),
        supervisor: Some("vm".into()),
        ..Report::event("done", None)
    };
    let token = client.report(task, &report).await.unwrap();
    assert_eq!(token.state, "testing");
    assert!(token.context.get().contains("\"n\":2.50"), "{}", token.context);

    let body = FireRequest { payload: Some(raw(r#"{"passed":3,"failed":0}"#)) };
    assert_eq!(client.pause("T").await.unwrap().status, "paused");
    assert_eq!(client.pause("T").await.unwrap_err().code(), Some(Code::TokenNotActive));
    assert_eq!(client.resume("T").await.unwrap().status, "active");
    let fired = client.fire("T", "passed", &body, Some("key 1")).await.unwrap();
    assert!(!fired.duplicate);
    let fired = client.fire("T", "passed", &body, Some("key 1")).await.unwrap();
    assert!(fired.duplicate);
    assert_eq!(client.token("T").await.unwrap().status, "completed");
    let query = TokensQuery { status: Some("completed".into()), limit: Some(5), ..TokensQuery::default() };
    assert_eq!(client.tokens(&query).await.unwrap().len(), 1);
    assert!(client.tokens(&TokensQuery { parent: Some("T".into()), ..query }).await.unwrap().is_empty());
    assert!(client.start_token(&start("T2")).await.unwrap().created);
    let again = ClaimRequest { request: Some("r-2".into()), ..claim(1) };
    let task = client.claim(&again).await.unwrap().grants[0].task;
    let back = ReturnRequest { supervisor: "vm".into(), attempt: 1, incarnation: None };
    client.give_back(task, &back).await.unwrap();
    assert_eq!(client.give_back(task, &back).await.unwrap_err().code(), Some(Code::TaskNotHeld));
    let mut query = TokensQuery { prefix: Some("t".into()), limit: Some(1), ..TokensQuery::default() };
    let page = client.tokens_page(&query).await.unwrap();
    assert_eq!((page.items.len(), page.items[0].token.as_str()), (1, "T"));
    query.cursor = page.next;
    let page = client.tokens_page(&query).await.unwrap();
    assert_eq!((page.items[0].token.as_str(), page.next), ("T2", None));
    assert_eq!(client.cancel("T2").await.unwrap().status, "cancelled");
    let history = client.history("T", false).await.unwrap();
    assert_eq!(history.len() + 1, client.history("T", true).await.unwrap().len());
    let last = history.last().unwrap().seq;
    let tail = HistoryQuery { after: last - 1, limit: Some(5), wait_ms: 60_000, all: false };
    assert_eq!(client.history_from("T", &tail).await.unwrap()[0].seq, last);
    assert!(client.history_from("T", &HistoryQuery { after: last, ..tail }).await.unwrap().is_empty());
}

#[tokio::test]
async fn trouble_reads_well() {
    let plane = Plane::new().await;
    let url = format!("http://{}", plane.address);
    let client = Client::new(&url).unwrap();
    let refused = client.token("a/b c").await.unwrap_err();
    assert_eq!(
        (refused.status(), refused.code(), refused.is_transient()),
        (Some(404), Some(Code::NotFound), false)
    );
    let refused = client.token("ORDER-1").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("the control plane at {url} refused (404): there is no token 'ORDER-1'")
    );
    assert_eq!(client.token("..").await.unwrap_err(), ClientError::Name("..".into()));

    let wrong = Client::new(&format!("{url}/elsewhere")).unwrap();
    assert_eq!(wrong.health().await.unwrap_err().status(), Some(404));

    plane.stop().await;
    let gone = client.health().await.unwrap_err();
    assert!(gone.is_transient());
    let text = gone.to_string();
    assert!(text.starts_with(&format!("cannot reach the control plane at {url}: ")), "{text}");
    assert!(text.contains("onnection refused"), "{text}");
}
