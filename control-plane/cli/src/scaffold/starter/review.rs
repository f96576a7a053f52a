//! The routine of the state `review`: approves an item that has a title, and sends back one that has none.

mod contract;

use stateous_routine::prelude::*;

use contract::{Item, Outcome, Verdict};

/// How often an item is sent back before it is approved all the same.
const VISITS_MAX: u32 = 3;

#[routine]
fn review(ctx: &Context<Item>) -> Result<Outcome> {
    let approved = !ctx.data().title.trim().is_empty() || ctx.visit() >= VISITS_MAX;
    let note = (!approved).then(|| "it has no title".to_owned());
    Ok(Outcome::Reviewed(Verdict { approved, note }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stateous_routine::testing::Mock;

    #[test]
    fn an_item_without_a_title_goes_back() {
        let ended = Mock::new(json!({"title": " "})).run(review);
        assert_eq!(ended.payload(), &json!({"approved": false, "note": "it has no title"}));
    }

    #[test]
    fn an_item_with_a_title_is_approved() {
        let ended = Mock::new(json!({"title": "a pen"})).run(review);
        assert_eq!(ended.payload()["approved"], true);
    }
}
