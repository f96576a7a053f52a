//! Parallel states: how one is written, and what it takes that its children can start, join and be told apart. What
//! belongs to fanning out is in `fan_out`.

use std::collections::{HashMap, HashSet};

use stateous_engine::graph::{ERROR, ITEM, JOINED, Join};
use stateous_engine::limits;
use stateous_engine::names::child_id;
use toml::de::{DeTable, DeValue};

use crate::definition::{At, Definition, Flow, Parallel, State};
use crate::diagnostic::{Problems, suggestion};
use crate::fan_out;
use crate::source::{Value, entries, text, wrong_type};

/// A child's id holds its parent's visit of the state. Ids are checked for visits of up to this many digits.
const VISIT: u64 = 999;
/// What must be left of an id for the top token's own.
const TOP_ID: usize = 64;
/// How deep workflows are followed when ids are measured; long before, no id is left.
const LEVELS: usize = 64;

/// What the options of a state say of running workflows; `None` when it is an ordinary state.
pub(crate) fn read(options: &DeTable<'_>, problems: &mut Problems<'_>) -> Option<Parallel> {
    let (mut workflows, mut join, mut inputs) = (None, Join::All, Vec::new());
    let runs = options.contains_key("parallel");
    for (key, value) in entries(options) {
        match key.value.as_str() {
            "parallel" => workflows = names(value, "a list of workflows, such as [\"review\"]", problems),
            "join" | "inputs" if !runs => {
                let message = format!("'{}' belongs to a parallel state", key.value);
                let problem = problems.error("parallel_state", key.at, message);
                problem.help("name what runs here: parallel = [\"workflow\"]");
            }
            "join" => join = self::join(value, fan_out::is_written(options), problems),
            "inputs" => {
                let wanted = "a list of keys of the context, such as [\"repo\"]";
                inputs = names(value, wanted, problems).unwrap_or_default();
            }
            "retries" if runs => {
                let message = "a parallel state has no task of its own that could be tried again";
                let problem = problems.error("parallel_state", key.at, message);
                problem.help("give retries to the states of its workflows");
            }
            _ => {}
        }
    }
    let each = fan_out::read(options, runs, problems);
    // A list that was not understood still makes the state a parallel one.
    runs.then(|| Parallel { workflows: workflows.unwrap_or_default(), join, inputs, each })
}

fn names(value: &Value<'_>, wanted: &str, problems: &mut Problems<'_>) -> Option<Vec<At<String>>> {
    let DeValue::Array(list) = value.get_ref() else {
        wrong_type(value, wanted, problems);
        return None;
    };
    if list.is_empty() {
        let problem = problems.error("wrong_type", value.span(), "this list is empty");
        problem.help(format!("write {wanted}, or leave it out"));
    }
    Some(list.iter().filter_map(|item| text(item, problems)).collect())
}

fn join(value: &Value<'_>, fans_out: bool, problems: &mut Problems<'_>) -> Join {
    if let (DeValue::Table(options), true) = (value.get_ref(), fans_out) {
        return fan_out::quorum(value, options, problems);
    }
    match text(value, problems) {
        Some(At { value, at }) if value != "all" && value != "any" => {
            let problem = problems.error("bad_join", at, format!("'{value}' is not a way to join"));
            problem.help("\"all\" waits until every child ended, \"any\" goes on with the first and cancels the others");
            Join::All
        }
        Some(At { value, .. }) if value == "any" => Join::Any,
        _ => Join::All,
    }
}

/// Notes every mistake about child workflows and the states that run them.
pub(crate) fn check(definition: &Definition, problems: &mut Problems<'_>) {
    let main = &definition.main.name.value;
    if let Some(child) = definition.child(main) {
        let message = format!("'{main}' is the name of the whole workflow already");
        problems.error("two_workflows", child.name.at.clone(), message).help("give each its own name");
    }
    for flow in definition.flows() {
        for state in &flow.states {
            if let Some(parallel) = &state.parallel {
                runs(definition, flow, parallel, problems);
                exits(state, problems);
                inputs(definition, flow, state, parallel, problems);
                fan_out::check(definition, flow, state, parallel, problems);
            }
        }
    }
    children(definition, problems);
    if !circles(definition, problems) {
        id_length(definition, problems);
    }
}

