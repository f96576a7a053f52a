//! A working copy of the tokens of one family that a decision looks at, which remembers what was changed.
//!
//! Tokens get a [`Seat`] as they are looked at; `rows` changes what belongs to one of them. What was not loaded is
//! [`Missing`]: the decision ends there and is made again from the start once it is.

mod rows;

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use serde_json::json;

use super::Rules;
use super::words::quote;
use crate::change::{Answer, Change, Decision, TokenView};
use crate::graph::Workflow;
use crate::json::{Object, parse_stored};
use crate::loaded::{Loaded, Member, Missing};
use crate::model::{Kind, Task, Timer, Token};
use crate::names;
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// A token's place in a [`Draft`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat(usize);

/// One token as it is so far in this decision.
pub(super) struct Working<'a> {
    pub(super) workflow: &'a Workflow,
    pub(super) token: Token,
    /// As text; empty while it was not loaded.
    context: Arc<str>,
    /// Open tasks.
    tasks: Vec<Task>,
    /// Pending timers.
    timers: Vec<Timer>,
    is_new: bool,
    context_changed: bool,
    /// Its ledger grew, and so its row must be written.
    moved: bool,
}

/// Rows as they are so far in this decision, and the changes that made them so.
pub(super) struct Draft<'a> {
    pub(super) rules: &'a Rules,
    pub(super) now: Timestamp,
    loaded: &'a Loaded,
    seats: Vec<Working<'a>>,
    /// The place of the next event that the family holds.
    next_arrival: u64,
    next_task: u64,
    next_timer: u64,
    changes: Vec<Change>,
}

impl Index<Seat> for Draft<'_> {
    type Output = Token;

    fn index(&self, seat: Seat) -> &Token {
        &self.seats[seat.0].token
    }
}

impl IndexMut<Seat> for Draft<'_> {
    fn index_mut(&mut self, seat: Seat) -> &mut Token {
        &mut self.seats[seat.0].token
    }
}

impl<'a> Draft<'a> {
    /// A draft in which nobody sits yet.
    pub(super) fn empty(rules: &'a Rules, loaded: &'a Loaded, now: Timestamp) -> Self {
        Self {
            rules,
            now,
            loaded,
            seats: Vec::new(),
            next_arrival: loaded.next_arrival,
            next_task: loaded.next_task,
            next_timer: loaded.next_timer,
            changes: Vec::new(),
        }
    }

    /// A draft with the token that the input is about. Refused when its workflow is not served in the structure that it
    /// keeps.
    pub(super) fn of(
        rules: &'a Rules,
        loaded: &'a Loaded,
        member: &Member,
        now: Timestamp,
    ) -> Result<(Self, Seat), Refusal> {
        let mut draft = Self::empty(rules, loaded, now);
        let seat = draft.sit(member)?;
        Ok((draft, seat))
    }

    /// The place of another token of the family; `None` when there is no such token.
    pub(super) fn seat(&mut self, id: &str) -> Result<Option<Seat>, Missing> {
        if let Some(found) = self.seats.iter().position(|w| w.token.id == id) {
            return Ok(Some(Seat(found)));
        }
        match self.loaded.members.get(id) {
            None => Err(Missing::Members(vec![id.to_owned()])),
            Some(None) => Ok(None),
            Some(Some(member)) => {
                // A family has one graph, and the decision began with a token of it.
                let seat = self.sit(member).expect("a family follows one structure of one graph");
                Ok(Some(seat))
            }
        }
    }

    /// The places of several tokens, where they exist: what is missing is asked for at once.
    pub(super) fn seats(&mut self, ids: &[String]) -> Result<Vec<Option<Seat>>, Missing> {
        let sits = |id: &String| self.seats.iter().any(|w| w.token.id == *id);
        let missing: Vec<String> =
            ids.iter().filter(|id| !sits(id) && !self.loaded.members.contains_key(*id)).cloned().collect();
        if !missing.is_empty() {
            return Err(Missing::Members(missing));
        }
        ids.iter().map(|id| self.seat(id)).collect()
    }

