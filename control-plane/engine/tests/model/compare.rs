//! Gives the same inputs to the engine and to the model, and finds them in agreement after each: what was told, every
//! row, and the ledger entries that were added.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;
use stateous_engine::change::{Answer, TokenView};
use stateous_engine::input::Outcome;
use stateous_engine::model::{EventRecord, MemoryCell, Status};
use stateous_engine::replay::{Replayed, Rows, replay};
use stateous_engine::{Input, Refusal, Timestamp};

use super::flow::Flow;
use super::inputs::Op;
use super::rows::{asked, entry, granted, held, known, task, timer, token, without_words};
use super::rules::{Entry, Model, Told};
use super::world::World;
use super::{recorded, reports};

/// Engine and model side by side.
pub(crate) struct Pair {
    pub(crate) world: World,
    model: Model,
    /// How many entries of the world's ledger were compared, and how many of them before the last input.
    seen: usize,
    before: usize,
    /// How many of each token's history in the model.
    seen_of: BTreeMap<String, usize>,
    last: Option<Input>,
}

impl Pair {
    pub(crate) fn new(flow: Flow) -> Self {
        let world = World::new(&flow.graph_file());
        let model = Model::new(flow, world.now.0, world.rules.lease_ms);
        Self { world, model, seen: 0, before: 0, seen_of: BTreeMap::new(), last: None }
    }

    /// Plays one thing to do; says what was told of each input.
    pub(crate) fn play(&mut self, op: &Op) -> Vec<Told> {
        self.inputs(op).iter().map(|input| self.input(input)).collect()
    }

    /// The inputs that one thing to do stands for now; the time that it takes passes.
    pub(crate) fn inputs(&mut self, op: &Op) -> Vec<Input> {
        self.pass_until(self.model.now + op.passes().unwrap_or(0));
        let mut inputs = op.inputs(&self.model);
        if matches!(op, Op::Again) {
            inputs.extend(self.last.clone());
        }
        inputs
    }

    pub(crate) fn pass_until(&mut self, now: i64) {
        self.world.now = Timestamp(now);
        self.model.now = now;
    }

    /// Gives one input to both.
    pub(crate) fn input(&mut self, input: &Input) -> Told {
        let by_engine = self.world.input(input);
        let by_engine = self.told(by_engine);
        let by_model = give(&mut self.model, input);
        assert_eq!(by_engine, by_model, "what was told (engine, then model) of {input:?}");
        self.compare(input);
        self.last = Some(input.clone());
        by_model
    }

    /// The entries that the last input added, as the original has them.
    pub(crate) fn last_added(&self) -> BTreeMap<&str, Vec<Json>> {
        let mut added: BTreeMap<&str, Vec<Json>> = BTreeMap::new();
        for row in &self.world.ledger[self.before..] {
            added.entry(&row.token).or_default().push(recorded::original(&entry(row)));
        }
        added
    }

    fn compare(&mut self, input: &Input) {
        let (world, model) = (&self.world, &self.model);
        let tokens: Vec<_> = world.tokens.values().map(|(row, context)| token(row, context)).collect();
        assert_eq!(tokens, model.tokens.values().cloned().collect::<Vec<_>>(), "tokens after {input:?}");
        let tasks: Vec<_> = world.tasks.values().map(task).collect();
        assert_eq!(tasks, model.tasks.iter().map(known).collect::<Vec<_>>(), "tasks after {input:?}");
        let timers: Vec<_> = world.timers.values().map(timer).collect();
        let pending: Vec<_> = model.timers.iter().filter(|t| t.pending).cloned().collect();
        assert_eq!(timers, pending, "timers after {input:?}");
        let mut expected = model.held.clone();
        expected.sort_by_key(|h| (model.top(&h.token), h.arrival));
        assert_eq!(world.held.values().map(held).collect::<Vec<_>>(), expected, "held after {input:?}");
        let memory: BTreeMap<_, _> = world.memory.iter().map(|(k, v)| (k.clone(), v.to_string())).collect();
        assert_eq!(memory, model.memory, "memory after {input:?}");
        for (row, _) in world.tokens.values() {
            let record = |(name, payload)| EventRecord { name, payload };
            assert_eq!(row.entered_by, record(model.entered_by(&row.id)), "what brought {} there", row.id);
            let ended_by = (row.status == Status::Completed).then(|| record(model.last_accepted(&row.id)));
            assert_eq!(row.ended_by, ended_by, "what completed {}", row.id);
            for (event, count) in &row.counts {
                assert_eq!(*count, model.count(&row.id, event), "count of {event} of {}", row.id);
            }
            for (state, visits) in &row.visits {
                assert_eq!(*visits, model.visits(&row.id, state), "visits of {state} of {}", row.id);
            }
        }
        self.before = self.seen;
        self.compare_ledgers(input);
        let grown: BTreeSet<&String> = self.world.ledger[self.before..].iter().map(|e| &e.token).collect();
        grown.into_iter().for_each(|id| self.replay(id));
    }

    /// `replay(ledger) == rows`, for every token.
    pub(crate) fn replay_all(&self) {
        self.world.tokens.keys().for_each(|id| self.replay(id));
    }

