//! What every SDK can do, one thing at a time: the same list in every language (`tests/guests/<language>/conforms`).

use stateous_routine::prelude::*;
use stateous_routine::serde_json::value::RawValue;
use stateous_routine::{Level, RawEvent};

#[derive(Deserialize)]
struct Given {
    #[serde(rename = "do")]
    act: String,
    /// As it was written: a `Value` would make a double of a large integer.
    #[serde(default)]
    value: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Read<'a> {
    value: Option<&'a RawValue>,
    token: &'a str,
    task: u64,
    workflow: &'a str,
    state: &'a str,
    visit: u32,
    attempt: u32,
    now_ms: u64,
    entered_by: &'a str,
    given: Value,
    known: Option<Box<RawValue>>,
    none: bool,
}

#[routine]
fn conforms(ctx: &Context<Given>) -> Result<Option<RawEvent>> {
    let value = &ctx.data().value;
    match ctx.data().act.as_str() {
        "read" => {
            let payload = Read {
                value: value.as_deref(),
                token: ctx.token(),
                task: ctx.task(),
                workflow: ctx.workflow(),
                state: ctx.state(),
                visit: ctx.visit(),
                attempt: ctx.attempt(),
                now_ms: ctx.now_ms(),
                entered_by: ctx.entered_by().name(),
                given: ctx.entered_by().payload()?,
                known: ctx.memory().get("known")?,
                none: ctx.memory().get::<Value>("none")?.is_none() && ctx.get::<Value>("none")?.is_none(),
            };
            return Ok(Some(RawEvent::with_payload("done", &payload)?));
        }
        "write" => {
            ctx.set("copy", value)?;
            let again: Option<Box<RawValue>> = ctx.get("copy")?;
            ctx.memory().set("copy", &again)?;
            ctx.memory().delete("known")?;
            ctx.set("keys", &ctx.memory().keys())?;
            ctx.note("  noted 🖋  ")?;
            ctx.schedule(RawEvent::with_payload("reminded", &json!({"n": 1}))?, "6h")?;
            for level in [Level::Debug, Level::Info, Level::Warn, Level::Error] {
                ctx.log(level, "a line");
            }
            return Ok(None);
        }
        "fatal" => return Err(Failure::fatal("there is no such thing")),
        "retry" => return Err(Failure::retryable("no answer")),
        "refused" => {
            let refused = ctx.memory().set("", &1).err();
            let code =
                refused.as_ref().and_then(|error| error.refusal()).map(|refusal| refusal.code().to_string());
            return Ok(Some(RawEvent::with_payload("refused", &json!({"code": code}))?));
        }
        "careless" => ctx.memory().set("", &1)?,
        "crash" => look("no such order"),
        "shout" => look(&"x".repeat(20_000)),
        "spin" => loop {
            std::hint::black_box(0);
        },
        "hoard" => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(vec![1u8; 1 << 20]);
                std::hint::black_box(&hoard);
            }
        }
        other => return Err(Failure::fatal(format!("unknown: {other}"))),
    }
    Ok(Some(RawEvent::new("done")))
}

#[inline(never)]
fn look(message: &str) {
    panic!("{message}");
}
