//! The state `draft`: writes the order's text, and writes more when the reviewer sent it back.

use stateous_routine::prelude::*;

#[derive(Deserialize)]
struct Item {
    title: String,
}

#[derive(Deserialize)]
struct Verdict {
    note: Option<String>,
}

#[derive(Event)]
enum Out {
    Submitted,
}

#[routine]
fn draft(ctx: &Context<Item>) -> Result<Out> {
    let title = ctx.data().title.trim();
    if title.is_empty() {
        return Err(Failure::fatal("the order's title is empty: nobody could say what to order"));
    }
    let mut text = format!("Please order: {title}.");
    if ctx.entered_by().name() == "reviewed" {
        let verdict: Verdict = ctx.entered_by().payload()?;
        let note =
            verdict.note.filter(|note| !note.is_empty()).unwrap_or_else(|| "no reason given".to_owned());
        text += &format!(" (Order {}; written again because: {note}.)", ctx.token());
    }
    ctx.set("draft", &text)?;
    ctx.note(format_args!("draft {}: {text}", ctx.visit()))?;
    Ok(Out::Submitted)
}

#[cfg(test)]
mod tests {
    use super::draft;
    use stateous_routine::prelude::*;
    use stateous_routine::testing::Mock;

    #[test]
    fn a_first_draft_names_the_title() {
        let mock = Mock::new(json!({"title": " a pen "}));
        assert_eq!(mock.run(draft).event(), "submitted");
        assert_eq!(mock.token_context()["draft"], "Please order: a pen.");
        assert_eq!(mock.notes(), ["draft 1: Please order: a pen."]);
    }

    #[test]
    fn a_second_draft_answers_the_reviewer() {
        let mock = Mock::new(json!({"title": "a pen"}))
            .token("ORDER-1")
            .visit(2)
            .entered_by("reviewed", &json!({"approved": false, "note": "too short"}));
        mock.run(draft);
        let text = "Please order: a pen. (Order ORDER-1; written again because: too short.)";
        assert_eq!(mock.token_context()["draft"], text);
    }

    #[test]
    fn a_reviewer_may_say_nothing() {
        let mock = Mock::new(json!({"title": "a pen"})).entered_by("reviewed", &json!({"approved": false}));
        mock.run(draft);
        assert!(mock.token_context()["draft"].to_string().contains("no reason given"));
    }

    #[test]
    fn an_empty_title_is_not_tried_again() {
        let ended = Mock::new(json!({"title": "  "})).run(draft);
        assert!(!ended.failure().is_retryable());
    }
}
