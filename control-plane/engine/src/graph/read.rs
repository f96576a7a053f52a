//! From the document to workflows: every check that makes routing safe. Parallel states are read in [`parallel`].

mod parallel;

use std::collections::{HashMap, HashSet};

use super::schema::Schema;
use super::workflow::{Parts, State, Transition, Workflow};
use super::{EMPTY, END, FORMAT, GraphError, JOINED, START, STARTED, is_own_event};
use crate::guard::Guard;
use crate::json::{self, Json, Object};
use crate::names::check_name;
use crate::time::parse_duration;
use parallel::fans_out;

const REQUIRED: [&str; 6] = ["stateous", "workflow", "states", "events", "transitions", "schemas"];

/// A graph file is ours or our user's, not a stranger's body, so its schemas may nest deeper.
const DEPTH: usize = 200;

/// The document in a graph file's text, with all keys that every graph has.
pub(super) fn document(text: &str) -> Result<Object, GraphError> {
    let Json::Object(document) = json::parse_nested(text, DEPTH)? else {
        return Err(GraphError::NotAnObject);
    };
    if let Some(key) = REQUIRED.into_iter().find(|key| !document.contains_key(*key)) {
        return Err(GraphError::MissingKey { key });
    }
    let format = &document["stateous"];
    if format.as_u64() != Some(FORMAT) {
        return Err(GraphError::Format { found: format.to_string() });
    }
    Ok(document)
}

/// The main workflow of `document`, then its child workflows.
pub(super) fn workflows(document: &Object, structure: &str) -> Result<Vec<Workflow>, GraphError> {
    let top = Place(String::new());
    let name = top.within("'workflow'").text(&document["workflow"])?;
    let children = match document.get("workflows") {
        None => &Object::new(),
        Some(children) => top.within("'workflows'").object(children)?,
    };
    let mut reader = Reader {
        structure,
        children: children.keys().map(String::as_str).collect(),
        schemas: top.within("'schemas'").object(&document["schemas"])?,
        compiled: HashMap::new(),
    };
    let mut found = vec![reader.workflow(name, document, &top)?];
    for (child, body) in children {
        let place = top.within(&format!("workflow '{child}'"));
        if child == name {
            return place.fail("it has the name of the main workflow; each workflow needs its own");
        }
        let body = place.object(body)?;
        if let Some(key) = ["states", "events", "transitions"].into_iter().find(|k| !body.contains_key(*k)) {
            return place.fail(format!("it has no '{key}'"));
        }
        found.push(reader.workflow(child, body, &place)?);
    }
    let fans_out = found.iter().any(|workflow| workflow.states().any(fans_out));
    found.iter_mut().for_each(|workflow| workflow.near_fan_out = fans_out);
    Ok(found)
}

/// Where in the file something stands, in words, for errors.
struct Place(String);

impl Place {
    fn within(&self, inner: &str) -> Self {
        Self(if self.0.is_empty() { inner.to_owned() } else { format!("{}, {inner}", self.0) })
    }

    fn fail<T>(&self, problem: impl Into<String>) -> Result<T, GraphError> {
        Err(GraphError::Invalid { place: self.0.clone(), problem: problem.into() })
    }

    fn expected<T>(&self, what: &str, found: &Json) -> Result<T, GraphError> {
        let found: String = found.to_string().chars().take(60).collect();
        self.fail(format!("{what} was expected, not {found}"))
    }

    fn object<'a>(&self, json: &'a Json) -> Result<&'a Object, GraphError> {
        json.as_object().map_or_else(|| self.expected("an object", json), Ok)
    }

    fn text<'a>(&self, json: &'a Json) -> Result<&'a str, GraphError> {
        json.as_str().map_or_else(|| self.expected("a text", json), Ok)
    }

    /// The text under `key`; `None` when it is absent or null.
    fn text_at<'a>(&self, object: &'a Object, key: &str) -> Result<Option<&'a str>, GraphError> {
        match object.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(json) => self.within(&format!("'{key}'")).text(json).map(Some),
        }
    }

    fn texts_at(&self, object: &Object, key: &str) -> Result<Vec<String>, GraphError> {
        let Some(json) = object.get(key) else { return Ok(Vec::new()) };
        let list =
            json.as_array().and_then(|list| list.iter().map(|j| j.as_str().map(str::to_owned)).collect());
        list.map_or_else(|| self.within(&format!("'{key}'")).expected("a list of names", json), Ok)
    }
}

struct Reader<'a> {
    structure: &'a str,
    /// The names of the child workflows.
    children: HashSet<&'a str>,
    schemas: &'a Object,
    compiled: HashMap<String, Schema>,
}

