//! Lists of inputs. A list is made of small numbers, and what they stand for is looked up in the model at the moment of
//! their turn: so most inputs make sense, whatever came before, and a failing list can be made shorter.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use stateous_engine::Input;
use stateous_engine::input::Outcome;
use stateous_engine::model::Incarnation;

use super::choices::{
    CHILD, CONTEXTS, GOOD, HELD, LONG, WORKED_ON, WRITES, a_key, a_payload, a_supervisor, a_task, an_attempt,
    an_event, an_id, object, one_of, schedules, token, top,
};
use super::rules::Model;

/// Something to do, with its choices.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Start {
        id: u8,
        context: u8,
    },
    Fire {
        who: u8,
        event: u8,
        payload: u8,
        key: u8,
    },
    Pause(u8),
    Resume(u8),
    Cancel(u8),
    Retry(u8),
    Claim {
        task: u8,
        by: u8,
    },
    Repeat {
        task: u8,
        by: u8,
    },
    Begin {
        task: u8,
        by: u8,
        attempt: u8,
    },
    Renew {
        task: u8,
        by: u8,
    },
    GiveBack {
        task: u8,
        by: u8,
        attempt: u8,
    },
    /// A supervisor was started again.
    Abandon {
        task: u8,
        by: u8,
    },
    Report {
        task: u8,
        by: u8,
        attempt: u8,
        how: u8,
        event: u8,
        payload: u8,
        writes: u8,
        timers: u8,
    },
    Note {
        task: u8,
        attempt: u8,
        text: u8,
    },
    Remember {
        task: u8,
        attempt: u8,
        key: u8,
        value: u8,
    },
    LeaseEnds(u8),
    TimerFires(u8),
    /// Time passes, and mostly the clock does all that is due.
    Pass(u8),
    /// The last input comes once more.
    Again,
}

/// Up to 90 things to do, after a token was started. Now and then another one has the id of its child already, or its own id
/// leaves no room for a child's.
pub(crate) fn lists() -> impl Strategy<Value = Vec<Op>> {
    let ids = prop_oneof![8 => Just(&[0][..]), 1 => Just(&[CHILD, 0][..]), 1 => Just(&[LONG][..])];
    (ids, any::<u8>(), vec(op(), 1..90)).prop_map(|(ids, context, ops)| {
        let starts = ids.iter().map(|id| Op::Start { id: *id, context: context % GOOD });
        starts.chain(ops).collect()
    })
}

fn op() -> impl Strategy<Value = Op> {
    let n = any::<u8>;
    let report = (n(), n(), n(), n(), n(), n(), n(), n());
    prop_oneof![
        2 => (n(), n()).prop_map(|(id, context)| Op::Start { id, context }),
        8 => (n(), n(), n(), n()).prop_map(|(who, event, payload, key)| Op::Fire { who, event, payload, key }),
        3 => n().prop_map(Op::Pause),
        4 => n().prop_map(Op::Resume),
        1 => n().prop_map(Op::Cancel),
        3 => n().prop_map(Op::Retry),
        10 => (n(), n()).prop_map(|(task, by)| Op::Claim { task, by }),
        1 => (n(), n()).prop_map(|(task, by)| Op::Repeat { task, by }),
        3 => (n(), n(), n()).prop_map(|(task, by, attempt)| Op::Begin { task, by, attempt }),
        2 => (n(), n()).prop_map(|(task, by)| Op::Renew { task, by }),
        1 => (n(), n(), n()).prop_map(|(task, by, attempt)| Op::GiveBack { task, by, attempt }),
        1 => (n(), n()).prop_map(|(task, by)| Op::Abandon { task, by }),
        16 => report.prop_map(|(task, by, attempt, how, event, payload, writes, timers)| {
            Op::Report { task, by, attempt, how, event, payload, writes, timers }
        }),
        2 => (n(), n(), n()).prop_map(|(task, attempt, text)| Op::Note { task, attempt, text }),
        3 => (n(), n(), n(), n()).prop_map(|(task, attempt, key, value)| Op::Remember { task, attempt, key, value }),
        1 => n().prop_map(Op::LeaseEnds),
        1 => n().prop_map(Op::TimerFires),
        5 => n().prop_map(Op::Pass),
        1 => Just(Op::Again),
    ]
}

