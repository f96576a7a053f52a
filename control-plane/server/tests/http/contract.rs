//! Holds every answer that a test gets against the document of the API: its status and code are among those of the route,
//! and its body is what the schema says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::harness::Answer;

/// The document, with the validators that were made of it.
pub(crate) struct Contract {
    document: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Contract {
    pub(crate) fn new(document: Value) -> Self {
        Self { document, validators: Mutex::default() }
    }

    /// Fails when an answer is not one that the document tells of.
    pub(crate) fn check(&self, method: &str, target: &str, answer: &Answer) {
        let path = target.split('?').next().unwrap();
        let what = format!("{method} {target}: {}", answer.brief());
        let code = serde_json::from_slice::<Value>(&answer.body).ok();
        let code = code.as_ref().and_then(|body| body["code"].as_str());
        // Of the API as a whole: paths and methods that it does not have, and slashes at the end.
        if matches!(code, Some("not_found" | "method_not_allowed" | "foreign_origin")) || answer.status == 307
        {
            return;
        }
        // For operators, and no part of the API.
        if matches!(path, "/healthz" | "/metrics") {
            return;
        }
        let verb = if method == "HEAD" { "get".to_owned() } else { method.to_ascii_lowercase() };
        let patterns = self.document["paths"].as_object().unwrap();
        let (pattern, item) = patterns
            .iter()
            .filter(|(pattern, item)| matches(pattern, path) && item.get(&verb).is_some())
            .max_by_key(|(pattern, _)| pattern.matches('/').count() * 10 - pattern.matches('{').count())
            .unwrap_or_else(|| panic!("no route of the document: {what}"));
        let status = answer.status.to_string();
        let told = &item[&verb]["responses"][&status];
        assert!(told.is_object(), "{pattern} does not tell of this status: {what}");
        if method == "HEAD" {
            return;
        }
        if answer.status >= 400 {
            let words = told["description"].as_str().unwrap();
            let code = code.unwrap_or_else(|| panic!("a refusal without a code: {what}"));
            assert!(words.contains(&format!("`{code}`")), "{pattern} does not tell of this code: {what}");
        }
        let schema = &told["content"]["application/json"]["schema"];
        if schema.is_null() {
            assert_ne!(answer.header("content-type"), Some("application/json"), "{what}");
            return;
        }
        let validator = self.validator(&format!("{verb} {pattern} {status}"), schema);
        let body = answer.json();
        let problems: Vec<String> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{what}\n{}", problems.join("\n"));
    }

    fn validator(&self, key: &str, schema: &Value) -> Arc<Validator> {
        let mut made = self.validators.lock().unwrap();
        let make = || {
            let schema = json!({"allOf": [schema], "components": self.document["components"]});
            Arc::new(jsonschema::draft202012::new(&schema).unwrap())
        };
        Arc::clone(made.entry(key.to_owned()).or_insert_with(make))
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let (wanted, found): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
    wanted.len() == found.len() && wanted.iter().zip(found).all(|(w, f)| w.starts_with('{') || *w == f)
}
