//! The transition tables of `docs/state-machines.md`: each cell is what the engine answered when it was asked. After a
//! change of the rules: `STATEOUS_BLESS=1 cargo test -p stateous-engine --test table`, and read what changed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[expect(dead_code, reason = "the stories of other tests read histories, the tables only count")]
mod world;

use std::fmt::Write as _;
use std::path::Path;

use stateous_engine::change::Answer;
use stateous_engine::input::{Outcome, Schedule};
use stateous_engine::json::{Object, parse_stored};
use stateous_engine::model::{Status, TaskStatus, Token};
use stateous_engine::{Input, Refusal};
use world::World;

const GRAPH: &str = r#"{
  "stateous": 1, "workflow": "job",
  "states": {
    "work": {"timeout": "1h", "retries": 2, "emits": ["done", "again"]},
    "check": {"emits": ["done"]},
    "all": {"parallel": ["left", "right"], "join": "all"},
    "any": {"timeout": "1h", "parallel": ["left", "right"], "join": "any"}
  },
  "events": {"done": {}, "again": {}, "rest": {}, "all": {}, "any": {}},
  "transitions": [
    {"from": "__start__", "to": "work"},
    {"from": "work", "to": "check", "on": "done"},
    {"from": "work", "to": "work", "on": "again"},
    {"from": "work", "to": "all", "on": "all"},
    {"from": "work", "to": "any", "on": "any"},
    {"from": "check", "to": "__end__", "on": "done"},
    {"from": "all", "to": "check", "on": "joined", "when": "branches.all(status == 'completed')"},
    {"from": "all", "to": "work", "on": "again"},
    {"from": "any", "to": "check", "on": "joined"}
  ],
  "workflows": {
    "left": {
      "states": {"do": {"emits": ["done"]}}, "events": {"done": {}},
      "transitions": [{"from": "__start__", "to": "do"}, {"from": "do", "to": "__end__", "on": "done"}]
    },
    "right": {
      "states": {"do": {"emits": ["done"]}}, "events": {"done": {}},
      "transitions": [{"from": "__start__", "to": "do"}, {"from": "do", "to": "__end__", "on": "done"}]
    }
  },
  "schemas": {}
}"#;

const MINUTE: i64 = 60_000;
const LEASE: i64 = 2 * MINUTE;

