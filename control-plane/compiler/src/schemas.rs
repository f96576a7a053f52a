//! Schemas: the short form into the JSON Schema that the original's compiler makes of such a model, and the checks of both
//! forms.

use std::iter;
use std::ops::Range;

use serde_json::json;
use stateous_engine::graph::check_schema;
use stateous_engine::json::{Json, Object};
use toml::de::{DeTable, DeValue};

use crate::definition::{At, Definition, Schema};
use crate::diagnostic::{Problems, nearest};
use crate::source::{Value, entries, table, to_json};

const FULL: &str = "json-schema";
const TYPES: [&str; 4] = ["string", "integer", "number", "boolean"];
/// What people write who know the types from elsewhere.
const OTHER_NAMES: [(&str, &str); 8] = [
    ("str", "string"),
    ("text", "string"),
    ("int", "integer"),
    ("i64", "integer"),
    ("float", "number"),
    ("double", "number"),
    ("f64", "number"),
    ("bool", "boolean"),
];
const FORMS: &str = "a field is \"string\", \"integer\", \"number\", \"boolean\" or a schema's name, with ? when it may be \
                     absent, or a list of one of these: [\"string\"]; for anything else give the whole schema under \
                     json-schema";

/// The schemas of `[schemas]`, each on its own.
pub(crate) fn read(value: &Value<'_>, problems: &mut Problems<'_>) -> Vec<Schema> {
    let mut found = Vec::new();
    for (name, value) in table(value, problems).map(entries).unwrap_or_default() {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.value.chars().all(plain)
            || name.value.starts_with(|c: char| c.is_ascii_digit())
            || name.value.is_empty()
        {
            let message = format!("'{}' is not a schema name", name.value);
            let problem = problems.error("bad_name", name.at.clone(), message);
            problem.help("a schema name is letters, digits and '_', not a digit first: \"Ticket\"");
        } else if TYPES.contains(&name.value.as_str()) {
            problems.error("bad_name", name.at.clone(), format!("'{}' is a type of its own", name.value));
        }
        let Some(fields) = table(value, problems) else { continue };
        // What was not understood still counts as declared, so that nobody who names it is told that it is missing.
        let mut schema = Schema { name, json: Json::Null, refs: Vec::new(), fields: None };
        if fields.contains_key(FULL) {
            full(fields, &mut schema, problems);
        } else {
            short(fields, &mut schema, problems);
        }
        found.push(schema);
    }
    found
}

fn full(fields: &DeTable<'_>, schema: &mut Schema, problems: &mut Problems<'_>) {
    for (key, value) in entries(fields) {
        if key.value == FULL {
            let json = table(value, problems).and_then(|_| to_json(value, problems));
            schema.json = json.unwrap_or_default();
            collect_refs(&schema.json, &value.span(), &mut schema.refs);
        } else {
            let problem = problems.error("bad_schema", key.at, format!("'{}' beside {FULL}", key.value));
            problem
                .help("a schema is either fields or one json-schema; move the field into its 'properties'");
        }
    }
    let json = &schema.json;
    let open = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties", "additionalProperties", "if"];
    let told = json.get("properties").and_then(Json::as_object);
    let told = told.filter(|_| open.iter().all(|key| json.get(key).is_none_or(|j| *j == Json::Bool(false))));
    schema.fields = told.map(|properties| properties.keys().cloned().collect());
}

/// The other schemas that a full one refers to. TOML does not tell where inside, so all stand at its place.
fn collect_refs(json: &Json, at: &Range<usize>, refs: &mut Vec<At<String>>) {
    match json {
        Json::Array(list) => list.iter().for_each(|item| collect_refs(item, at, refs)),
        Json::Object(object) => {
            if let Some(path) =
                object.get("$ref").and_then(Json::as_str).and_then(|r| r.strip_prefix("#/schemas/"))
            {
                let name = path.split('/').next().unwrap_or_default().to_owned();
                refs.push(At { value: name, at: at.clone() });
            }
            object.values().for_each(|value| collect_refs(value, at, refs));
        }
        _ => {}
    }
}

fn short(table: &DeTable<'_>, schema: &mut Schema, problems: &mut Problems<'_>) {
    let (mut properties, mut required) = (Object::new(), Vec::new());
    for (field, value) in entries(table) {
        match field_type(value, &mut schema.refs) {
            Some((mut json, optional)) => {
                if optional {
                    json = json!({ "anyOf": [json, { "type": "null" }], "default": null });
                } else {
                    required.push(Json::String(field.value.clone()));
                }
                properties.insert(field.value, json);
            }
            None => {
                let message = format!("the field '{}' has no type that the short form knows", field.value);
                problems.error("bad_field", value.span(), message).help(FORMS);
                properties.insert(field.value, Json::Null);
            }
        }
    }
    schema.fields = Some(properties.keys().cloned().collect());
    let mut json = Object::new();
    json.insert("properties".to_owned(), Json::Object(properties));
    if !required.is_empty() {
        json.insert("required".to_owned(), Json::Array(required));
    }
    json.insert("type".to_owned(), "object".into());
    schema.json = Json::Object(json);
}

