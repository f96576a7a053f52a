//! Fan-outs, told as lists of inputs. The numbers in comments are those of the behaviours that each test shows.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use stateous_engine::change::Answer;
use stateous_engine::input::Outcome;
use stateous_engine::json::{Object, parse_stored};
use stateous_engine::model::{Status, TaskStatus};
use stateous_engine::{Code, Graph, Input, Refusal};
use world::World;

/// `scan` fans out over a list, `read` over lines, `race` and `some` join early, `tree` fans out twice.
const GRAPH: &str = r#"{
  "stateous": 1, "workflow": "w",
  "states": {
    "plan": {"emits": ["planned", "raced", "counted", "grown", "told"]},
    "scan": {"timeout": "1h", "parallel": ["host"], "each": "ctx['hosts']", "join": "all", "inputs": ["depth"], "max_live": 250},
    "read": {"parallel": ["host"], "lines": "ctx['text']", "join": "all", "key": "item"},
    "race": {"parallel": ["host"], "each": "ctx['hosts']", "join": "any", "key": "item.name"},
    "some": {"parallel": ["host"], "each": "ctx['hosts']", "join": {"quorum": 2}, "max_live": 1},
    "tree": {"parallel": ["group"], "each": "ctx['hosts']", "join": "all"},
    "told": {"parallel": ["host"], "each": "payload.found", "join": "all"},
    "sum": {"emits": ["summed"]}
  },
  "events": {"planned": {}, "raced": {}, "counted": {}, "grown": {}, "told": {"payload": "Found"}, "summed": {}, "skip": {}},
  "transitions": [
    {"from": "__start__", "to": "scan", "when": "ctx['mode'] == 'scan'"},
    {"from": "__start__", "to": "read", "when": "ctx['mode'] == 'read'"},
    {"from": "__start__", "to": "plan", "otherwise": true},
    {"from": "plan", "to": "scan", "on": "planned"},
    {"from": "plan", "to": "race", "on": "raced"},
    {"from": "plan", "to": "some", "on": "counted"},
    {"from": "plan", "to": "tree", "on": "grown"},
    {"from": "plan", "to": "told", "on": "told"},
    {"from": "scan", "to": "sum", "on": "joined", "when": "branches.any(status == 'completed')"},
    {"from": "scan", "to": "sum", "on": "skip"},
    {"from": "read", "to": "sum", "on": "joined"},
    {"from": "read", "to": "plan", "on": "empty"},
    {"from": "race", "to": "sum", "on": "joined"},
    {"from": "some", "to": "sum", "on": "joined", "when": "branches.count(status == 'completed') >= 2"},
    {"from": "some", "to": "plan", "on": "joined", "otherwise": true},
    {"from": "tree", "to": "sum", "on": "joined"},
    {"from": "told", "to": "sum", "on": "joined"},
    {"from": "sum", "to": "__end__", "on": "summed"}
  ],
  "workflows": {
    "host": {
      "context": "Host", "states": {"look": {"emits": ["seen"]}, "probe": {"emits": ["probed"]}},
      "events": {"seen": {}, "probed": {}, "nudge": {}},
      "transitions": [
        {"from": "__start__", "to": "look"}, {"from": "look", "to": "probe", "on": "seen"},
        {"from": "look", "to": "look", "on": "nudge"}, {"from": "probe", "to": "__end__", "on": "probed"}
      ]
    },
    "group": {
      "states": {"each": {"parallel": ["host"], "each": "ctx['item']", "join": "all"}}, "events": {},
      "transitions": [{"from": "__start__", "to": "each"}, {"from": "each", "to": "__end__", "on": "joined"}]
    }
  },
  "schemas": {
    "Host": {"type": "object", "properties": {"item": {"not": {"type": "null"}}, "depth": {"type": "integer"}}},
    "Found": {"type": "object", "properties": {"found": {"type": "array"}}}
  }
}"#;

fn object(text: &str) -> Object {
    parse_stored(text).unwrap()
}

fn start(world: &mut World, context: &str) -> Result<Answer, Refusal> {
    world.input(&Input::StartToken { token: "S".into(), workflow: None, context: object(context) })
}