/// What is asked, in words and as an input, after so much time.
type Row = (&'static str, i64, fn() -> Input);

const TOKEN_ROWS: &[Row] = &[
    ("An event that leads on", 0, || fire("done", None)),
    ("An event that leads nowhere from here", 0, || fire("rest", None)),
    ("An event whose key was used before", 0, || fire("done", Some("used"))),
    ("Start, once more", 0, start),
    ("Pause", 0, pause),
    ("Resume", 0, resume),
    ("Cancel", 0, cancel),
    ("Retry", 0, retry),
    ("A routine's timer is due, and leads on", 5 * MINUTE, || Input::FireTimer { timer: 3 }),
    ("A routine's timer is due, and leads nowhere", 5 * MINUTE, || Input::FireTimer { timer: 4 }),
    ("The state's timeout is due, and leads nowhere", 60 * MINUTE, || Input::FireTimer { timer: 2 }),
    ("Its waiting task is reported with an event", 0, || report(2, event("done"), None, None)),
    ("Its waiting task is reported failed, and `error` leads nowhere", 0, || {
        report(2, failed(false), None, None)
    }),
];

const TASK_ROWS: &[Row] = &[
    ("A supervisor asks for it", 0, || claim(1)),
    ("Its supervisor asks again, with the same request", 0, || Input::RepeatClaim {
        task: 1,
        supervisor: "a".into(),
        request: "r".into(),
    }),
    ("Its supervisor asks whether the routine may begin", 0, || Input::StartTask {
        task: 1,
        attempt: 2,
        supervisor: "a".into(),
        incarnation: None,
    }),
    ("Its supervisor gives it back", 0, || Input::ReturnTask {
        task: 1,
        attempt: 2,
        supervisor: "a".into(),
        incarnation: None,
    }),
    ("A heartbeat of its supervisor", 0, || renew("a")),
    ("A heartbeat of another supervisor", 0, || renew("b")),
    ("Its supervisor reports an event", 0, || report(1, event("done"), Some("a"), Some(2))),
    ("Somebody outside reports an event", 0, || report(1, event("done"), None, None)),
    ("Its supervisor reports an event that the state does not emit", 0, || {
        report(1, event("all"), Some("a"), Some(2))
    }),
    ("Its supervisor reports `waiting`", 0, || report(1, Outcome::Waiting, Some("a"), Some(2))),
    ("Somebody outside reports `waiting`", 0, || report(1, Outcome::Waiting, None, None)),
    ("It failed, and may be tried again", 0, || report(1, failed(true), Some("a"), Some(2))),
    ("It failed for good, and `error` leads nowhere", 0, || report(1, failed(false), Some("a"), Some(2))),
    ("A report of an older attempt", 0, || report(1, event("done"), Some("a"), Some(1))),
    ("A note", 0, || Input::AddNote { task: 1, attempt: None, text: "half way".into() }),
    ("A memory write", 0, || Input::SetMemory {
        task: 1,
        attempt: None,
        key: "k".into(),
        value: Some("1".into()),
    }),
    ("Its lease is over", LEASE + 1, || Input::ExpireLease { task: 1 }),
    ("The token leaves the state by an event that the state emits", 0, || fire("done", None)),
    ("The token leaves the state by another event", 0, || fire("all", None)),
    ("The token is paused", 0, pause),
    ("The token is cancelled", 0, cancel),
];

/// What is asked of a family: in words, what comes before, and what is asked.
type FamilyRow = (&'static str, &'static [fn() -> Input], fn() -> Input);

const FAMILY_ROWS: &[FamilyRow] = &[
    ("`all`: a child completes, the other goes on", &[enter_all], || of("all.1.left", "done")),
    ("`all`: the last child completes", &[enter_all, || of("all.1.left", "done")], || {
        of("all.1.right", "done")
    }),
    ("`all`: a child fails, the other goes on", &[enter_all, || claim(2)], || {
        report(2, failed(false), None, None)
    }),
    (
        "`all`: the last child fails, and `joined` leads nowhere then",
        &[enter_all, || claim(3), || of("all.1.left", "done")],
        || report(3, failed(false), None, None),
    ),
    ("`any`: a child completes", &[enter_any], || of("any.1.left", "done")),
    ("`any`: a child fails", &[enter_any, || claim(3)], || report(3, failed(false), None, None)),
    ("An event leads the parent on", &[enter_all], || fire("again", None)),
    ("The parent's timeout is due, and leads nowhere", &[enter_any], || Input::FireTimer { timer: 2 }),
    ("The parent is paused", &[enter_all], pause),
    ("The parent is paused, one child has ended", &[enter_all, || of("all.1.left", "done")], pause),
    ("The parent is resumed", &[enter_all, pause], resume),
    (
        "The parent is resumed, and a child holds an event",
        &[enter_any, pause, || of("any.1.left", "done")],
        resume,
    ),
    ("The parent is cancelled", &[enter_all], cancel),
    (
        "The paused parent is cancelled, and a child holds an event",
        &[enter_all, pause, || of("all.1.left", "done")],
        cancel,
    ),
    ("A child is paused on its own", &[enter_all], || Input::PauseToken { token: "T.all.1.left".into() }),
];

#[test]
fn the_tables_are_what_the_engine_answers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/state-machines.md");
    let fresh = document();
    if std::env::var_os("STATEOUS_BLESS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == fresh,
        "docs/state-machines.md is not what the engine answers; run: STATEOUS_BLESS=1 cargo test -p stateous-engine --test \
         table, and read what changed"
    );
}

