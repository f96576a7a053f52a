//! From TOML to a [`Definition`]: the form of each part, on its own.

use stateous_engine::guard::Guard;
use stateous_engine::names::check_name;
use stateous_engine::time::parse_duration;
use toml::de::{DeTable, DeValue};

use crate::definition::{At, Definition, Edge, Event, Flow, State, When, place};
use crate::diagnostic::Problems;
use crate::parallel;
use crate::schemas;
use crate::source::{Value, boolean, entries, inner, table, text, unknown_key, wrong_type};

const TOP: [&str; 7] = ["workflow", "context", "start", "states", "events", "workflows", "schemas"];
const CHILD: [&str; 4] = ["context", "start", "states", "events"];
const STATE: [&str; 11] =
    ["start", "timeout", "retries", "parallel", "join", "inputs", "each", "lines", "max_live", "key", "on"];
const EDGE: [&str; 3] = ["to", "when", "otherwise"];

/// The definition in `source`; `None` when it is not TOML or has no workflow in it. All that can be read is read, so
/// that later checks find more mistakes.
pub(crate) fn read(source: &str, problems: &mut Problems<'_>) -> Option<Definition> {
    let (root, errors) = DeTable::parse_recoverable(source);
    for error in &errors {
        problems.error("syntax", error.span().unwrap_or_default(), error.message());
    }
    if !errors.is_empty() {
        return None;
    }
    Reader { source, problems }.file(root.get_ref())
}

struct Reader<'a, 'p> {
    source: &'a str,
    problems: &'a mut Problems<'p>,
}

/// A workflow but for its name.
#[derive(Default)]
struct Parts {
    context: Option<At<String>>,
    starts: Vec<Edge>,
    states: Vec<State>,
    events: Vec<Event>,
}

impl Reader<'_, '_> {
    fn file(&mut self, root: &DeTable<'_>) -> Option<Definition> {
        let (mut workflow, mut found) = (None, Vec::new());
        let mut main = Parts::default();
        let mut children = Vec::new();
        for (key, value) in entries(root) {
            match key.value.as_str() {
                "workflow" => workflow = text(value, self.problems),
                "workflows" => children = self.children(value),
                "schemas" => found = schemas::read(value, self.problems),
                _ if self.part(&key, value, &mut main) => {}
                _ => unknown_key(&key, &TOP, self.problems),
            }
        }
        if !root.contains_key("workflow") {
            let problem = self.problems.error("missing_key", 0..0, "the workflow has no name");
            problem.help("write it first: workflow = \"orders\"");
        }
        let workflow = workflow.unwrap_or(At { value: "unnamed".to_owned(), at: 0..0 });
        Some(Definition { main: self.flow(workflow, main), children, schemas: found })
    }

    /// Takes what belongs to any workflow, main or child; says whether it did.
    fn part(&mut self, key: &At<String>, value: &Value<'_>, parts: &mut Parts) -> bool {
        match key.value.as_str() {
            "context" => parts.context = text(value, self.problems),
            "start" => self.starts(value, parts),
            "states" => self.states(value, parts),
            "events" => parts.events = self.events(value),
            _ => return false,
        }
        true
    }

    fn flow(&mut self, name: At<String>, parts: Parts) -> Flow {
        self.name("workflow", &name);
        let Parts { context, starts, states, events } = parts;
        Flow { name, context, starts, states, events }
    }

    /// `[workflows.<name>]`.
    fn children(&mut self, value: &Value<'_>) -> Vec<Flow> {
        let Some(children) = table(value, self.problems) else { return Vec::new() };
        let mut found = Vec::new();
        for (name, value) in entries(children) {
            let mut parts = Parts::default();
            for (key, value) in table(value, self.problems).map(entries).unwrap_or_default() {
                if !self.part(&key, value, &mut parts) {
                    unknown_key(&key, &CHILD, self.problems);
                }
            }
            found.push(self.flow(name, parts));
        }
        found
    }

    fn name(&mut self, kind: &str, name: &At<String>) {
        if let Err(problem) = check_name(kind, &name.value) {
            self.problems.error("bad_name", name.at.clone(), problem);
        }
    }

    fn starts(&mut self, value: &Value<'_>, parts: &mut Parts) {
        if let DeValue::Boolean(_) = value.get_ref() {
            wrong_type(value, "a state's name, or a list of { to, when }", self.problems);
            return;
        }
        let found = self.targets(None, value);
        parts.starts.extend(found);
    }

    fn states(&mut self, value: &Value<'_>, parts: &mut Parts) {
        let Some(states) = table(value, self.problems) else { return };
        for (name, value) in entries(states) {
            self.name("state", &name);
            let Some(options) = table(value, self.problems) else { continue };
            let parallel = parallel::read(options, self.problems);
            let mut state = State { name, timeout: None, retries: 0, parallel, edges: Vec::new() };
            for (key, value) in entries(options) {
                match key.value.as_str() {
                    "start" => {
                        if boolean(value, self.problems) == Some(true) {
                            let target = At { value: state.name.value.clone(), at: key.at };
                            parts.starts.push(Edge {
                                event: None,
                                target,
                                guarded: false,
                                when: None,
                                otherwise: false,
                            });
                        }
                    }
                    "timeout" => state.timeout = self.duration(value),
                    "retries" => state.retries = self.retries(value),
                    "on" => state.edges = self.edges(value),
                    "parallel" | "join" | "inputs" | "each" | "lines" | "max_live" | "key" => {}
                    _ => unknown_key(&key, &STATE, self.problems),
                }
            }
            parts.states.push(state);
        }
    }

