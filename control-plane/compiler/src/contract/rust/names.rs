//! Names: what JSON, events and schemas are called in Rust, without a clash.

use std::collections::{BTreeSet, HashMap};

use super::OUTCOME;
use crate::contract::shapes::capitals;
use crate::contract::{Contract, Emitted, Type};

/// Names that a generated type cannot have: the SDK's prelude, what the types below are written with, and the enum.
const TAKEN: [&str; 22] = [
    "Context",
    "Event",
    "Failure",
    "Result",
    "Waiting",
    "Deserialize",
    "Serialize",
    "Value",
    "Option",
    "Some",
    "None",
    "Ok",
    "Err",
    "Vec",
    "String",
    "Box",
    "BTreeMap",
    "Self",
    "Send",
    "Sync",
    "Default",
    OUTCOME,
];
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "union",
];

/// A name as an identifier of a function, field or module.
#[must_use]
pub fn identifier(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if plain.chars().all(|c| c == '_') || plain.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("field_{plain}");
    }
    if KEYWORDS.contains(&plain.as_str()) { format!("{plain}_") } else { plain }
}

/// The variants for events, in their order: two names that differ only in `-` and `_` get a number.
pub(super) fn variants(emits: &[Emitted]) -> Vec<String> {
    let mut used = BTreeSet::new();
    emits
        .iter()
        .enumerate()
        .map(|(at, emitted)| unique(&variant(&emitted.event, at), "", &mut used))
        .collect()
}

pub(super) fn variant(text: &str, at: usize) -> String {
    let name = capitals(text);
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.is_ascii() && name != "Self";
    if fits { name } else { format!("Choice{}", at + 1) }
}

/// The name, with a number after it when it is used already.
pub(super) fn unique(name: &str, before_number: &str, used: &mut BTreeSet<String>) -> String {
    let mut candidate = name.to_owned();
    let mut n = 2;
    while !used.insert(candidate.clone()) {
        candidate = format!("{name}{before_number}{n}");
        n += 1;
    }
    candidate
}

/// The Rust names of a contract's types.
pub(super) struct Names<'c>(HashMap<&'c str, String>);

impl<'c> Names<'c> {
    pub(super) fn of(contract: &'c Contract) -> Self {
        let mut used: BTreeSet<String> = TAKEN.iter().map(|&name| name.to_owned()).collect();
        let mut names = HashMap::new();
        for definition in &contract.types {
            let plain = capitals(&definition.name);
            let plain = if plain.starts_with(|c: char| c.is_ascii_alphabetic()) && plain.is_ascii() {
                plain
            } else {
                format!("Type{plain}").chars().filter(char::is_ascii).collect()
            };
            let plain = if used.contains(&plain) { format!("{plain}Data") } else { plain };
            names.insert(definition.name.as_str(), unique(&plain, "", &mut used));
        }
        Self(names)
    }
}

impl Names<'_> {
    pub(super) fn rust(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| "Value".to_owned())
    }

    pub(super) fn kind(&self, kind: &Type) -> String {
        match kind {
            Type::Any => "Value".to_owned(),
            Type::Text => "String".to_owned(),
            Type::Integer => "i64".to_owned(),
            Type::Number => "f64".to_owned(),
            Type::Boolean => "bool".to_owned(),
            Type::List(item) => format!("Vec<{}>", self.kind(item)),
            Type::Map(value) => format!("BTreeMap<String, {}>", self.kind(value)),
            Type::Nullable(inner) => format!("Option<{}>", self.kind(inner)),
            Type::Named(name) => self.rust(name),
        }
    }
}