fn document() -> String {
    let mut out = String::from(
        "# State machines

What every input does to a token and to a task, in every status. Nobody wrote these tables: a test
(`control-plane/engine/tests/table.rs`) asks the engine for each cell, and fails when this page says anything else. A cell
says how the thing moved, or `-` when it did not, or the code of the refusal; then the ledger entries that the token got.

## Tokens

The token is in the state `work`, whose task waits for somebody outside; its routine has set two timers.

",
    );
    table(&mut out, &Status::ALL.map(Status::as_str), TOKEN_ROWS, |column, (_, after, input)| {
        let mut world = token_in(Status::ALL[column]);
        world.now = world.now.plus_ms(*after);
        let before = world.ledger.len();
        let was = world.tokens["T"].0.clone();
        let result = world.input(&input());
        let is = &world.tokens["T"].0;
        cell(&world, before, result, movement(&was, is))
    });
    out.push_str(
        "
## Tasks

The task's first attempt failed, its second is the one that counts; the state allows two retries.

",
    );
    table(&mut out, &TaskStatus::ALL.map(TaskStatus::as_str), TASK_ROWS, |column, (_, after, input)| {
        let mut world = task_in(TaskStatus::ALL[column]);
        world.now = world.now.plus_ms(*after);
        let before = world.ledger.len();
        let was = world.tasks[&1].status;
        let result = world.input(&input());
        let is = world.tasks[&1].status;
        let moved = if was == is { "-".to_owned() } else { format!("**{}**", is.as_str()) };
        cell(&world, before, result, moved)
    });
    out.push_str(
        "
## Families

The parent is in a parallel state with the children `left` and `right`; its join is `all` or `any`.

| | told | parent | left | right |
|---|---|---|---|---|
",
    );
    for (says, before, input) in FAMILY_ROWS {
        let mut world = World::new(GRAPH);
        give(&mut world, &start());
        before.iter().for_each(|earlier| give(&mut world, &earlier()));
        let state = world.tokens["T"].0.state.clone();
        let ids = ["T".to_owned(), format!("T.{state}.1.left"), format!("T.{state}.1.right")];
        let (was, recorded) = (world.tokens.clone(), world.ledger.len());
        if matches!(input(), Input::FireTimer { .. }) {
            world.now = world.now.plus_ms(60 * MINUTE);
        }
        let told = match world.input(&input()) {
            Ok(_) => "done".to_owned(),
            Err(refusal) => format!("`{}`", refusal.code.as_str()),
        };
        let cells = ids.map(|id| entries(&world, recorded, &id, movement(&was[&id].0, &world.tokens[&id].0)));
        writeln!(out, "| {says} | {told} | {} |", cells.join(" | ")).unwrap();
    }
    out
}