/// A world with the token `S`, as its context sends it.
fn started(context: &str) -> World {
    let mut world = World::new(GRAPH);
    start(&mut world, context).unwrap();
    world
}

/// A list of `n` items.
fn hosts(n: usize) -> String {
    format!(r#"{{"mode":"scan","hosts":[{}]}}"#, (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(","))
}

/// Does the next thing for the fan-out that waits longest, as the loop does. Answers whether there was one.
fn unfold(world: &mut World) -> bool {
    let pending = world.fan_outs.values().filter(|(row, _)| row.pending);
    let Some(next) = pending.min_by_key(|(row, _)| (row.looked_at, row.key.clone())) else { return false };
    let input = Input::Unfold(next.0.key.clone());
    assert_eq!(world.input(&input), Ok(Answer::Done), "what is pending has something to do");
    true
}

/// Lets the loop do all that is pending; answers how many steps it took.
fn settle(world: &mut World) -> usize {
    let mut steps = 0;
    while unfold(world) {
        steps += 1;
        assert!(steps < 100_000, "a fan-out comes to rest");
    }
    steps
}

fn report(world: &mut World, task: u64, outcome: Outcome) -> Result<Answer, Refusal> {
    if world.tasks[&task].status == TaskStatus::Queued {
        let claim = Input::ClaimTask { task, supervisor: "vm".into(), request: None };
        assert!(matches!(world.input(&claim), Ok(Answer::Granted(_))), "task {task} is given out");
    }
    world.input(&Input::ReportTask {
        task,
        supervisor: Some("vm".into()),
        attempt: None,
        outcome,
        context: Object::new(),
        schedules: Vec::new(),
    })
}

fn event(name: &str) -> Outcome {
    Outcome::Event { event: name.into(), payload: None }
}

fn failed() -> Outcome {
    Outcome::Failed { error: "no route".into(), retry: false }
}

/// The open task of a token.
fn task(world: &World, token: &str) -> u64 {
    world.tasks.values().find(|t| t.token == token && t.status.is_open()).map(|t| t.id).unwrap()
}

/// Runs a child from its first state to its end.
fn complete(world: &mut World, child: &str) {
    for name in ["seen", "probed"] {
        let task = task(world, child);
        report(world, task, event(name)).unwrap();
    }
}

fn fail(world: &mut World, child: &str) {
    let task = task(world, child);
    report(world, task, failed()).unwrap();
}

fn fire(world: &mut World, token: &str, event: &str) -> Result<Answer, Refusal> {
    world.input(&Input::FireEvent { token: token.into(), event: event.into(), payload: None, key: None })
}

fn pause(world: &mut World) {
    world.input(&Input::PauseToken { token: "S".into() }).unwrap();
}

fn resume(world: &mut World) -> Result<Answer, Refusal> {
    world.input(&Input::ResumeToken { token: "S".into() })
}

fn state(world: &World, token: &str) -> String {
    let (row, _) = &world.tokens[token];
    format!("{} {}", row.status.as_str(), row.state)
}

fn live(world: &World) -> usize {
    world.tokens.values().filter(|(t, _)| t.index.is_some() && !t.status.is_ended()).count()
}

/// 53, 58, 59, 61: each child streams through its own states, and the parent waits for all.
#[test]
fn the_join_waits_for_every_child() {
    let mut world = started(r#"{"mode":"scan","hosts":["a","b",{"c":1.50}],"depth":2}"#);
    assert_eq!(world.tokens.len(), 1, "nothing but the items is there when the state was entered");
    settle(&mut world);
    assert_eq!(&*world.tokens["S.scan.1.host.2"].1, r#"{"depth":2,"item":{"c":1.50}}"#);
    complete(&mut world, "S.scan.1.host.0");
    fail(&mut world, "S.scan.1.host.1");
    assert_eq!(settle(&mut world), 0);
    let look = task(&world, "S.scan.1.host.2");
    report(&mut world, look, event("seen")).unwrap();
    assert_eq!((settle(&mut world), state(&world, "S")), (0, "active scan".into()));
    let probe = task(&world, "S.scan.1.host.2");
    report(&mut world, probe, event("probed")).unwrap();
    assert_eq!((settle(&mut world), state(&world, "S")), (1, "active sum".into()));
    assert!(world.fan_outs.is_empty(), "a fan-out that is over has no row");
    let sum = task(&world, "S");
    report(&mut world, sum, event("summed")).unwrap();
    assert_eq!(state(&world, "S"), "completed_with_errors sum");
    insta::assert_snapshot!(world.history("S"));
    insta::assert_snapshot!(world.history("S.scan.1.host.1"));
}

/// 60, 75, 78 (the batch): children are created in bounded batches, and nothing joins before the last.
#[test]
fn children_come_in_batches_and_nothing_joins_before_the_last() {
    let mut world = started(&hosts(450));
    assert!(unfold(&mut world));
    assert_eq!(live(&world), 200);
    for index in 0..200 {
        complete(&mut world, &format!("S.scan.1.host.{index}"));
    }
    assert_eq!(state(&world, "S"), "active scan");
    assert!(unfold(&mut world));
    assert_eq!(live(&world), 200);
    settle(&mut world);
    // 250 may live at once.
    assert_eq!(live(&world), 250);
    for index in 200..450 {
        complete(&mut world, &format!("S.scan.1.host.{index}"));
    }
    settle(&mut world);
    assert_eq!(state(&world, "S"), "active sum");
    let joined = world.tokens["S"].0.entered_by.payload.clone().unwrap();
    assert_eq!(joined["branches"].as_array().unwrap().len(), 100);
    assert_eq!(joined["branches"][99]["index"], 99);
    let told: Vec<String> = ["total", "counts", "more"].iter().map(|key| joined[*key].to_string()).collect();
    assert_eq!(told, ["450", r#"{"completed":450}"#, "true"]);
}

/// 62, 111: when every child failed, and no transition takes that, the parent ends; it is never left open.
#[test]
fn a_parent_whose_children_all_failed_ends() {
    let mut world = started(&hosts(2));
    settle(&mut world);
    fail(&mut world, "S.scan.1.host.0");
    fail(&mut world, "S.scan.1.host.1");
    settle(&mut world);
    assert_eq!(state(&world, "S"), "failed scan");
}

/// 70, 71, 79, 80: nothing to do is said once, with its reason, and is an event of its own where the graph takes it.
#[test]
fn no_work_is_said_with_its_reason() {
    let check = |context: &str, reason: &str, end: &str| {
        let mut world = started(context);
        assert_eq!(settle(&mut world), 1);
        let history = world.history("S");
        assert_eq!(history.matches("no_work").count(), 1, "{history}");
        assert!(history.contains(&format!(r#"no_work {{"reason":"{reason}"}}"#)), "{history}");
        assert_eq!(state(&world, "S"), end, "{context}");
    };
    check(r#"{"mode":"read","text":""}"#, "the text is empty", "active plan");
    check(r#"{"mode":"read","text":"\r\n  \n\t\n"}"#, "the text has only blank lines", "active plan");
    // Without `empty` there is `joined` with no branches; no guard holds on it here.
    check(r#"{"mode":"scan","hosts":[]}"#, "the list is empty", "failed scan");
}

/// 74, 78: what is missing or too much is an error, which whoever sends the token there is told.
#[test]
fn what_is_missing_or_too_much_is_refused() {
    let check = |context: &str, says: &str| {
        let refusal = start(&mut World::new(GRAPH), context).unwrap_err();
        assert!(refusal.code == Code::InvalidContext && refusal.message.contains(says), "{refusal}");
    };
    check(r#"{"mode":"scan"}"#, "ctx['hosts'] is missing");
    check(r#"{"mode":"scan","hosts":null}"#, "ctx['hosts'] is missing");
    check(r#"{"mode":"scan","hosts":"a"}"#, "ctx['hosts'] is not a list");
    check(r#"{"mode":"read","text":["a"]}"#, "ctx['text'] is not a text");
    check(
        &format!(r#"{{"mode":"read","text":"a\n{}"}}"#, "x".repeat(65_537)),
        "line 2 of ctx['text'] has 65537 bytes",
    );
    let many = format!(r#"{{"mode":"scan","hosts":[{}0]}}"#, "0,".repeat(1_000_000));
    check(&many, "ctx['hosts'] has 1000001 items");
    let token = "S".repeat(116);
    let input = Input::StartToken { token, workflow: None, context: object(&hosts(11)) };
    let refusal = World::new(GRAPH).input(&input).unwrap_err();
    assert!(refusal.message.contains("ids longer than 128"), "{refusal}");
}

/// 76: an item is its place, so equal lines are two.
#[test]
fn equal_lines_are_two_items() {
    let mut world = started(r#"{"mode":"read","text":"a\r\n\na\n b "}"#);
    settle(&mut world);
    for index in 0..3 {
        complete(&mut world, &format!("S.read.1.host.{index}"));
    }
    settle(&mut world);
    insta::assert_snapshot!(world.history("S"));
}

#[test]
fn a_payload_can_be_fanned_out_over() {
    let mut world = started("{}");
    let plan = task(&world, "S");
    let missing = report(&mut world, plan, event("told")).unwrap_err();
    assert!(missing.message.contains("payload.found is missing"), "{missing}");
    let told = Outcome::Event { event: "told".into(), payload: Some(object(r#"{"found":[7]}"#)) };
    report(&mut world, plan, told).unwrap();
    settle(&mut world);
    assert_eq!(&*world.tokens["S.told.1.host.0"].1, r#"{"item":7}"#);
}

#[test]
fn any_goes_on_with_the_first_and_cancels_the_others() {
    let mut world = started(r#"{"hosts":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#);
    let plan = task(&world, "S");
    report(&mut world, plan, event("raced")).unwrap();
    settle(&mut world);
    complete(&mut world, "S.race.1.host.1");
    settle(&mut world);
    assert_eq!((state(&world, "S"), live(&world)), ("active sum".into(), 0));
    let joined = world.tokens["S"].0.entered_by.payload.clone().unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&joined).unwrap());
    insta::assert_snapshot!(world.history("S.race.1.host.0"));
}

#[test]
fn a_quorum_is_so_many_completed_or_all_ended() {
    let check = |fails: &[u64], end: &str, children: usize| {
        let mut world = started(r#"{"hosts":[1,2,3,4]}"#);
        let plan = task(&world, "S");
        report(&mut world, plan, event("counted")).unwrap();
        settle(&mut world);
        for index in 0..4 {
            let child = format!("S.some.1.host.{index}");
            if !world.tokens.contains_key(&child) {
                break;
            }
            assert_eq!(live(&world), 1, "one at once");
            if fails.contains(&index) {
                fail(&mut world, &child);
            } else {
                complete(&mut world, &child);
            }
            settle(&mut world);
        }
        assert_eq!((state(&world, "S"), world.tokens.len() - 1), (end.to_owned(), children), "{fails:?}");
    };
    check(&[], "active sum", 2);
    check(&[0], "active sum", 3);
    check(&[0, 1, 3], "active plan", 4);
}

/// 57, 61: a child that cannot start is a failed child, and its siblings run.
#[test]
fn a_child_that_cannot_start_fails_alone() {
    let mut world = World::new(GRAPH);
    let other = Input::StartToken { token: "s.SCAN.1.host.2".into(), workflow: None, context: Object::new() };
    world.input(&other).unwrap();
    start(&mut world, r#"{"mode":"scan","hosts":["a",null,"c","d"]}"#).unwrap();
    settle(&mut world);
    assert_eq!(state(&world, "S.scan.1.host.1"), "failed __start__");
    complete(&mut world, "S.scan.1.host.0");
    complete(&mut world, "S.scan.1.host.3");
    settle(&mut world);
    assert_eq!(state(&world, "S"), "active sum");
    insta::assert_snapshot!(world.history("S"));
    insta::assert_snapshot!(world.history("S.scan.1.host.1"));
}

/// 68 (nested): a fan-out of fan-outs joins from the inside out.
#[test]
fn fan_outs_nest() {
    let mut world = started(r#"{"hosts":[[1,2],[],[3]]}"#);
    let plan = task(&world, "S");
    report(&mut world, plan, event("grown")).unwrap();
    settle(&mut world);
    assert_eq!(state(&world, "S.tree.1.group.1"), "completed each");
    for child in ["0.each.1.host.0", "0.each.1.host.1"] {
        complete(&mut world, &format!("S.tree.1.group.{child}"));
    }
    fail(&mut world, "S.tree.1.group.2.each.1.host.0");
    settle(&mut world);
    assert_eq!(state(&world, "S"), "active sum");
    assert_eq!(world.tokens["S.tree.1.group.2"].0.status, Status::CompletedWithErrors);
    insta::assert_snapshot!(world.history("S"));
}

/// 114: a cancel reaches every child in batches, and before the batch each child that is touched.
#[test]
fn cancel_reaches_every_child() {
    let mut world = started(r#"{"hosts":[[1,2],[3]]}"#);
    let plan = task(&world, "S");
    report(&mut world, plan, event("grown")).unwrap();
    settle(&mut world);
    world.input(&Input::CancelToken { token: "S".into() }).unwrap();
    settle(&mut world);
    assert_eq!((live(&world), world.fan_outs.len()), (0, 0));

    let mut world = started(&hosts(450));
    settle(&mut world);
    let (first, last) = (task(&world, "S.scan.1.host.0"), task(&world, "S.scan.1.host.249"));
    let claim = Input::ClaimTask { task: last, supervisor: "vm".into(), request: None };
    world.input(&claim).unwrap();
    world.input(&Input::CancelToken { token: "S".into() }).unwrap();
    assert_eq!((state(&world, "S"), live(&world)), ("cancelled scan".into(), 250));
    // Nothing moves any more, whatever the sweep has reached.
    let late = report(&mut world, last, event("seen")).unwrap_err();
    assert_eq!(late.message, format!("task {last} is cancelled; no one works on it now"));
    let claim = Input::ClaimTask { task: first, supervisor: "vm".into(), request: None };
    assert_eq!(world.input(&claim), Ok(Answer::Stale));
    assert_eq!(fire(&mut world, "S.scan.1.host.7", "nudge").unwrap_err().code, Code::TokenNotActive);
    assert_eq!(live(&world), 247);
    assert_eq!(settle(&mut world), 2);
    assert_eq!((live(&world), world.fan_outs.len()), (0, 0));
    insta::assert_snapshot!(world.history("S.scan.1.host.249"));
}

/// A transition out of the state while children are still being created lets go of those that are there.
#[test]
fn leaving_a_fan_out_cancels_what_was_started_and_starts_no_more() {
    let mut world = started(&hosts(450));
    unfold(&mut world);
    fail(&mut world, "S.scan.1.host.3");
    fire(&mut world, "S", "skip").unwrap();
    settle(&mut world);
    assert_eq!((live(&world), world.tokens.len(), state(&world, "S")), (0, 201, "active sum".into()));
    let sum = task(&world, "S");
    report(&mut world, sum, event("summed")).unwrap();
    assert_eq!(state(&world, "S"), "completed_with_errors sum");
}

/// Pause and resume go through the children in batches; nothing moves after the pause was answered.
#[test]
fn a_large_family_is_paused_and_resumed() {
    let mut world = started(&hosts(450));
    settle(&mut world);
    let running = task(&world, "S.scan.1.host.240");
    let claim = Input::ClaimTask { task: running, supervisor: "vm".into(), request: None };
    world.input(&claim).unwrap();
    pause(&mut world);
    assert_eq!(state(&world, "S.scan.1.host.249"), "active look", "the sweep has not reached it");
    let since = world.now;
    world.now = since.plus_ms(5_000);
    // What was touched is paused first: the outcome is held.
    report(&mut world, running, event("seen")).unwrap();
    let queued = task(&world, "S.scan.1.host.241");
    let claim = Input::ClaimTask { task: queued, supervisor: "vm".into(), request: None };
    assert_eq!(world.input(&claim), Ok(Answer::Stale));
    fire(&mut world, "S.scan.1.host.242", "nudge").unwrap();
    let early = resume(&mut world).unwrap_err();
    assert_eq!((early.code, early.message.contains("not all of its children")), (Code::TokenNotActive, true));
    settle(&mut world);
    // Each stands still since the pause was answered, whenever it was reached: so much its timers get back.
    assert!(world.tokens.values().all(|(t, _)| (t.status, t.paused_at) == (Status::Paused, Some(since))));
    assert!(!unfold(&mut world), "no child starts while the parent stands still");
    resume(&mut world).unwrap();
    // A child that is touched moves again first, and what it holds applies before what comes.
    fire(&mut world, "S.scan.1.host.242", "nudge").unwrap();
    assert_eq!(world.tokens["S.scan.1.host.242"].0.visit, 3);
    settle(&mut world);
    assert!(world.tokens.values().all(|(t, _)| t.status == Status::Active));
    assert_eq!(state(&world, "S.scan.1.host.240"), "active probe");
    insta::assert_snapshot!(world.history("S.scan.1.host.240"));
    insta::assert_snapshot!(world.history("S.scan.1.host.242"));
}

/// A small family needs no loop for it.
#[test]
fn a_small_family_is_steered_at_once() {
    let mut world = started(r#"{"hosts":[[1,2],[3]]}"#);
    let plan = task(&world, "S");
    report(&mut world, plan, event("grown")).unwrap();
    settle(&mut world);
    pause(&mut world);
    assert!(world.tokens.values().all(|(t, _)| t.status == Status::Paused));
    fire(&mut world, "S.tree.1.group.0.each.1.host.1", "nudge").unwrap();
    world.now = world.now.plus_ms(5_000);
    resume(&mut world).unwrap();
    assert_eq!(world.tokens["S.tree.1.group.0.each.1.host.1"].0.visit, 2);
    assert!(world.tokens.values().all(|(t, _)| t.status == Status::Active));
    assert_eq!(settle(&mut world), 0);
}

/// What a graph file may not say of fanning out.
#[test]
fn graph_files_are_checked() {
    let check = |from: &str, to: &str, says: &str| {
        assert!(GRAPH.contains(from), "{from} is not in the graph");
        let error = Graph::parse(&GRAPH.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(says), "{from} -> {to}: {error}");
    };
    check(r#""each": "ctx['hosts']""#, r#""each": "hosts""#, "names no list or text");
    check(r#""each": "ctx['hosts']""#, r#""each": "ctx['a']", "lines": "ctx['b']""#, "not both");
    check(r#""parallel": ["host"], "each""#, r#""each""#, "names no workflow in 'parallel'");
    check(r#"["host"], "each""#, r#"["host", "group"], "each""#, "runs one workflow");
    check(r#""inputs": ["depth"]"#, r#""inputs": ["item"]"#, "each child's own");
    check(r#""max_live": 250"#, r#""max_live": 0"#, "1 or more");
    check(r#""key": "item.name""#, r#""key": "name""#, "is no key of an item");
    check(r#"{"quorum": 2}"#, r#"{"quorum": 0}"#, "quorum");
    check(r#""lines": "ctx['text']", "#, "", "'key' belongs to");
    check(r#""skip": {}"#, r#""skip": {}, "empty": {}"#, "Stateous itself fires this event");
    check(
        r#""from": "sum", "to": "__end__", "on": "summed""#,
        r#""from": "sum", "to": "__end__", "on": "empty""#,
        "not an event",
    );
    check(
        "branches.any(status == 'completed')",
        "branches.any(payload.ok)",
        "not the payload or token of one",
    );
    let structure = |text: &str| Graph::parse(text).unwrap().structure().to_owned();
    let more = GRAPH.replacen(r#""max_live": 250"#, r#""max_live": 9"#, 1);
    assert_eq!(structure(&more), structure(GRAPH), "how many run at once is no part of the structure");
}