/// The JSON Schema of a field, and whether the field may be absent.
fn field_type(value: &Value<'_>, refs: &mut Vec<At<String>>) -> Option<(Json, bool)> {
    match value.get_ref() {
        DeValue::String(text) => {
            let (name, optional) = text.strip_suffix('?').map_or((text.as_ref(), false), |name| (name, true));
            if name.is_empty() {
                return None;
            }
            if TYPES.contains(&name) {
                return Some((json!({ "type": name }), optional));
            }
            refs.push(At { value: name.to_owned(), at: value.span() });
            Some((json!({ "$ref": format!("#/schemas/{name}") }), optional))
        }
        DeValue::Array(list) => {
            let [item] = &list[..] else { return None };
            let (mut items, nullable) = field_type(item, refs)?;
            if nullable {
                items = json!({ "anyOf": [items, { "type": "null" }] });
            }
            Some((json!({ "items": items, "type": "array" }), false))
        }
        _ => None,
    }
}

/// Checks that every schema named exists and can be used, and answers with those that the workflow needs, sorted by name.
pub(crate) fn check(definition: &Definition, problems: &mut Problems<'_>) -> Object {
    let names = || definition.schemas.iter().map(|s| s.name.value.as_str());
    let payloads = definition.flows().flat_map(|f| &f.events).filter_map(|e| e.payload.as_ref());
    for named in definition.flows().filter_map(|f| f.context.as_ref()).chain(payloads) {
        if definition.schema(&named.value).is_none() {
            let problem = problems.error(
                "unknown_schema",
                named.at.clone(),
                format!("there is no schema '{}'", named.value),
            );
            problem.help(match nearest(&named.value, names()) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("add it: [schemas.{}]", named.value),
            });
        }
    }
    for named in definition.schemas.iter().flat_map(|s| &s.refs) {
        if definition.schema(&named.value).is_none() {
            let message = format!("'{}' is neither a type nor a schema", named.value);
            let problem = problems.error("unknown_type", named.at.clone(), message);
            let lower = named.value.to_lowercase();
            let known = OTHER_NAMES.iter().find(|(other, _)| *other == lower).map(|(_, ours)| *ours);
            let near = known.or_else(|| nearest(&named.value, TYPES.into_iter().chain(names())));
            problem.help(near.map_or_else(|| FORMS.to_owned(), |near| format!("did you mean \"{near}\"?")));
        }
    }
    let used = reached(definition);
    for schema in definition.schemas.iter().filter(|s| !used.contains(&s.name.value.as_str())) {
        let name = &schema.name.value;
        let message = format!("nothing uses the schema '{name}'; it is left out of the graph file");
        let problem = problems.warning("unused_schema", schema.name.at.clone(), message);
        problem.help(format!(
            "name it where it belongs: context = \"{name}\", or payload = \"{name}\" of an event"
        ));
    }
    let mut sorted: Vec<_> =
        definition.schemas.iter().filter(|s| used.contains(&s.name.value.as_str())).collect();
    sorted.sort_by(|a, b| a.name.value.cmp(&b.name.value));
    let schemas: Object = sorted.iter().map(|s| (s.name.value.clone(), s.json.clone())).collect();
    if !problems.have_errors() {
        for schema in sorted {
            if let Err(problem) = check_schema(&schema.name.value, &schemas) {
                problems.error("bad_schema", schema.name.at.clone(), problem);
            }
        }
    }
    schemas
}

/// The names of the schemas that the context and the payloads need, directly or through others.
fn reached(definition: &Definition) -> Vec<&str> {
    let mut open = Vec::new();
    for flow in iter::once(&definition.main).chain(definition.used_children()) {
        open.extend(flow.context.iter().map(|context| context.value.as_str()));
        open.extend(flow.all_events().into_iter().filter_map(|(_, payload)| payload));
    }
    let mut found = Vec::new();
    while let Some(name) = open.pop() {
        if !found.contains(&name) {
            found.push(name);
            let refs = definition.schema(name).into_iter().flat_map(|s| &s.refs);
            open.extend(refs.map(|r| r.value.as_str()));
        }
    }
    found
}