/// Each workflow that is run exists, once.
fn runs(definition: &Definition, flow: &Flow, parallel: &Parallel, problems: &mut Problems<'_>) {
    let known = || definition.children.iter().map(|child| child.name.value.as_str());
    for (i, At { value: name, at }) in parallel.workflows.iter().enumerate() {
        if *name == definition.main.name.value || *name == flow.name.value {
            // Told by `circles` when it is a child's.
            if definition.child(name).is_none() {
                let message = format!("'{name}' would run itself, without end");
                problems.error("runs_itself", at.clone(), message);
            }
        } else if definition.child(name).is_none() {
            let problem =
                problems.error("unknown_workflow", at.clone(), format!("there is no workflow '{name}'"));
            problem.help = suggestion(name, known()).or_else(|| Some(format!("add it: [workflows.{name}]")));
        }
        if parallel.workflows[..i].iter().any(|earlier| earlier.value == *name) {
            let message = format!("'{name}' already runs here; two child tokens would have one id");
            let problem = problems.error("runs_twice", at.clone(), message);
            problem.help("give each child a workflow of its own");
        }
    }
}

/// Only the join can move the token on, and no task can fail.
fn exits(state: &State, problems: &mut Problems<'_>) {
    let leaves_on = |name: &str| {
        let events = state.edges.iter().filter_map(|edge| edge.event.as_ref());
        events.into_iter().find(|event| event.value == name)
    };
    if leaves_on(JOINED).is_none() {
        let message = format!("nothing leads out of '{}' when its children have ended", state.name.value);
        let problem = problems.error("no_join", state.name.at.clone(), message);
        problem.help("name where it leads: on.joined = \"state\"");
    }
    if let Some(event) = leaves_on(ERROR) {
        let message = "a parallel state has no task, so 'error' is never fired here";
        let problem = problems.error("error_never", event.at.clone(), message);
        problem.help("ask what became of the children: on.joined = [{ to = …, when = \"branches.any(status == 'failed')\" }, …]");
    }
}

/// The context has what is handed on, and what is handed on is all that the children need.
fn inputs(
    definition: &Definition,
    flow: &Flow,
    state: &State,
    parallel: &Parallel,
    problems: &mut Problems<'_>,
) {
    let schema = |flow: &Flow| definition.schema(&flow.context.as_ref()?.value);
    if let Some((schema, fields)) = schema(flow).and_then(|s| Some((s, s.fields.as_ref()?))) {
        for At { value: key, at } in parallel.inputs.iter().filter(|key| !fields.contains(&key.value)) {
            let message = format!("the context has no key '{key}': {} does not say so", schema.name.value);
            let problem = problems.error("unknown_field", at.clone(), message);
            problem.help = suggestion(key, fields.iter().map(String::as_str));
        }
    }
    for name in &parallel.workflows {
        let Some(schema) = definition.child(&name.value).and_then(schema) else { continue };
        let required = schema.json.get("required").and_then(|keys| keys.as_array()).into_iter().flatten();
        for key in required.filter_map(|key| key.as_str()) {
            let own = parallel.each.is_some() && key == ITEM;
            if !own && parallel.inputs.iter().all(|input| input.value != key) {
                let message = format!(
                    "'{}' needs '{key}' in its context, which '{}' does not hand on",
                    name.value, state.name.value
                );
                let problem = problems.error("missing_input", name.at.clone(), message);
                problem.help(format!("add it: inputs = [\"{key}\"]"));
            }
        }
    }
}

