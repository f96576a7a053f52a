//! The state `review`: approves a draft that says enough, and sends back one that does not.

use stateous_routine::prelude::*;

const CHARS_MIN: usize = 30;

#[derive(Deserialize)]
struct Order {
    draft: String,
}

#[derive(Event)]
enum Out {
    Reviewed { approved: bool, note: String },
}

#[routine]
fn review(ctx: &Context<Order>) -> Result<Out> {
    let chars = ctx.data().draft.chars().count();
    let approved = chars >= CHARS_MIN;
    let note = match approved {
        true => String::new(),
        false => format!("{chars} characters say too little, {CHARS_MIN} would do"),
    };
    Ok(Out::Reviewed { approved, note })
}

#[cfg(test)]
mod tests {
    use super::review;
    use stateous_routine::prelude::*;
    use stateous_routine::testing::Mock;

    #[test]
    fn a_short_draft_goes_back() {
        let ended = Mock::new(json!({"draft": "Please order: a pen."})).run(review);
        assert_eq!(ended.event(), "reviewed");
        let verdict = json!({"approved": false, "note": "20 characters say too little, 30 would do"});
        assert_eq!(ended.payload(), &verdict);
    }

    #[test]
    fn a_long_draft_is_approved() {
        let ended = Mock::new(json!({"draft": "Please order: a fountain pen, blue."})).run(review);
        assert_eq!(ended.payload(), &json!({"approved": true, "note": ""}));
    }

    #[test]
    fn an_order_without_a_draft_is_not_tried_again() {
        let ended = Mock::new(json!({"title": "a pen"})).run(review);
        assert!(!ended.failure().is_retryable());
    }
}
