//! A workflow as plain data with two readers: the engine reads the graph file that it is written as, the model reads it
//! as it is. Guards and schemas are a few shapes only, so that what they mean can be seen here at a glance; the whole
//! languages are tested against the original elsewhere (`tests/original.rs`, `tests/guards.rs`).

use serde_json::{Value as Json, json};

pub(crate) type Object = serde_json::Map<String, Json>;

/// One workflow with the child workflows that its parallel states run, and theirs.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    pub(crate) name: &'static str,
    pub(crate) context: Option<Fields>,
    pub(crate) states: Vec<State>,
    pub(crate) events: Vec<(&'static str, Option<Fields>)>,
    pub(crate) moves: Vec<Move>,
    pub(crate) children: Vec<Flow>,
}

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) name: &'static str,
    /// As the graph file writes it, and in milliseconds.
    pub(crate) timeout: Option<(&'static str, i64)>,
    pub(crate) retries: u64,
    pub(crate) parallel: Option<Parallel>,
}

#[derive(Debug, Clone)]
pub(crate) struct Parallel {
    pub(crate) workflows: Vec<&'static str>,
    /// The first child that ends is enough.
    pub(crate) any: bool,
    pub(crate) inputs: Vec<&'static str>,
}

/// A transition. Without a guard it is the one to take when no guard holds.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    pub(crate) from: &'static str,
    pub(crate) on: &'static str,
    pub(crate) to: &'static str,
    pub(crate) when: Option<When>,
}

/// A guard.
#[derive(Debug, Clone)]
pub(crate) enum When {
    /// `ctx['key'] > number`; what is missing is greater than nothing.
    Above(&'static str, i64),
    /// `payload.field == true`.
    Said(&'static str),
    /// `count('event') < number`, the event that is routed included.
    Fewer(&'static str, u64),
    /// `branches.all(status == 'completed')`.
    AllCompleted,
    /// `branches.any(payload.field == true)`: the event that brought the child into its last state said so.
    AnyBranchSaid(&'static str),
    Not(Box<When>),
}

/// What a guard reads.
pub(crate) struct Facts<'f> {
    pub(crate) context: &'f Object,
    pub(crate) payload: &'f Object,
    pub(crate) count: &'f dyn Fn(&str) -> u64,
}

/// The schema of a context or payload: a field may be required or have a default; whether others may be there is said.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) name: &'static str,
    pub(crate) fields: Vec<Field>,
    /// The most fields that an object may have.
    pub(crate) most: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// `integer` or `boolean`.
    pub(crate) kind: &'static str,
    pub(crate) required: bool,
    pub(crate) default: Option<i64>,
}

impl Flow {
    /// The workflow itself or a child workflow of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Self> {
        if self.name == name { Some(self) } else { self.children.iter().find_map(|child| child.find(name)) }
    }

    pub(crate) fn state(&self, name: &str) -> &State {
        self.states.iter().find(|s| s.name == name).expect("a token is in a state of its workflow")
    }

    pub(crate) fn declares(&self, event: &str) -> bool {
        self.events.iter().any(|(name, _)| *name == event)
    }

    /// The declared events that lead out of a state; a parallel state has no routine that could emit one.
    pub(crate) fn emits(&self, state: &str) -> Vec<&'static str> {
        let mut found = Vec::new();
        if self.state(state).parallel.is_none() {
            for step in self.moves.iter().filter(|m| m.from == state) {
                if self.declares(step.on) && !found.contains(&step.on) {
                    found.push(step.on);
                }
            }
        }
        found
    }

    /// Whether a payload fits its event. None is as good as an empty one; an event without a schema takes no fields.
    pub(crate) fn payload_fits(&self, event: &str, payload: Option<&Object>) -> bool {
        let empty = Object::new();
        let payload = payload.unwrap_or(&empty);
        match self.events.iter().find(|(name, _)| *name == event) {
            Some((_, Some(fields))) => fields.fits(payload),
            _ => payload.is_empty(),
        }
    }

    pub(crate) fn context_fits(&self, context: &Object) -> bool {
        self.context.as_ref().is_none_or(|fields| fields.fits(context))
    }

    /// The context with the defaults of missing fields.
    pub(crate) fn with_defaults(&self, context: &Object) -> Object {
        let mut filled = context.clone();
        for field in self.context.iter().flat_map(|f| &f.fields) {
            if let (Some(default), false) = (field.default, context.contains_key(field.name)) {
                filled.insert(field.name.into(), default.into());
            }
        }
        filled
    }