impl Op {
    /// What time passes, in milliseconds, when that is what happens.
    pub(crate) fn passes(&self) -> Option<i64> {
        let Self::Pass(n) = self else { return None };
        Some(one_of(*n, &[1000, 1000, 20_000, 30_000, 45_000, 60_000, 120_000, 120_001]))
    }

    /// The inputs that it stands for now, when it is not time or the last one again.
    pub(crate) fn inputs(&self, model: &Model) -> Vec<Input> {
        let idle = !model.tasks.iter().any(|t| WORKED_ON.contains(&t.status));
        let next = model.tasks.iter().find(|t| t.status == "queued" && model.is(&t.token, "active"));
        if let Some(next) = next.filter(|_| idle && self.needs_work()) {
            return vec![Input::ClaimTask {
                task: next.id,
                supervisor: "a".into(),
                request: Some("r".into()),
            }];
        }
        let over = !model.tokens.keys().any(|id| model.is_live(id));
        if over && (self.needs_work() || matches!(self, Self::Claim { .. })) {
            let (token, context) = (an_id(model, 0), object(CONTEXTS[model.tokens.len() % GOOD as usize]));
            return vec![Input::StartToken { token, workflow: None, context }];
        }
        let input = match *self {
            Self::Start { id, context } => Input::StartToken {
                token: an_id(model, id),
                workflow: one_of(context / 32, &[None, None, None, Some(model.flow.name), Some("other")])
                    .map(Into::into),
                context: object(one_of(context, CONTEXTS)),
            },
            Self::Fire { who, event, payload, key } => {
                let token = token(model, who);
                let event = an_event(model, &token, event);
                let payload = a_payload(model, &token, &event, payload);
                let key = one_of(key, &[None, None, None, Some("k"), Some("l")]).map(Into::into);
                Input::FireEvent { token, event, payload, key }
            }
            Self::Pause(who) => Input::PauseToken { token: top(model, who, "active") },
            Self::Resume(who) => Input::ResumeToken { token: top(model, who, "paused") },
            Self::Cancel(who) => Input::CancelToken { token: top(model, who, "active") },
            Self::Retry(who) => Input::RetryToken { token: top(model, who, "failed") },
            Self::Claim { task, by } => Input::ClaimTask {
                task: a_task(model, task, &["queued"]),
                supervisor: one_of(by, &["a", "b"]).into(),
                request: one_of(
                    by / 2,
                    &[None, Some("r"), Some("s"), Some("f:1:r"), Some("f:2:r"), Some("g:1:r")],
                )
                .map(Into::into),
            },
            Self::Repeat { task, by } => Input::RepeatClaim {
                task: a_task(model, task, HELD),
                supervisor: one_of(by, &["a", "b"]).into(),
                request: one_of(by / 2, &["r", "s", "f:1:r", "f:2:r"]).into(),
            },
            Self::Begin { task, by, attempt } => {
                let task = a_task(model, task, HELD);
                let attempt = an_attempt(model, task, attempt / 2).unwrap_or(1);
                let incarnation = an_incarnation(by / 16);
                Input::StartTask { task, attempt, supervisor: a_supervisor(model, task, by), incarnation }
            }
            Self::Renew { task, by } => {
                let task = a_task(model, task, HELD);
                let incarnation = an_incarnation(by / 16);
                Input::RenewLease { task, supervisor: a_supervisor(model, task, by), incarnation }
            }
            Self::GiveBack { task, by, attempt } => {
                let task = a_task(model, task, HELD);
                let attempt = an_attempt(model, task, attempt / 2).unwrap_or(1);
                let incarnation = an_incarnation(by / 16);
                Input::ReturnTask { task, attempt, supervisor: a_supervisor(model, task, by), incarnation }
            }
            Self::Abandon { task, by } => {
                let incarnation =
                    an_incarnation(by | 2).unwrap_or(Incarnation { folder: "f".into(), start: 3 });
                Input::AbandonTask { task: a_task(model, task, HELD), incarnation }
            }
            Self::Report { task, by, attempt, how, event, payload, writes, timers } => {
                let task = a_task(model, task, WORKED_ON);
                let waits = model.tasks.iter().any(|t| t.id == task && t.status == "waiting");
                let supervisor = (waits == by.is_multiple_of(4)).then(|| a_supervisor(model, task, by / 4));
                let of = model.tasks.iter().find(|t| t.id == task).map(|t| t.token.clone());
                let token = of.unwrap_or_else(|| token(model, 0));
                let event = an_event(model, &token, event);
                let payload = a_payload(model, &token, &event, payload);
                Input::ReportTask {
                    task,
                    supervisor,
                    attempt: an_attempt(model, task, attempt),
                    outcome: match how % 8 {
                        0 | 1 => Outcome::Failed {
                            error: one_of(how / 8, &["boom", "boom", ""]).into(),
                            retry: how < 224,
                        },
                        2 | 3 => Outcome::Waiting,
                        _ => Outcome::Event { event, payload },
                    },
                    context: object(one_of(writes, WRITES)),
                    // Who waits has a reason to set a timer.
                    schedules: schedules(model, &token, if how % 8 == 3 { timers & !7 } else { timers }),
                }
            }
            Self::Note { task, attempt, text } => {
                let task = a_task(model, task, WORKED_ON);
                let text = one_of(text, &["half way", " half way\n", "done", "  "]).into();
                Input::AddNote { task, attempt: an_attempt(model, task, attempt), text }
            }
            Self::Remember { task, attempt, key, value } => {
                let task = a_task(model, task, WORKED_ON);
                let value = one_of(value, &[Some("1"), Some(r#"{"a":[1.50]}"#), None]).map(Arc::from);
                Input::SetMemory {
                    task,
                    attempt: an_attempt(model, task, attempt),
                    key: a_key(model, task, value.is_none(), key),
                    value,
                }
            }
            Self::LeaseEnds(task) => Input::ExpireLease { task: a_task(model, task, HELD) },
            Self::TimerFires(timer) => {
                Input::FireTimer { timer: u64::from(timer) % (model.timers.len() as u64 + 2) }
            }
            Self::Pass(n) if n < 192 => return due(model),
            Self::Pass(_) | Self::Again => return Vec::new(),
        };
        vec![input]
    }

    /// The task that it is about must be worked on. Where none is, the next one is claimed instead, or a token is started:
    /// else most of a list would speak of nothing.
    const fn needs_work(&self) -> bool {
        matches!(
            self,
            Self::Begin { .. }
                | Self::Renew { .. }
                | Self::GiveBack { .. }
                | Self::Abandon { .. }
                | Self::Report { .. }
                | Self::Note { .. }
                | Self::Remember { .. }
        )
    }
}

/// What the clock finds: leases that are over, then timers that are due, in the order of their time.
fn due(model: &Model) -> Vec<Input> {
    let over = model.tasks.iter().filter(|t| t.lease_until.is_some_and(|until| until < model.now));
    let mut timers: Vec<_> = model.timers.iter().filter(|t| t.pending && t.due_at <= model.now).collect();
    timers.sort_by_key(|t| (t.due_at, t.id));
    let over = over.map(|t| Input::ExpireLease { task: t.id });
    over.chain(timers.into_iter().map(|t| Input::FireTimer { timer: t.id })).collect()
}

fn an_incarnation(n: u8) -> Option<Incarnation> {
    let of = |folder: &str, start| Some(Incarnation { folder: folder.into(), start });
    match n % 6 {
        0..=2 => None,
        3 => of("f", 1),
        4 => of("f", 2),
        _ => of("g", 1),
    }
}
