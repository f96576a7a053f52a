//! States that fan out: how `each`, `lines`, `max_live`, `key` and a quorum are written, and what it takes that there are
//! items and each child has its own.

use stateous_engine::graph::{ITEM, Join, Key, Listing, Source};
use toml::de::DeTable;

use crate::definition::{At, Definition, Each, Flow, Parallel, State};
use crate::diagnostic::{Problems, suggestion};
use crate::source::{Value, entries, text, unknown_key, wrong_type};

/// Whether the options of a state say that it fans out.
pub(crate) fn is_written(options: &DeTable<'_>) -> bool {
    options.contains_key(Listing::Items.word()) || options.contains_key(Listing::Lines.word())
}

/// What the options of a state say of fanning out; with `runs`, it names workflows to run.
pub(crate) fn read(options: &DeTable<'_>, runs: bool, problems: &mut Problems<'_>) -> Option<Each> {
    let mut each: Option<Each> = None;
    let (mut max_live, mut named) = (None, None);
    for (key, value) in entries(options) {
        let listing = match key.value.as_str() {
            "each" => Listing::Items,
            "lines" => Listing::Lines,
            "max_live" | "key" if !is_written(options) => {
                let message = format!("'{}' belongs to a state that fans out", key.value);
                problems.error("fan_out", key.at, message).help("say over what: each = \"ctx['hosts']\"");
                continue;
            }
            "max_live" => {
                max_live = positive(value, problems);
                continue;
            }
            "key" => {
                named = text(value, problems).and_then(|text| self::key(text, problems));
                continue;
            }
            _ => continue,
        };
        if !runs {
            let message = format!("'{}' belongs to a parallel state", key.value);
            problems
                .error("fan_out", key.at, message)
                .help("name what runs for each: parallel = [\"workflow\"]");
        } else if each.is_some() {
            let message = "a state fans out over 'each' or over 'lines', not both";
            problems.error("fan_out", key.at, message);
        } else if let Some(text) = text(value, problems) {
            let source = Source::parse(&text.value);
            if let Err(problem) = &source {
                problems.error("fan_out", text.at.clone(), problem.clone());
            }
            each = Some(Each { listing, source: source.ok(), text, max_live: None, key: None });
        }
    }
    each.map(|each| Each { max_live, key: named, ..each })
}

fn key(text: At<String>, problems: &mut Problems<'_>) -> Option<(String, Key)> {
    match Key::parse(&text.value) {
        Ok(key) => Some((text.value, key)),
        Err(problem) => {
            problems.error("fan_out", text.at, problem);
            None
        }
    }
}

/// A whole number of 1 or more.
fn positive(value: &Value<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    let Some(number) = value.get_ref().as_integer() else {
        wrong_type(value, "a whole number of 1 or more", problems);
        return None;
    };
    let number = u64::from_str_radix(number.as_str(), number.radix()).ok().filter(|number| *number > 0);
    if number.is_none() {
        problems.error("fan_out", value.span(), "this is a whole number of 1 or more");
    }
    number
}

/// `join = { quorum = 3 }`.
pub(crate) fn quorum(value: &Value<'_>, options: &DeTable<'_>, problems: &mut Problems<'_>) -> Join {
    let mut quorum = None;
    for (key, value) in entries(options) {
        match key.value.as_str() {
            "quorum" => quorum = positive(value, problems),
            _ => unknown_key(&key, &["quorum"], problems),
        }
    }
    if !options.contains_key("quorum") {
        let problem = problems.error("bad_join", value.span(), "this says nothing of how to join");
        problem.help("write \"all\", \"any\" or { quorum = 3 }");
    }
    quorum.map_or(Join::All, Join::Quorum)
}

/// Notes every mistake about what a state fans out over, and what its children are given.
pub(crate) fn check(
    definition: &Definition,
    flow: &Flow,
    state: &State,
    parallel: &Parallel,
    problems: &mut Problems<'_>,
) {
    let Some(each) = &parallel.each else { return };
    if let [_, second, ..] = &parallel.workflows[..] {
        let message = "a state that fans out runs one workflow";
        problems.error("fan_out", second.at.clone(), message).help("give each its own state, or nest them");
    }
    if let Some(input) = parallel.inputs.iter().find(|input| input.value == ITEM) {
        let message = "'item' is each child's own, and cannot be handed on";
        problems.error("fan_out", input.at.clone(), message);
    }
    for name in &parallel.workflows {
        let context = definition.child(&name.value).and_then(|child| child.context.as_ref());
        let schema = context.and_then(|context| definition.schema(&context.value));
        if let Some(schema) =
            schema.filter(|s| s.fields.as_ref().is_some_and(|f| !f.iter().any(|f| f == ITEM)))
        {
            let message = format!(
                "the context of '{}' has no key 'item': {} does not say so",
                name.value, schema.name.value
            );
            let problem = problems.error("no_item", name.at.clone(), message);
            problem.help(format!("say what an item is: [schemas.{}] item = \"string\"", schema.name.value));
        }
    }
    match &each.source {
        None => {}
        Some(Source::Context(key)) => {
            let context = flow.context.as_ref().and_then(|context| definition.schema(&context.value));
            let Some((schema, fields)) = context.and_then(|s| Some((s, s.fields.as_ref()?))) else { return };
            if !fields.contains(key) {
                let message =
                    format!("the context has no key '{key}': {} does not say so", schema.name.value);
                let problem = problems.error("unknown_field", each.text.at.clone(), message);
                problem.help = suggestion(key, fields.iter().map(String::as_str));
            }
        }
        Some(Source::Payload(field)) => carried(definition, flow, state, each, field, problems),
    }
}

/// Every event that leads into the state carries the field.
fn carried(
    definition: &Definition,
    flow: &Flow,
    state: &State,
    each: &Each,
    field: &str,
    problems: &mut Problems<'_>,
) {
    let events = flow.all_events();
    for (_, edge) in flow.edges().filter(|(_, edge)| edge.target.value == state.name.value) {
        let event = edge.event.as_ref().map_or("START", |event| event.value.as_str());
        let schema = events.iter().find(|(name, _)| *name == event).and_then(|(_, payload)| *payload);
        let fields = schema.map(|name| definition.schema(name).and_then(|schema| schema.fields.as_ref()));
        let problem = match (fields, schema) {
            (Some(Some(fields)), Some(schema)) if !fields.iter().any(|known| known == field) => {
                format!(
                    "the payload of '{event}', which leads here, has no field '{field}': {schema} does not say so"
                )
            }
            (Some(_), _) => continue,
            (None, _) => format!("'{event}', which leads here, carries no payload"),
        };
        problems
            .error("no_payload", each.text.at.clone(), problem)
            .help("read the context: each = \"ctx['key']\"");
    }
}