    /// The graph file.
    pub(crate) fn graph_file(&self) -> String {
        let mut schemas = Object::new();
        let mut file = json!({"stateous": 1, "workflow": self.name});
        self.write(&mut file, &mut schemas);
        let mut children = Object::new();
        self.write_children(&mut children, &mut schemas);
        if !children.is_empty() {
            file["workflows"] = Json::Object(children);
        }
        file["schemas"] = Json::Object(schemas);
        file.to_string()
    }

    fn write_children(&self, children: &mut Object, schemas: &mut Object) {
        for child in &self.children {
            let mut body = json!({});
            child.write(&mut body, schemas);
            children.insert(child.name.into(), body);
            child.write_children(children, schemas);
        }
    }

    fn write(&self, body: &mut Json, schemas: &mut Object) {
        let mut keep = |fields: &Fields| {
            schemas.insert(fields.name.into(), fields.schema());
            fields.name
        };
        if let Some(fields) = &self.context {
            body["context"] = keep(fields).into();
        }
        body["states"] = self.states.iter().map(|s| (s.name.to_owned(), self.options(s))).collect();
        let mut events = Object::new();
        for (name, fields) in &self.events {
            let options = fields.as_ref().map_or(json!({}), |fields| json!({"payload": keep(fields)}));
            events.insert((*name).into(), options);
        }
        body["events"] = Json::Object(events);
        body["transitions"] = self.moves.iter().map(Move::transition).collect();
    }

    fn options(&self, state: &State) -> Json {
        let mut options = json!({});
        if let Some((text, _)) = state.timeout {
            options["timeout"] = text.into();
        }
        if state.retries > 0 {
            options["retries"] = state.retries.into();
        }
        match &state.parallel {
            None => options["emits"] = self.emits(state.name).into(),
            Some(parallel) => {
                options["parallel"] = parallel.workflows.clone().into();
                options["join"] = if parallel.any { "any" } else { "all" }.into();
                options["inputs"] = parallel.inputs.clone().into();
            }
        }
        options
    }
}

impl Move {
    fn transition(&self) -> Json {
        let mut out = json!({"from": self.from, "to": self.to});
        if self.from != "__start__" {
            out["on"] = self.on.into();
        }
        if let Some(when) = &self.when {
            out["when"] = when.text().into();
        }
        out
    }
}

impl When {
    fn text(&self) -> String {
        match self {
            Self::Above(key, n) => format!("ctx['{key}'] > {n}"),
            Self::Said(field) => format!("payload.{field} == true"),
            Self::Fewer(event, n) => format!("count('{event}') < {n}"),
            Self::AllCompleted => "branches.all(status == 'completed')".to_owned(),
            Self::AnyBranchSaid(field) => format!("branches.any(payload.{field} == true)"),
            Self::Not(inner) => format!("not ({})", inner.text()),
        }
    }

    pub(crate) fn holds(&self, facts: &Facts<'_>) -> bool {
        let yes = Some(&Json::Bool(true));
        let branches = || facts.payload.get("branches").and_then(Json::as_array).into_iter().flatten();
        match self {
            Self::Above(key, n) => facts.context.get(*key).and_then(Json::as_i64).is_some_and(|is| is > *n),
            Self::Said(field) => facts.payload.get(*field) == yes,
            Self::Fewer(event, n) => (facts.count)(event) < *n,
            Self::AllCompleted => branches().all(|b| b["status"] == "completed"),
            Self::AnyBranchSaid(field) => branches().any(|b| b["payload"].get(*field) == yes),
            Self::Not(inner) => !inner.holds(facts),
        }
    }
}

impl Fields {
    fn fits(&self, object: &Object) -> bool {
        let good = |field: &Field| match object.get(field.name) {
            None => !field.required,
            Some(value) if field.kind == "integer" => value.is_i64(),
            Some(value) => value.is_boolean(),
        };
        object.len() <= self.most && self.fields.iter().all(good)
    }

    fn schema(&self) -> Json {
        let mut properties = Object::new();
        for field in &self.fields {
            let mut schema = json!({"type": field.kind});
            if let Some(default) = field.default {
                schema["default"] = default.into();
            }
            properties.insert(field.name.into(), schema);
        }
        let required: Vec<_> = self.fields.iter().filter(|f| f.required).map(|f| f.name).collect();
        json!({
            "type": "object", "properties": properties, "required": required, "maxProperties": self.most,
        })
    }
}
