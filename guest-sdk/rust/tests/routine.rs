//! A routine with everything a context offers, run natively through the mock.

use std::time::{Duration, SystemTime};

use stateous_routine::prelude::*;
use stateous_routine::testing::{Ended, Mock, Scheduled};
use stateous_routine::{Error, Level, RawEvent, RefusalCode};

#[derive(Deserialize)]
struct Order {
    title: String,
}

#[derive(Deserialize)]
struct Verdict {
    note: String,
}

#[derive(Event)]
enum Out {
    Submitted,
    #[event("needs-work")]
    NeedsWork {
        because: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
    },
    Filled(Filled),
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Filled {
    count: u32,
}

#[derive(Event)]
struct Reminded;

mod ordering {
    use super::*;

    #[routine]
    pub(super) fn order(ctx: &Context<Order>) -> Result<Option<Out>> {
        let memory = ctx.memory();
        let seen: u32 = memory.get("seen")?.unwrap_or(0) + 1;
        memory.set("seen", &seen)?;
        ctx.note(format_args!("  {} for the {seen}. time  ", ctx.data().title))?;
        match ctx.data().title.as_str() {
            "wait" => {
                ctx.schedule(Reminded, "6h")?;
                ctx.schedule(Out::Filled(Filled { count: seen }), Duration::from_secs(90))?;
                Ok(None)
            }
            "fill" => {
                ctx.set("count", &seen)?;
                assert_eq!(ctx.get::<u32>("count")?, Some(seen));
                Ok(Some(Out::Filled(Filled { count: seen })))
            }
            "refuse" => Ok(Some(Out::NeedsWork { because: "no stock".to_owned(), line: None })),
            "fail" => Err("the warehouse does not answer")?,
            "never" => Err(Failure::fatal("there is no such thing")),
            _ => Ok(Some(Out::Submitted)),
        }
    }
}
use ordering::order;

fn mock(title: &str) -> Mock {
    Mock::new(json!({ "title": title }))
}

#[test]
fn an_event_moves_the_token_and_the_writes_go_with_it() {
    let mock = mock("fill");
    let ended = mock.run(order);
    assert_eq!(ended.event(), "filled");
    assert_eq!(ended.payload_as::<Filled>(), Filled { count: 1 });
    assert_eq!(mock.token_context(), json!({"title": "fill", "count": 1}));
    assert_eq!(mock.notes(), ["fill for the 1. time"]);

    assert_eq!(mock.run(order).payload()["count"], 2, "memory outlives a visit");
}

#[test]
fn variants_are_events() {
    assert_eq!(mock("a pen").run(order), Ended::Event { name: "submitted".to_owned(), payload: json!({}) });
    let ended = mock("refuse").run(order);
    assert_eq!((ended.event(), ended.payload()), ("needs-work", &json!({"because": "no stock"})));
}

#[test]
fn waiting_keeps_the_timers() {
    let mock = mock("wait");
    assert_eq!(mock.run(order), Ended::Waiting);
    let scheduled = |event: &str, payload, after: &str| Scheduled {
        event: event.to_owned(),
        payload,
        after: after.to_owned(),
    };
    let expected = [scheduled("reminded", json!({}), "6h"), scheduled("filled", json!({"count": 1}), "90s")];
    assert_eq!(mock.scheduled(), expected);
}

#[test]
fn failures_say_whether_to_retry() {
    let failed = mock("fail").run(order);
    assert!(failed.failure().is_retryable());
    assert!(failed.failure().message().starts_with("the warehouse does not answer ("), "{failed:?}");
    assert_eq!(mock("never").run(order).failure(), &Failure::fatal("there is no such thing"));
}

#[test]
fn a_context_that_does_not_fit_fails_for_good() {
    let failed = Mock::new(json!({"titel": "typo"})).run(order);
    let failure = failed.failure();
    assert!(!failure.is_retryable());
    assert_eq!(
        failure.message(),
        "the token's context does not fit `Order`: missing field `title` at line 1 column 16"
    );
}

#[test]
fn a_kill_keeps_memory_and_notes_and_nothing_else() {
    fn routine(ctx: &Context) -> Result<Out> {
        let step: u32 = ctx.memory().get("step")?.unwrap_or(0);
        ctx.note(format_args!("attempt {} from step {step}", ctx.attempt()))?;
        ctx.set("attempt", &ctx.attempt())?;
        for step in step + 1..=3 {
            ctx.memory().set("step", &step)?;
        }
        Ok(Out::Submitted)
    }
    let mock = Mock::new(json!({}));
    assert_eq!(mock.kill_after_memory_writes(2).run(routine), Ended::Killed);
    assert_eq!((mock.memory()["step"].clone(), mock.token_context()), (json!(2), json!({})));

    assert_eq!(mock.run(routine).event(), "submitted");
    assert_eq!(mock.notes(), ["attempt 1 from step 0", "attempt 2 from step 2"]);
    assert_eq!(mock.token_context(), json!({"attempt": 2}));
}

#[test]
fn the_task_can_be_read() {
    let mock = Mock::new(json!({}))
        .token("ORDER-7")
        .state("orders", "draft")
        .visit(2)
        .attempt(3)
        .entered_by("reviewed", &json!({"note": "longer"}))
        .now_ms(1_500)
        .remembers("seen", &4);
    let ctx: Context = mock.context().unwrap();
    assert_eq!((ctx.token(), ctx.workflow(), ctx.state()), ("ORDER-7", "orders", "draft"));
    assert_eq!((ctx.task(), ctx.visit(), ctx.attempt()), (1, 2, 3));
    assert_eq!(ctx.entered_by().name(), "reviewed");
    assert_eq!(ctx.entered_by().payload::<Verdict>().unwrap().note, "longer");
    assert_eq!((ctx.now_ms(), ctx.now()), (1_500, SystemTime::UNIX_EPOCH + Duration::from_millis(1_500)));
    assert_eq!(ctx.memory().keys(), ["seen"]);
    assert!(ctx.memory().delete("seen").unwrap());
    assert!(!ctx.memory().delete("seen").unwrap());
    ctx.warn(format_args!("visit {}", ctx.visit()));
    assert_eq!(mock.logs(), [(Level::Warn, "visit 2".to_owned())]);
}

#[test]
fn the_mock_refuses_what_the_host_would() {
    let mock = Mock::new(json!({"n": "seven"}));
    let ctx: Context = mock.context().unwrap();
    let code = |result: Result<(), Error>| result.unwrap_err().refusal().unwrap().code().clone();

    assert_eq!(code(ctx.note("x".repeat(501))), RefusalCode::TooLarge);
    assert_eq!(code(ctx.memory().set("", &1)), RefusalCode::InvalidKey);
    assert_eq!(code(ctx.memory().set(&"k".repeat(129), &1)), RefusalCode::InvalidKey);
    assert_eq!(code(ctx.memory().set("k", &None::<u8>)), RefusalCode::InvalidJson);
    assert_eq!(code(ctx.memory().set("k", &"x".repeat(1 << 20))), RefusalCode::TooLarge);
    assert_eq!(code(ctx.schedule(Reminded, "soon")), RefusalCode::InvalidDuration);
    assert_eq!(code(ctx.schedule(RawEvent::new("timeout"), "1s")), RefusalCode::InvalidEvent);
    for _ in 0..100 {
        ctx.schedule(Reminded, "1s").unwrap();
    }
    assert_eq!(code(ctx.schedule(Reminded, "1s")), RefusalCode::TooMany);

    let error = ctx.get::<u32>("n").unwrap_err();
    assert_eq!(error.to_string(), "the context's `n` does not fit `u32`");
    ctx.note("   ").unwrap();
    assert!(mock.notes().is_empty());
}

#[derive(Event)]
enum Looked {
    Found { city: String },
    Denied,
}

#[routine]
fn looks_up(ctx: &Context) -> Result<Looked> {
    let host = ctx.setting("host").ok_or_else(|| Failure::fatal("no `host` is set"))?;
    let request = ctx
        .request("POST", &format!("https://{host}/cities?key=1"))
        .header("authorization", "Bearer {{secret:API_TOKEN}}")
        .json(&json!({"zip": 3000}))?;
    match request.send() {
        Ok(answer) if answer.is_success() => Ok(Looked::Found { city: answer.json::<String>()? }),
        Ok(answer) => Err(Failure::retryable(format!("answered {}", answer.status))),
        Err(stateous_routine::Error::Http(error)) if error.is_denied() => {
            assert_eq!(
                error.to_string(),
                "POST https://api/cities: HTTP-request-denied (the supervisor's log says which line of stateous.toml or \
                 --http would allow it)"
            );
            Ok(Looked::Denied)
        }
        Err(other) => Err(other.into()),
    }
}

#[test]
fn settings_secrets_and_requests_have_a_mock() {
    let mock = Mock::new(json!({})).setting("host", "api").secret("API_TOKEN");
    assert_eq!(mock.run(looks_up).event(), "denied");

    let mock = mock.answers(|request| {
        assert_eq!((&*request.method, &*request.url), ("POST", "https://api/cities?key=1"));
        assert_eq!(request.headers[0], ("authorization".into(), "Bearer {{secret:API_TOKEN}}".into()));
        assert_eq!(request.body, br#"{"zip":3000}"#);
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Ok(stateous_routine::Response { status: 200, headers, body: b"\"Bern\"".to_vec() })
    });
    let ended = mock.run(looks_up);
    assert_eq!((ended.event(), &ended.payload()["city"]), ("found", &json!("Bern")));
    assert_eq!(mock.context::<Value>().unwrap().secrets(), ["API_TOKEN"]);
}
