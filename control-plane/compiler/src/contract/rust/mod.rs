//! A contract as Rust: serde types, and one enum of the events.

mod names;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use names::{Names, unique, variant, variants};

use super::{Contract, Definition, Emitted, Field, Shape, Type};

pub use names::identifier;

/// The enum of the events that the routine can end with.
pub const OUTCOME: &str = "Outcome";

/// A contract as the text of a module.
#[must_use]
pub fn module(contract: &Contract) -> String {
    let names = Names::of(contract);
    let mut out = format!(
        "//! What the state `{}` is given and what it can end with, as the workflow `{}` says it.\n\
         //!\n\
         //! `stateous init` wrote this file and writes it anew when the workflow changed: do not edit it.\n\
         //! Made from {}.\n\n\
         #![allow(dead_code, reason = \"a routine need not use all of its contract\")]\n\n",
        contract.state, contract.workflow, contract.checksum,
    );
    let body = body(contract, &names);
    if body.contains("BTreeMap<") {
        out.push_str("use std::collections::BTreeMap;\n\n");
    }
    if body.contains("Deserialize") {
        out.push_str("use serde::{Deserialize, Serialize};\n");
    }
    out.push_str("use stateous_routine::Event;\n");
    if body.contains("Value") && body.split(|c: char| !c.is_alphanumeric()).any(|word| word == "Value") {
        out.push_str("use stateous_routine::serde_json::Value;\n");
    }
    out + &body
}

/// The Rust name of the context's type in [`module`]; `None` for a context that is any object.
#[must_use]
pub fn context(contract: &Contract) -> Option<String> {
    let names = Names::of(contract);
    contract.context.as_ref().map(|kind| names.kind(kind))
}

/// The variants of [`OUTCOME`], as a routine writes them: `Outcome::Submitted`, `Outcome::Reviewed(Verdict { .. })`.
#[must_use]
pub fn outcomes(contract: &Contract) -> Vec<String> {
    let names = Names::of(contract);
    let variants = variants(&contract.emits);
    let shown = |(emitted, variant): (&Emitted, &String)| match &emitted.payload {
        None => format!("{OUTCOME}::{variant}"),
        Some(kind) => format!("{OUTCOME}::{variant}({})", names.kind(kind)),
    };
    contract.emits.iter().zip(&variants).map(shown).collect()
}

fn body(contract: &Contract, names: &Names<'_>) -> String {
    let mut out = String::new();
    for definition in &contract.types {
        out.push('\n');
        define(definition, contract, names, &mut out);
    }
    out.push_str("\n/// What the routine can end with.\n#[derive(Debug, Event)]\n");
    if contract.emits.is_empty() {
        // No transition leaves the state on an event of the workflow.
        let _ = writeln!(out, "pub enum {OUTCOME} {{}}");
        return out;
    }
    let _ = writeln!(out, "pub enum {OUTCOME} {{");
    for (emitted, variant) in contract.emits.iter().zip(variants(&contract.emits)) {
        let payload =
            emitted.payload.as_ref().map(|kind| format!("({})", names.kind(kind))).unwrap_or_default();
        let _ = writeln!(out, "    #[event({:?})]\n    {variant}{payload},", emitted.event);
    }
    out.push_str("}\n");
    out
}

fn define(definition: &Definition, contract: &Contract, names: &Names<'_>, out: &mut String) {
    let name = names.rust(&definition.name);
    comment(definition.about.as_deref(), "", out);
    // Writing to a String cannot fail.
    let _ = match &definition.shape {
        Shape::Record(fields) => {
            let _ = writeln!(
                out,
                "#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]\npub struct {name} {{"
            );
            let mut used = BTreeSet::new();
            for field in fields {
                member(field, &definition.name, contract, names, &mut used, out);
            }
            writeln!(out, "}}")
        }
        Shape::Choice(texts) => {
            let _ = writeln!(
                out,
                "#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]\npub enum {name} {{"
            );
            let mut used = BTreeSet::new();
            for (at, text) in texts.iter().enumerate() {
                let variant = unique(&variant(text, at), "", &mut used);
                let _ = writeln!(out, "    #[serde(rename = {text:?})]\n    {variant},");
            }
            writeln!(out, "}}")
        }
        // An alias that leads back to itself is no type in Rust.
        Shape::Alias(kind) if leads_to(&definition.name, kind, contract) => {
            writeln!(out, "pub type {name} = Value;")
        }
        Shape::Alias(kind) => writeln!(out, "pub type {name} = {};", names.kind(kind)),
    };
}

fn member(
    field: &Field,
    owner: &str,
    contract: &Contract,
    names: &Names<'_>,
    used: &mut BTreeSet<String>,
    out: &mut String,
) {
    comment(field.about.as_deref(), "    ", out);
    let ident = unique(&identifier(&field.key), "_", used);
    let mut settings = Vec::new();
    if ident != field.key {
        settings.push(format!("rename = {:?}", field.key));
    }
    let mut kind = names.kind(&field.kind);
    if contains_itself(owner, &field.kind, contract) {
        kind = match kind.strip_prefix("Option<") {
            Some(inner) => format!("Option<Box<{inner}>"),
            None => format!("Box<{kind}>"),
        };
    }
    if !field.is_required {
        if !kind.starts_with("Option<") {
            kind = format!("Option<{kind}>");
        }
        settings.push("default".to_owned());
        settings.push("skip_serializing_if = \"Option::is_none\"".to_owned());
    }
    if !settings.is_empty() {
        let _ = writeln!(out, "    #[serde({})]", settings.join(", "));
    }
    let _ = writeln!(out, "    pub {ident}: {kind},");
}

fn comment(about: Option<&str>, indent: &str, out: &mut String) {
    if let Some(about) = about {
        let _ = writeln!(out, "{indent}/// {about}");
    }
}

/// Whether a value of `owner` would hold another one in itself, without a list or a map between: Rust wants a box there.
fn contains_itself(owner: &str, kind: &Type, contract: &Contract) -> bool {
    let mut seen = BTreeSet::new();
    let mut left = vec![kind];
    while let Some(kind) = left.pop() {
        match kind {
            Type::Nullable(inner) => left.push(inner),
            Type::Named(name) if name == owner => return true,
            Type::Named(name) if seen.insert(name) => {
                match contract.types.iter().find(|one| &one.name == name).map(|one| &one.shape) {
                    Some(Shape::Record(fields)) => left.extend(fields.iter().map(|field| &field.kind)),
                    Some(Shape::Alias(kind)) => left.push(kind),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    false
}

/// Whether an alias named `owner` leads back to itself through other aliases alone.
fn leads_to(owner: &str, kind: &Type, contract: &Contract) -> bool {
    let mut seen = BTreeSet::new();
    let mut left = vec![kind];
    while let Some(kind) = left.pop() {
        match kind {
            Type::Nullable(inner) | Type::List(inner) | Type::Map(inner) => left.push(inner),
            Type::Named(name) if name == owner => return true,
            Type::Named(name) if seen.insert(name) => {
                let found = contract.types.iter().find(|one| &one.name == name);
                if let Some(Definition { shape: Shape::Alias(kind), .. }) = found {
                    left.push(kind);
                }
            }
            _ => {}
        }
    }
    false
}
