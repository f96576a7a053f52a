//! Tells which settings it finds, and which secrets it may use.

use stateous_routine::prelude::*;

#[derive(Event)]
enum Out {
    Done { city: Option<String>, missing: Option<String>, settings: Vec<String>, secrets: Vec<String> },
}

#[routine]
fn configured(ctx: &Context) -> Result<Out> {
    Ok(Out::Done {
        city: ctx.setting("city"),
        missing: ctx.setting("country"),
        settings: ctx.settings(),
        secrets: ctx.secrets(),
    })
}
