//! Which values a schema lets a guard read.

use stateous_engine::json::{Json, Object};

use super::{Atom, Where};

/// How many references may lead to a schema before it counts as anything.
const REFERENCES: usize = 16;

/// A kind of value, as a set of one.
pub(super) type Kinds = u8;
pub(super) const INTEGER: Kinds = 1;
pub(super) const NUMBER: Kinds = 2;
pub(super) const STRING: Kinds = 4;
pub(super) const BOOLEAN: Kinds = 8;
pub(super) const NULL: Kinds = 16;
pub(super) const OBJECT: Kinds = 32;
pub(super) const ARRAY: Kinds = 64;
/// Nothing is known: every kind.
const ANY: Kinds = 127;

/// The values that one thing can have.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Domain {
    pub(super) kinds: Kinds,
    /// Only these, and null if `kinds` says so.
    pub(super) values: Option<Vec<Json>>,
    /// No integer below it.
    pub(super) minimum: Option<u64>,
}

impl Domain {
    fn of(kinds: Kinds) -> Self {
        Self { kinds, values: None, minimum: None }
    }

    pub(super) fn has(&self, kinds: Kinds) -> bool {
        self.kinds & kinds != 0
    }
}

impl Where<'_> {
    /// What `atom` can be.
    pub(super) fn domain(&self, atom: &Atom) -> Domain {
        match atom {
            Atom::Count(event) => {
                Domain { minimum: Some(u64::from(event == self.event)), ..Domain::of(INTEGER) }
            }
            // A context gets the defaults of its schema when the token starts, a payload never does.
            Atom::Context(key) => self.field(self.context, key, true),
            Atom::Payload(field) => self.field(self.payload, field, false),
        }
    }

    fn field(&self, schema: Option<&Json>, name: &str, defaults: bool) -> Domain {
        let found = schema.and_then(|s| Some((s, s.get("properties")?.get(name)?)));
        let Some((schema, field)) = found else { return Domain::of(ANY) };
        let mut domain = self.of_schema(field, REFERENCES);
        let required = schema.get("required").and_then(Json::as_array);
        let required = required.is_some_and(|names| names.iter().any(|n| n.as_str() == Some(name)));
        let given = required || defaults && field.get("default").is_some();
        if !given {
            // What is absent reads as null.
            domain.kinds |= NULL;
        }
        domain
    }

    fn of_schema(&self, schema: &Json, references: usize) -> Domain {
        let Some(schema) = schema.as_object() else { return Domain::of(ANY) };
        if let Some(reference) = schema.get("$ref") {
            let name = reference.as_str().and_then(|r| r.strip_prefix("#/schemas/"));
            let target = name.and_then(|name| self.schemas.get(name)).and_then(Json::as_object);
            let Some(target) = target.filter(|_| references > 0) else { return Domain::of(ANY) };
            let mut merged: Object = target.clone();
            merged
                .extend(schema.iter().filter(|(key, _)| *key != "$ref").map(|(k, v)| (k.clone(), v.clone())));
            return self.of_schema(&Json::Object(merged), references - 1);
        }
        if let Some(parts) = ["anyOf", "oneOf"].into_iter().find_map(|key| schema.get(key)) {
            let parts = parts.as_array().map_or(&[][..], Vec::as_slice);
            return either(parts.iter().map(|part| self.of_schema(part, references)).collect());
        }
        let constant = || schema.get("const").map(|value| vec![value.clone()]);
        if let Some(values) = schema.get("enum").and_then(Json::as_array).cloned().or_else(constant) {
            let kinds = values.iter().filter(|v| !v.is_null()).map(kind_of_value).fold(0, |a, b| a | b);
            return Domain { kinds, values: Some(values), minimum: None };
        }
        match schema.get("type") {
            Some(Json::String(name)) => Domain::of(kind(name)),
            Some(Json::Array(names)) => {
                let kinds = names.iter().map(|name| name.as_str().map_or(ANY, kind));
                Domain::of(kinds.fold(0, |a, b| a | b))
            }
            _ => Domain::of(ANY),
        }
    }
}

/// What any of `parts` allows.
fn either(parts: Vec<Domain>) -> Domain {
    let kinds = parts.iter().fold(0, |kinds, part| kinds | part.kinds);
    if parts.is_empty() || parts.iter().any(|part| part.kinds == ANY && part.values.is_none()) {
        return Domain::of(ANY);
    }
    let listed = parts.iter().all(|part| part.values.is_some() || part.kinds == NULL);
    if !listed || parts.iter().all(|part| part.values.is_none()) {
        return Domain::of(kinds);
    }
    let values = parts.into_iter().filter_map(|part| part.values).flatten().collect();
    Domain { kinds, values: Some(values), minimum: None }
}

fn kind(name: &str) -> Kinds {
    match name {
        "integer" => INTEGER,
        "number" => NUMBER,
        "string" => STRING,
        "boolean" => BOOLEAN,
        "null" => NULL,
        "object" => OBJECT,
        "array" => ARRAY,
        _ => ANY,
    }
}

fn kind_of_value(value: &Json) -> Kinds {
    match value {
        Json::Null => NULL,
        Json::Bool(_) => BOOLEAN,
        Json::Number(_) => NUMBER,
        Json::String(_) => STRING,
        Json::Array(_) => ARRAY,
        Json::Object(_) => OBJECT,
    }
}