    /// Which of these ids a token has already, without regard to case.
    pub(super) fn taken(&self, ids: &[String]) -> Result<Vec<bool>, Missing> {
        let folded: Vec<String> = ids.iter().map(|id| names::folded(id)).collect();
        let missing: Vec<String> =
            folded.iter().filter(|id| !self.loaded.taken.contains_key(*id)).cloned().collect();
        if !missing.is_empty() {
            return Err(Missing::Taken(missing));
        }
        let new = |id: &String| self.seats.iter().any(|w| names::folded(&w.token.id) == *id);
        Ok(folded.iter().map(|id| self.loaded.taken[id] || new(id)).collect())
    }

    fn sit(&mut self, member: &Member) -> Result<Seat, Refusal> {
        let token = member.token.clone();
        let workflow = self.rules.catalog.workflow(&token.workflow, &token.structure).ok_or_else(|| {
            Refusal::new(
                Code::TokenNotActive,
                format!(
                    "token {} follows structure {} of workflow {}, which this control plane does not serve; start it \
                     with that graph file",
                    quote(&token.id),
                    token.structure,
                    quote(&token.workflow),
                ),
            )
        })?;
        Ok(self.push(Working {
            workflow,
            token,
            context: Arc::clone(&member.context),
            tasks: member.tasks.clone(),
            timers: member.timers.clone(),
            is_new: false,
            context_changed: false,
            moved: false,
        }))
    }

    /// Gives a token that does not exist yet a place.
    pub(super) fn create(&mut self, workflow: &'a Workflow, token: Token, context: &Object) -> Seat {
        self.push(Working {
            workflow,
            token,
            context: text(context),
            tasks: Vec::new(),
            timers: Vec::new(),
            is_new: true,
            context_changed: false,
            moved: false,
        })
    }

    fn push(&mut self, working: Working<'a>) -> Seat {
        self.seats.push(working);
        Seat(self.seats.len() - 1)
    }

    /// The workflow that the token follows.
    pub(super) fn workflow(&self, seat: Seat) -> &'a Workflow {
        self.seats[seat.0].workflow
    }

    /// The context as an object.
    pub(super) fn context(&self, seat: Seat) -> Result<Object, Missing> {
        let text = self.context_text(seat)?;
        Ok(parse_stored(&text).expect("a stored context is a JSON object"))
    }

    /// The context as text.
    pub(super) fn context_text(&self, seat: Seat) -> Result<Arc<str>, Missing> {
        let Working { context, token, .. } = &self.seats[seat.0];
        if !context.is_empty() {
            return Ok(Arc::clone(context));
        }
        let found = self.loaded.contexts.get(&token.id);
        found.cloned().ok_or_else(|| Missing::Context(token.id.clone()))
    }

    /// The place of the next event that the family holds.
    pub(super) const fn next_arrival(&self) -> u64 {
        self.next_arrival
    }

    /// The top token of the family.
    pub(super) fn top(&self, seat: Seat) -> String {
        self.loaded.top.clone().unwrap_or_else(|| self[seat].id.clone())
    }

    /// The token as the caller is told.
    pub(super) fn view(&self, seat: Seat) -> Result<TokenView, Missing> {
        Ok(TokenView { token: self[seat].clone(), context: self.context_text(seat)? })
    }

    /// The decision: what was changed, and `result`.
    pub(super) fn finish(self, result: Result<Answer, Refusal>) -> Decision {
        let Self { seats, changes: rest, .. } = self;
        let mut changes = Vec::with_capacity(rest.len() + 2);
        for Working { token, context, is_new, context_changed, moved, .. } in seats {
            if is_new {
                changes.push(Change::InsertToken { token, context });
                continue;
            }
            if context_changed {
                changes.push(Change::PutContext { token: token.id.clone(), context });
            }
            // Every change of a token adds to its ledger, so its row grows with it.
            if moved {
                changes.push(Change::UpdateToken(token));
            }
        }
        changes.extend(rest);
        Decision { changes, result }
    }

    /// The decision that tells the token as it is now.
    pub(super) fn finish_with(self, seat: Seat) -> Result<Decision, Missing> {
        let view = self.view(seat)?;
        Ok(self.finish(Ok(Answer::Token(view))))
    }

    /// Records a refused event and refuses.
    pub(super) fn finish_rejected(mut self, seat: Seat, event: &str, reason: String, code: Code) -> Decision {
        self.append(seat, Kind::EventRejected, json!({"event": event, "reason": reason}));
        self.finish(Err(Refusal::new(code, reason)))
    }
}

fn text(object: &Object) -> Arc<str> {
    serde_json::to_string(object).expect("an object in memory can be written as JSON").into()
}