/// How a token moved.
fn movement(was: &Token, is: &Token) -> String {
    let mut words = Vec::new();
    if was.status != is.status {
        words.push(format!("**{}**", is.status.as_str()));
    }
    if (&was.state, was.visit) != (&is.state, is.visit) {
        words.push(format!("to `{}`", is.state));
    }
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

fn table(out: &mut String, columns: &[&str], rows: &[Row], ask: impl Fn(usize, &Row) -> String) {
    writeln!(out, "| | {} |", columns.join(" | ")).unwrap();
    writeln!(out, "|---{}|", "|---".repeat(columns.len())).unwrap();
    for row in rows {
        let cells: Vec<_> = (0..columns.len()).map(|column| ask(column, row)).collect();
        writeln!(out, "| {} | {} |", row.0, cells.join(" | ")).unwrap();
    }
}

/// What was told, how it moved, and what was recorded.
fn cell(world: &World, before: usize, result: Result<Answer, Refusal>, moved: String) -> String {
    let told = match result {
        Ok(Answer::Created(_) | Answer::Token(_) | Answer::Granted(_) | Answer::Run | Answer::Done) => moved,
        Ok(Answer::Duplicate(_)) => "duplicate".to_owned(),
        Ok(Answer::Skip(_)) => "skip".to_owned(),
        Ok(Answer::Stale) => "nothing to do".to_owned(),
        Err(refusal) => format!("`{}`", refusal.code.as_str()),
    };
    entries(world, before, "T", told)
}

/// `says`, and what was recorded of a token.
fn entries(world: &World, before: usize, id: &str, says: String) -> String {
    let recorded = world.ledger[before..].iter().filter(|e| e.token == id).map(|e| e.kind.as_str());
    let recorded: Vec<_> = recorded.collect();
    if recorded.is_empty() { says } else { format!("{says}<br>{}", recorded.join(", ")) }
}

/// A world with the token `T` in this status; while it was active, its second visit of `work` came to wait outside.
fn token_in(status: Status) -> World {
    let mut world = World::new(GRAPH);
    give(&mut world, &start());
    give(&mut world, &fire("again", Some("used")));
    give(&mut world, &claim(2));
    let timer = |event: &str| Schedule { event: event.into(), payload: None, after: "5m".into() };
    give(
        &mut world,
        &Input::ReportTask {
            task: 2,
            supervisor: Some("a".into()),
            attempt: None,
            outcome: Outcome::Waiting,
            context: Object::new(),
            schedules: vec![timer("again"), timer("rest")],
        },
    );
    match status {
        Status::Active => {}
        Status::Paused => give(&mut world, &pause()),
        Status::Cancelled => give(&mut world, &cancel()),
        Status::Failed => give(&mut world, &report(2, failed(false), None, None)),
        Status::Completed => {
            give(&mut world, &fire("done", None));
            give(&mut world, &fire("done", None));
        }
    }
    world
}

/// A world with the token `T` whose task 1 is in this status.
fn task_in(status: TaskStatus) -> World {
    let mut world = World::new(GRAPH);
    give(&mut world, &start());
    give(&mut world, &claim(1));
    give(&mut world, &report(1, failed(true), Some("a"), None));
    if status == TaskStatus::Queued {
        return world;
    }
    give(&mut world, &claim(1));
    match status {
        TaskStatus::Queued | TaskStatus::Claimed => {}
        TaskStatus::Started => {
            give(
                &mut world,
                &Input::StartTask { task: 1, attempt: 2, supervisor: "a".into(), incarnation: None },
            );
        }
        TaskStatus::Waiting => give(&mut world, &report(1, Outcome::Waiting, Some("a"), None)),
        TaskStatus::Done => give(&mut world, &report(1, event("again"), Some("a"), None)),
        TaskStatus::Failed => give(&mut world, &report(1, failed(false), Some("a"), None)),
        TaskStatus::Cancelled => {
            give(&mut world, &fire("all", None));
            give(&mut world, &fire("again", None));
        }
    }
    world
}

fn give(world: &mut World, input: &Input) {
    world.input(input).unwrap_or_else(|refusal| panic!("{input:?}: {refusal}"));
}

fn start() -> Input {
    Input::StartToken { token: "T".into(), workflow: None, context: parse_stored("{}").unwrap() }
}

fn fire(event: &str, key: Option<&str>) -> Input {
    Input::FireEvent { token: "T".into(), event: event.into(), payload: None, key: key.map(Into::into) }
}

/// An event for the child with this end of its id.
fn of(child: &str, event: &str) -> Input {
    Input::FireEvent { token: format!("T.{child}"), event: event.into(), payload: None, key: None }
}

fn enter_all() -> Input {
    fire("all", None)
}

fn enter_any() -> Input {
    fire("any", None)
}

fn pause() -> Input {
    Input::PauseToken { token: "T".into() }
}

fn resume() -> Input {
    Input::ResumeToken { token: "T".into() }
}

fn cancel() -> Input {
    Input::CancelToken { token: "T".into() }
}

fn retry() -> Input {
    Input::RetryToken { token: "T".into() }
}

fn claim(task: u64) -> Input {
    Input::ClaimTask { task, supervisor: "a".into(), request: Some("r".into()) }
}

fn renew(supervisor: &str) -> Input {
    Input::RenewLease { task: 1, supervisor: supervisor.into(), incarnation: None }
}

fn event(name: &str) -> Outcome {
    Outcome::Event { event: name.into(), payload: None }
}

fn failed(retry: bool) -> Outcome {
    Outcome::Failed { error: "boom".into(), retry }
}

fn report(task: u64, outcome: Outcome, supervisor: Option<&str>, attempt: Option<u64>) -> Input {
    Input::ReportTask {
        task,
        supervisor: supervisor.map(Into::into),
        attempt,
        outcome,
        context: Object::new(),
        schedules: Vec::new(),
    }
}