/// Every child is run by somebody, and starts whatever its context.
fn children(definition: &Definition, problems: &mut Problems<'_>) {
    let used: HashSet<&str> =
        definition.used_children().into_iter().map(|flow| flow.name.value.as_str()).collect();
    for flow in &definition.children {
        let name = &flow.name.value;
        if !used.contains(name.as_str()) {
            let message = format!("no parallel state runs '{name}'; it is left out of the graph file");
            let problem = problems.warning("unused_workflow", flow.name.at.clone(), message);
            problem.help(format!("run it: parallel = [\"{name}\"] in a state, or remove it"));
        }
        if !flow.starts.is_empty() && flow.starts.iter().all(|edge| edge.guarded) {
            let message =
                format!("when no guard holds, '{name}' cannot start, and nobody is there to be told");
            let problem = problems.error("child_start", flow.starts[0].target.at.clone(), message);
            problem.help("say where it begins otherwise: { to = \"state\", otherwise = true }");
        }
    }
}

/// Notes each workflow that runs itself further down, where the circle closes; says whether there is one.
fn circles(definition: &Definition, problems: &mut Problems<'_>) -> bool {
    let named = |flow| parallels(flow).flat_map(|(_, parallel)| &parallel.workflows).collect::<Vec<_>>();
    let mut found = false;
    // The workflows whose children were all followed.
    let mut done: HashSet<&str> = HashSet::new();
    for flow in &definition.children {
        if done.contains(&*flow.name.value) {
            continue;
        }
        // The way down from `flow`, each with the children that are still to be followed.
        let mut way = vec![(flow, named(flow))];
        while let Some((flow, open)) = way.last_mut() {
            let Some(next) = open.pop() else {
                done.insert(&flow.name.value);
                way.pop();
                continue;
            };
            if way.iter().any(|(above, _)| above.name.value == next.value) {
                found = true;
                let message = format!("'{}' would run itself, without end", next.value);
                let problem = problems.error("runs_itself", next.at.clone(), message);
                problem.help("a workflow may not run itself, nor one that runs it");
            } else if let Some(child) = definition.child(&next.value).filter(|_| !done.contains(&*next.value))
            {
                way.push((child, named(child)));
            }
        }
    }
    found
}

fn parallels(flow: &Flow) -> impl Iterator<Item = (&State, &Parallel)> {
    flow.states.iter().filter_map(|state| Some((state, state.parallel.as_ref()?)))
}

/// The id of the deepest child leaves room for the top token's.
fn id_length(definition: &Definition, problems: &mut Problems<'_>) {
    let mut longest = HashMap::new();
    let added = suffix(definition, &definition.main, LEVELS, &mut longest);
    let room = limits::TOKEN_ID - TOP_ID;
    if added > room {
        let message = format!(
            "the ids of its children are up to {added} characters longer than a token's; {room} is the most: a token's id may \
             have {TOP_ID} characters, a child's {}",
            limits::TOKEN_ID
        );
        let problem = problems.error("long_ids", definition.main.name.at.clone(), message);
        problem.help("use shorter names for states and workflows, or nest less");
    }
}

/// The most characters that the children below `flow` add to its token's id. No workflow runs itself.
fn suffix<'d>(
    definition: &'d Definition,
    flow: &'d Flow,
    levels: usize,
    known: &mut HashMap<&'d str, usize>,
) -> usize {
    if levels == 0 {
        return 0;
    }
    if let Some(known) = known.get(flow.name.value.as_str()) {
        return *known;
    }
    let mut longest = 0;
    for (state, parallel) in parallels(flow) {
        for name in &parallel.workflows {
            // An item's index and the dot before it.
            let index = if parallel.each.is_some() { 1 + limits::INDEX_DIGITS } else { 0 };
            let own = child_id("", &state.name.value, VISIT, &name.value).chars().count() + index;
            let below =
                definition.child(&name.value).map_or(0, |child| suffix(definition, child, levels - 1, known));
            longest = longest.max(own + below);
        }
    }
    known.insert(&flow.name.value, longest);
    longest
}