    /// `replay(ledger) == rows`, for one token.
    fn replay(&self, id: &String) {
        let world = &self.world;
        let (token, context) = &world.tokens[id];
        let mut held: Vec<_> = world.held.values().filter(|h| &h.token == id).collect();
        held.sort_by_key(|h| h.arrival);
        let cells = world.memory.iter().filter(|((token, ..), _)| token == id);
        let cells: Vec<_> = cells
            .map(|((_, state, key), value)| {
                (state.as_str(), MemoryCell { key: key.clone(), value: Arc::clone(value) })
            })
            .collect();
        let rows = Rows {
            token,
            context,
            tasks: world.tasks.values().filter(|t| &t.token == id).collect(),
            timers: world.timers.values().filter(|t| &t.token == id).collect(),
            held,
            memory: cells.iter().map(|(state, cell)| (*state, cell)).collect(),
        };
        let replayed = replay(world.ledger.iter().filter(|e| &e.token == id)).unwrap();
        assert_eq!(replayed, Some(Replayed::of_rows(&rows)), "replay(ledger), then the rows, of {id}");
    }

    fn compare_ledgers(&mut self, input: &Input) {
        let mut added: BTreeMap<&str, Vec<Entry>> = BTreeMap::new();
        for row in &self.world.ledger[self.seen..] {
            added.entry(&row.token).or_default().push(entry(row));
        }
        let mut expected: BTreeMap<&str, Vec<Entry>> = BTreeMap::new();
        for (token, entries) in &self.model.history {
            let seen = self.seen_of.get(token).copied().unwrap_or(0);
            if entries.len() > seen {
                expected.insert(token, entries[seen..].iter().map(without_words).collect());
            }
        }
        assert_eq!(added, expected, "entries (engine, then model) of {input:?}");
        self.seen = self.world.ledger.len();
        self.seen_of = self.model.history.iter().map(|(token, all)| (token.clone(), all.len())).collect();
    }

    /// What the engine told. A token is told as its row now is.
    fn told(&self, result: Result<Answer, Refusal>) -> Told {
        let id = |view: TokenView| {
            let row = &self.world.tokens[&view.token.id];
            assert_eq!((&view.token, &view.context), (&row.0, &row.1), "what is told is what is kept");
            view.token.id
        };
        match result {
            Ok(Answer::Created(view)) => Told::Created(id(view)),
            Ok(Answer::Token(view)) => Told::Token(id(view)),
            Ok(Answer::Duplicate(view)) => Told::Duplicate(id(view)),
            Ok(Answer::Granted(grant)) => Told::Granted(Box::new(granted(*grant))),
            Ok(Answer::Run) => Told::Run,
            Ok(Answer::Skip(_)) => Told::Skip,
            Ok(Answer::Done) => Told::Done,
            Ok(Answer::Stale) => Told::Stale,
            Err(refusal) => Told::Refused(refusal.code.as_str()),
        }
    }
}

/// Gives an input to the model.
fn give(model: &mut Model, input: &Input) -> Told {
    match input {
        Input::StartToken { token, workflow, context } => model.start(token, workflow.as_deref(), context),
        Input::FireEvent { token, event, payload, key } => {
            model.fire(token, event, payload.as_ref(), key.as_deref())
        }
        Input::PauseToken { token } => model.pause(token),
        Input::ResumeToken { token } => model.resume(token),
        Input::CancelToken { token } => model.cancel(token),
        Input::RetryToken { token } => model.retry(token),
        Input::ClaimTask { task, supervisor, request } => model.claim(*task, supervisor, request.as_deref()),
        Input::RepeatClaim { task, supervisor, request } => model.repeat(*task, supervisor, request),
        Input::StartTask { task, attempt, supervisor, incarnation } => {
            model.begin(*task, *attempt, supervisor, incarnation.as_ref())
        }
        Input::RenewLease { task, supervisor, incarnation } => {
            model.renew(*task, supervisor, incarnation.as_ref())
        }
        Input::ReturnTask { task, attempt, supervisor, incarnation } => {
            model.give_back(*task, *attempt, supervisor, incarnation.as_ref())
        }
        Input::AbandonTask { task, incarnation } => model.abandon(*task, incarnation),
        Input::AddNote { task, attempt, text } => model.note(*task, *attempt, text),
        Input::SetMemory { task, attempt, key, value } => {
            model.remember(*task, *attempt, key, value.as_deref())
        }
        Input::ReportTask { task, supervisor, attempt, outcome, context, schedules } => {
            let outcome = match outcome {
                Outcome::Event { event, payload } => reports::Outcome::Event(event, payload.as_ref()),
                Outcome::Waiting => reports::Outcome::Waiting,
                Outcome::Failed { error, retry } => reports::Outcome::Failed(error, *retry),
            };
            let timers: Vec<_> = schedules.iter().map(asked).collect();
            model.report(*task, supervisor.as_deref(), *attempt, &outcome, context, &timers)
        }
        Input::ExpireLease { task } => model.lease_ends(*task),
        Input::FireTimer { timer } => model.timer_fires(*timer),
    }
}
