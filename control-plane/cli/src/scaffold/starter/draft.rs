//! The routine of the state `draft`: writes a text for the title, and a longer one when it was sent back.

mod contract;

use stateous_routine::prelude::*;

use contract::{Item, Outcome, Verdict};

#[routine]
fn draft(ctx: &Context<Item>) -> Result<Outcome> {
    let mut text = format!("Please send: {}.", ctx.data().title.trim());
    if ctx.entered_by().name() == "reviewed" {
        let verdict: Verdict = ctx.entered_by().payload()?;
        text += &format!(" ({})", verdict.note.unwrap_or_else(|| "written again".to_owned()));
    }
    // Into the token's context, for the states after this one.
    ctx.set("text", &text)?;
    // Into its history, for people.
    ctx.note(format_args!("draft {}: {text}", ctx.visit()))?;
    Ok(Outcome::Submitted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stateous_routine::testing::Mock;

    #[test]
    fn a_draft_names_the_title() {
        let mock = Mock::new(json!({"title": "a pen"}));
        assert_eq!(mock.run(draft).event(), "submitted");
        assert_eq!(mock.token_context()["text"], "Please send: a pen.");
    }
}