    fn duration(&mut self, value: &Value<'_>) -> Option<String> {
        let duration = text(value, self.problems)?;
        if parse_duration(&duration.value).is_none() {
            let message = format!("'{}' is not a duration", duration.value);
            let problem = self.problems.error("bad_duration", duration.at, message);
            problem.help("write a whole number and s, m, h or d, at most 3650d: \"30s\", \"6h\"");
        }
        Some(duration.value)
    }

    fn retries(&mut self, value: &Value<'_>) -> u64 {
        let number = value.get_ref().as_integer().map(|n| u64::from_str_radix(n.as_str(), n.radix()));
        match number {
            Some(Ok(retries)) => retries,
            Some(Err(_)) => {
                self.problems.error("bad_retries", value.span(), "retries is a whole number of 0 or more");
                0
            }
            None => {
                wrong_type(value, "a whole number of 0 or more", self.problems);
                0
            }
        }
    }

    fn edges(&mut self, value: &Value<'_>) -> Vec<Edge> {
        let Some(events) = table(value, self.problems) else { return Vec::new() };
        let mut found = Vec::new();
        for (event, value) in entries(events) {
            self.name("event", &event);
            found.extend(self.targets(Some(&event), value));
        }
        found
    }

    /// `"state"`, `{ to, when, otherwise }` or a list of those.
    fn targets(&mut self, event: Option<&At<String>>, value: &Value<'_>) -> Vec<Edge> {
        match value.get_ref() {
            DeValue::String(name) => {
                let target = At { value: name.to_string(), at: value.span() };
                vec![Edge { event: event.cloned(), target, guarded: false, when: None, otherwise: false }]
            }
            DeValue::Table(options) => self.edge(event, value, options).into_iter().collect(),
            DeValue::Array(list) if list.is_empty() => {
                let problem = self.problems.error("wrong_type", value.span(), "this list leads nowhere");
                problem.help("name a state, or leave the event out");
                Vec::new()
            }
            DeValue::Array(list) => {
                let mut found = Vec::new();
                for item in &**list {
                    match item.get_ref() {
                        DeValue::Table(options) => found.extend(self.edge(event, item, options)),
                        _ => wrong_type(
                            item,
                            "a table such as { to = \"state\", when = \"…\" }",
                            self.problems,
                        ),
                    }
                }
                found
            }
            _ => {
                wrong_type(value, "a state's name, \"END\", or a list of { to, when }", self.problems);
                Vec::new()
            }
        }
    }

    fn edge(&mut self, event: Option<&At<String>>, value: &Value<'_>, options: &DeTable<'_>) -> Option<Edge> {
        let (mut target, mut when, mut otherwise, mut guarded) = (None, None, false, false);
        for (key, value) in entries(options) {
            match key.value.as_str() {
                "to" => target = text(value, self.problems),
                "when" => {
                    guarded = true;
                    when = text(value, self.problems).and_then(|text| self.guard(text));
                }
                "otherwise" => otherwise = boolean(value, self.problems).unwrap_or_default(),
                _ => unknown_key(&key, &EDGE, self.problems),
            }
        }
        if !options.contains_key("to") {
            let problem = self.problems.error("missing_key", value.span(), "this transition has no target");
            problem.help("say where it leads: { to = \"state\" } or { to = \"END\" }");
        }
        if guarded && otherwise {
            let message = "'when' and 'otherwise' exclude each other";
            let problem = self.problems.error("when_and_otherwise", value.span(), message);
            problem.help(
                "'otherwise' marks the transition that is taken when no guard holds: remove one of the two",
            );
        }
        target.map(|target| Edge { event: event.cloned(), target, guarded, when, otherwise })
    }

    fn guard(&mut self, text: At<String>) -> Option<When> {
        let At { value, at } = text;
        let inner = inner(self.source, &at, &value);
        match Guard::parse(&value) {
            Ok(guard) => Some(When { guard, at, inner }),
            Err(error) => {
                self.problems.error("guard", place(inner, &at, &error.at), error.to_string());
                None
            }
        }
    }

    fn events(&mut self, value: &Value<'_>) -> Vec<Event> {
        let Some(events) = table(value, self.problems) else { return Vec::new() };
        let mut found = Vec::new();
        for (name, value) in entries(events) {
            self.name("event", &name);
            let mut payload = None;
            for (key, value) in table(value, self.problems).map(entries).unwrap_or_default() {
                match key.value.as_str() {
                    "payload" => payload = text(value, self.problems),
                    _ => unknown_key(&key, &["payload"], self.problems),
                }
            }
            found.push(Event { name, payload });
        }
        found
    }
}
