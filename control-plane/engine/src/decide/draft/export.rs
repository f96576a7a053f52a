//! A draft as rows again: what a second decision of the same input sees of the first one's changes.

use super::Draft;
use crate::change::{Answer, Change};
use crate::loaded::{Loaded, Member};
use crate::model::Status;
use crate::names;

impl Draft<'_> {
    /// The loaded rows as this draft has changed them, and the changes.
    pub(in crate::decide) fn into_loaded(self) -> (Loaded, Vec<Change>) {
        let mut loaded = self.loaded.clone();
        (loaded.next_task, loaded.next_timer) = (self.next_task, self.next_timer);
        let about = loaded.member.take();
        for working in &self.seats {
            let token = &working.token;
            if working.is_new {
                loaded.taken.insert(names::folded(&token.id), true);
            }
            if working.context_changed {
                loaded.contexts.insert(token.id.clone(), std::sync::Arc::clone(&working.context));
            }
            if let Some(above) = loaded.ancestors.iter_mut().find(|above| above.id == token.id) {
                *above = token.clone();
            }
            let member = Member {
                token: token.clone(),
                context: std::sync::Arc::clone(&working.context),
                tasks: working.tasks.clone(),
                timers: working.timers.clone(),
            };
            loaded.members.insert(token.id.clone(), Some(member));
        }
        if let Some(before) = about {
            let now = loaded.members.get(&before.token.id).cloned().flatten();
            loaded.member = now.map(|member| {
                let context =
                    if member.context.is_empty() { before.context.clone() } else { member.context.clone() };
                Member { context, ..member }
            });
            let stands = |member: &Member| member.token.status == Status::Paused;
            if loaded.member.as_ref().is_some_and(stands) && !stands(&before) {
                // Nothing was held while it moved.
                loaded.next_arrival = 1;
            }
            loaded.member = loaded.member.or(Some(before));
        }
        for fan_out in &self.fan_outs {
            let row = (!fan_out.deleted).then(|| fan_out.row.clone());
            loaded.fan_outs.insert(fan_out.row.key.clone(), row);
            for (number, chunk) in fan_out.chunks.iter().flatten().enumerate() {
                loaded.chunks.insert((fan_out.row.key.clone(), number as u64), std::sync::Arc::clone(chunk));
            }
        }
        let changes = self.finish(Ok(Answer::Stale)).changes;
        for change in &changes {
            match change {
                Change::UpdateTask(task) if loaded.task.as_ref().is_some_and(|t| t.id == task.id) => {
                    loaded.task = Some(task.clone());
                }
                Change::UpdateTimer(timer) if loaded.timer.as_ref().is_some_and(|t| t.id == timer.id) => {
                    loaded.timer = Some(timer.clone());
                }
                Change::DeleteTimer(id) if loaded.timer.as_ref().is_some_and(|t| t.id == *id) => {
                    loaded.timer = None;
                }
                Change::DeleteHeld { top, arrival } => {
                    let gone = |held: &crate::model::Held| (&held.top, held.arrival) == (top, *arrival);
                    loaded.held.retain(|held| !gone(held));
                    loaded.held_of.values_mut().for_each(|of_token| of_token.retain(|held| !gone(held)));
                }
                _ => {}
            }
        }
        (loaded, changes)
    }
}
