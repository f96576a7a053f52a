//! Uses every capability once, and goes on where the last attempt stopped.

use stateous_routine::prelude::*;

#[derive(Deserialize)]
struct Order {
    title: String,
}

#[derive(Event)]
enum Out {
    Done { title: String, seen: u32 },
    Reminded,
}

#[routine]
fn remembers(ctx: &Context<Order>) -> Result<Out> {
    let seen = ctx.memory().get::<u32>("seen")?.unwrap_or(0) + 1;
    ctx.memory().set("seen", &seen)?;
    ctx.note(format_args!("seen {seen} times"))?;
    ctx.info(format_args!("attempt {}", ctx.attempt()));
    ctx.set("seen", &seen)?;
    ctx.schedule(Out::Reminded, "6h")?;
    if let Err(refusal) = ctx.memory().set("", &1) {
        ctx.warn(format_args!("{refusal}"));
    }
    Ok(Out::Done { title: ctx.data().title.clone(), seen })
}