impl Reader<'_> {
    fn workflow(&mut self, name: &str, body: &Object, place: &Place) -> Result<Workflow, GraphError> {
        check_name("workflow", name).or_else(|problem| place.within("'workflow'").fail(problem))?;
        let context = match place.text_at(body, "context")? {
            None => None,
            Some(schema) => Some(self.schema(schema, &place.within("'context'"))?),
        };
        let mut states = Vec::new();
        for (state, options) in place.within("'states'").object(&body["states"])? {
            states.push(self.state(state, options, &place.within(&format!("state '{state}'")))?);
        }
        let mut events = Vec::new();
        for (event, options) in place.within("'events'").object(&body["events"])? {
            let place = place.within(&format!("event '{event}'"));
            check_name("event", event).or_else(|problem| place.fail(problem))?;
            if is_own_event(event) {
                return place.fail("it is fired by Stateous itself and cannot be declared");
            }
            if event == EMPTY && states.iter().any(fans_out) {
                return place.fail("a state here fans out, and Stateous itself fires this event there");
            }
            let payload = place.text_at(place.object(options)?, "payload")?;
            let schema = payload.map(|s| self.schema(s, &place.within("'payload'"))).transpose()?;
            events.push((event.clone(), schema));
        }
        let place_of_all = place.within("'transitions'");
        let Some(list) = body["transitions"].as_array() else {
            return place_of_all.expected("a list", &body["transitions"]);
        };
        let mut transitions: Vec<Transition> = Vec::new();
        for (i, json) in list.iter().enumerate() {
            let place = place.within(&format!("transition {}", i + 1));
            let transition = transition(json, &states, &events, &place)?;
            let rival = |t: &&Transition| {
                t.when.is_none()
                    && transition.when.is_none()
                    && (t.source.as_str(), t.event.as_str()) == (&transition.source, &transition.event)
            };
            if let Some(rival) = transitions.iter().find(rival) {
                let Transition { source, event, target, .. } = rival;
                return place.fail(format!(
                    "'{event}' from '{source}' already leads to '{target}' when no guard holds; add a 'when' to one of them"
                ));
            }
            transitions.push(transition);
        }
        if !transitions.iter().any(|t| t.source == START) {
            return place_of_all.fail(format!("none leads from '{START}', so no token could begin"));
        }
        let (name, structure) = (name.to_owned(), self.structure.to_owned());
        Ok(Workflow::new(Parts { name, structure, context, states, events, transitions }))
    }

    fn schema(&mut self, name: &str, place: &Place) -> Result<Schema, GraphError> {
        if let Some(schema) = self.compiled.get(name) {
            return Ok(schema.clone());
        }
        let schema = Schema::compile(name, self.schemas).or_else(|problem| place.fail(problem))?;
        self.compiled.insert(name.to_owned(), schema.clone());
        Ok(schema)
    }

    fn state(&self, name: &str, options: &Json, place: &Place) -> Result<State, GraphError> {
        check_name("state", name).or_else(|problem| place.fail(problem))?;
        let options = place.object(options)?;
        let timeout = place.text_at(options, "timeout")?;
        let timeout_ms = match timeout.map(|text| (text, parse_duration(text))) {
            Some((text, None)) => {
                return place.fail(format!(
                    "'{text}' is not a duration; write a whole number and s, m, h or d, at most 3650d, e.g. '30s' or '6h'"
                ));
            }
            Some((_, ms)) => ms,
            None => None,
        };
        let retries = match options.get("retries") {
            None => 0,
            Some(json) => whole_number(json).map_or_else(
                || place.within("'retries'").expected("a whole number of 0 or more", json),
                Ok,
            )?,
        };
        Ok(State {
            name: name.to_owned(),
            timeout: timeout.map(str::to_owned),
            timeout_ms,
            retries,
            emits: place.texts_at(options, "emits")?,
            parallel: parallel::read(options, &self.children, place)?,
        })
    }
}

/// A whole number of 0 or more, of any size; what is larger than any count is as good as the largest.
fn whole_number(json: &Json) -> Option<u64> {
    let number = json.as_number().filter(|n| json::is_integer(n))?;
    let text = number.as_str();
    if text == "-0" {
        return Some(0);
    }
    (!text.starts_with('-')).then(|| text.parse().unwrap_or(u64::MAX))
}

fn transition(
    json: &Json,
    states: &[State],
    events: &[(String, Option<Schema>)],
    place: &Place,
) -> Result<Transition, GraphError> {
    let object = place.object(json)?;
    let required = |key: &str| match place.text_at(object, key)? {
        Some(text) => Ok(text),
        None => place.fail(format!("it has no '{key}'")),
    };
    let (source, target) = (required("from")?, required("to")?);
    let place = place.within(&format!("from '{source}' to '{target}'"));
    let known = |name: &str| states.iter().any(|s| s.name == name);
    if source != START && !known(source) {
        return place.fail(format!("'{source}' is not a state of 'states'"));
    }
    if target != END && !known(target) {
        return place.fail(format!("'{target}' is not a state of 'states'"));
    }
    if source == START && target == END {
        return place.fail("a token cannot end before it entered a state");
    }
    let event = match (place.text_at(object, "on")?, source == START) {
        (None | Some(STARTED), true) => STARTED,
        (Some(event), true) => {
            return place.fail(format!("START is left without an event, not on '{event}'"));
        }
        (None, false) => return place.fail("it has no 'on'; name the event that takes it"),
        (Some(STARTED), false) => return place.fail(format!("'{STARTED}' leads out of START only")),
        (Some(event), false) => event,
    };
    let fanned = states.iter().any(|state| state.name == source && fans_out(state));
    let own = is_own_event(event) || (event == EMPTY && fanned);
    if !own && !events.iter().any(|(name, _)| name == event) {
        return place.fail(format!("'{event}' is not an event of 'events'"));
    }
    let when = match place.text_at(object, "when")? {
        None => None,
        Some(text) => Some(Guard::parse(text).map_err(|error| GraphError::Guard {
            place: place.0.clone(),
            text: text.to_owned(),
            error,
        })?),
    };
    if event == JOINED
        && fanned
        && when.as_ref().is_some_and(|guard: &Guard| guard.reads.one_branch.is_some())
    {
        return place.fail(
            "a guard on 'joined' of a state that fans out reads children by the number: their status, final and workflow, \
             not the payload or token of one",
        );
    }
    let otherwise = match object.get("otherwise") {
        None => false,
        Some(Json::Bool(marked)) => *marked,
        Some(other) => return place.within("'otherwise'").expected("true or false", other),
    };
    if otherwise && when.is_some() {
        return place.fail("'when' and 'otherwise' exclude each other");
    }
    Ok(Transition {
        source: source.to_owned(),
        target: target.to_owned(),
        event: event.to_owned(),
        when,
        otherwise,
    })
}
