//! JSON Schemas, compiled once at load: Draft 2020-12, without format checks, reaching nothing outside the document.

use std::fmt;
use std::sync::Arc;

use jsonschema::{Draft, Validator};

use super::pattern;
use crate::json::{Json, Object};

/// The most sentences about one value, so that a hostile one cannot make an answer of megabytes.
const ERRORS: usize = 20;
/// The longest sentence, in characters: it quotes the value.
const SENTENCE: usize = 300;

/// One schema of the graph's `schemas`.
#[derive(Clone)]
pub(super) struct Schema {
    name: String,
    validator: Arc<Validator>,
    defaults: Object,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.name).finish()
    }
}

impl Schema {
    /// The schema `name`, whose references lead to the other `schemas`.
    pub(super) fn compile(name: &str, schemas: &Object) -> Result<Self, String> {
        let schema = schemas.get(name).ok_or_else(|| format!("the schema '{name}' is not in 'schemas'"))?;
        let mut root = Object::new();
        root.insert("$ref".into(), format!("#/schemas/{name}").into());
        root.insert("schemas".into(), Json::Object(schemas.clone()));
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(false)
            .with_keyword("pattern", pattern::keyword)
            .offline()
            .build(&Json::Object(root))
            .map_err(|error| {
                format!("the schema '{name}' cannot be used: {}", shortened(&error.to_string()))
            })?;
        let properties = schema.get("properties").and_then(Json::as_object);
        let default = |(field, spec): (&String, &Json)| Some((field.clone(), spec.get("default")?.clone()));
        let defaults = properties.into_iter().flatten().filter_map(default).collect();
        Ok(Self { name: name.to_owned(), validator: Arc::new(validator), defaults })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The defaults of its top-level fields, in their order.
    pub(super) fn defaults(&self) -> &Object {
        &self.defaults
    }

    /// What is wrong with `value`: `<path>: <problem>` each.
    pub(super) fn errors(&self, value: &Object) -> Vec<String> {
        let value = Json::Object(value.clone());
        let errors = self.validator.iter_errors(&value).take(ERRORS);
        errors
            .map(|error| {
                let path: Vec<_> = error.instance_path().segments().map(|s| s.to_string()).collect();
                let path = if path.is_empty() { self.name.clone() } else { path.join(".") };
                format!("{path}: {}", shortened(&error.to_string()))
            })
            .collect()
    }
}

fn shortened(sentence: &str) -> String {
    match sentence.char_indices().nth(SENTENCE) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence.to_owned(),
    }
}
