//! From JSON Schemas to shapes that every typed language has: records, choices, lists, maps.
//!
//! A schema can say more than types can (bounds, patterns, conditions): that part stays with the control plane, which
//! checks every value anyway. What no type fits is [`Type::Any`].

use stateous_engine::json::{Json, Object};

/// A type by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The schema's name; for a record inside another one, both names joined: `TicketOwner`.
    pub name: String,
    /// What the schema's author says about it.
    pub about: Option<String>,
    /// What it is.
    pub shape: Shape,
}

/// What a definition is.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// An object with known fields.
    Record(Vec<Field>),
    /// One of these texts.
    Choice(Vec<String>),
    /// Another name for a type.
    Alias(Type),
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its key in the JSON.
    pub key: String,
    /// What the schema's author says about it.
    pub about: Option<String>,
    /// What it holds; [`Type::Nullable`] when it may be null.
    pub kind: Type,
    /// Whether it is always there.
    pub is_required: bool,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// Any JSON.
    Any,
    /// A text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    List(Box<Type>),
    /// An object whose keys are not known beforehand.
    Map(Box<Type>),
    /// Or null.
    Nullable(Box<Type>),
    /// A [`Definition`].
    Named(String),
}

/// The schemas of a graph, and the definitions made of them so far.
pub(super) struct Shapes<'s> {
    schemas: &'s Object,
    /// In the order in which they were asked for; `None` while one is being made, so that it may name itself.
    made: Vec<(String, Option<Definition>)>,
}

impl<'s> Shapes<'s> {
    pub(super) const fn new(schemas: &'s Object) -> Self {
        Self { schemas, made: Vec::new() }
    }

    /// The type of a schema of the graph.
    pub(super) fn named(&mut self, name: &str) -> Type {
        let schemas = self.schemas;
        match schemas.get(name) {
            Some(schema) => self.define(name, schema),
            None => Type::Any,
        }
    }

    /// All definitions, in the order in which they were first named.
    pub(super) fn into_definitions(self) -> Vec<Definition> {
        self.made.into_iter().filter_map(|(_, definition)| definition).collect()
    }

    fn define(&mut self, name: &str, schema: &Json) -> Type {
        if !self.made.iter().any(|(made, _)| made == name) {
            let at = self.made.len();
            self.made.push((name.to_owned(), None));
            let shape = self.shape(name, schema);
            self.made[at].1 = Some(Definition { name: name.to_owned(), about: about(schema), shape });
        }
        Type::Named(name.to_owned())
    }

    /// A name for what stands inside: neither a schema's nor given already. A schema is looked at once, so each gets one.
    fn free(&self, name: &str) -> String {
        let is_free = |name: &String| {
            !self.schemas.contains_key(name) && !self.made.iter().any(|(made, _)| made == name)
        };
        let numbered = (2..).map(|n| format!("{name}{n}"));
        std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
    }

    fn shape(&mut self, name: &str, schema: &Json) -> Shape {
        if let Some(texts) = choice(schema) {
            return Shape::Choice(texts);
        }
        match fields(schema) {
            Some(properties) => {
                let required = schema.get("required").and_then(Json::as_array);
                let is_required =
                    |key: &str| required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(key)));
                let fields = properties.iter().map(|(key, spec)| Field {
                    key: key.clone(),
                    about: about(spec),
                    kind: self.kind(&format!("{name}{}", capitals(key)), spec),
                    is_required: is_required(key),
                });
                Shape::Record(fields.collect())
            }
            None => Shape::Alias(self.kind(&format!("{name}Value"), schema)),
        }
    }

    /// The type of a schema that stands somewhere inside; a record there becomes a definition of its own.
    fn kind(&mut self, name: &str, schema: &Json) -> Type {
        let refers = schema.get("$ref").and_then(Json::as_str);
        if let Some(target) = refers.and_then(|to| to.strip_prefix("#/schemas/")) {
            return self.named(target);
        }
        if choice(schema).is_some() || fields(schema).is_some() {
            return self.define(&self.free(name), schema);
        }
        let either = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Json::as_array);
        if let Some(either) = either {
            let is_null = |one: &&Json| one.get("type").and_then(Json::as_str) == Some("null");
            let others: Vec<&Json> = either.iter().filter(|one| !is_null(one)).collect();
            return match others[..] {
                [one] if others.len() < either.len() => nullable(self.kind(name, one)),
                [one] => self.kind(name, one),
                _ => Type::Any,
            };
        }
        match schema.get("type") {
            Some(Json::String(kind)) => self.plain(kind, name, schema),
            Some(Json::Array(kinds)) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Json::as_str).collect();
                match kinds[..] {
                    [kind, "null"] | ["null", kind] => nullable(self.plain(kind, name, schema)),
                    [kind] => self.plain(kind, name, schema),
                    _ => Type::Any,
                }
            }
            _ => Type::Any,
        }
    }

    fn plain(&mut self, kind: &str, name: &str, schema: &Json) -> Type {
        match kind {
            "string" => Type::Text,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            "array" => {
                let item =
                    schema.get("items").map_or(Type::Any, |item| self.kind(&format!("{name}Item"), item));
                Type::List(Box::new(item))
            }
            "object" => {
                let value = schema.get("additionalProperties").filter(|spec| spec.is_object());
                let value = value.map_or(Type::Any, |spec| self.kind(&format!("{name}Value"), spec));
                Type::Map(Box::new(value))
            }
            _ => Type::Any,
        }
    }
}

fn nullable(kind: Type) -> Type {
    match kind {
        Type::Any | Type::Nullable(_) => kind,
        other => Type::Nullable(Box::new(other)),
    }
}

/// The known fields of an object; `None` for a schema that is not one, or that says its fields in a roundabout way.
fn fields(schema: &Json) -> Option<&Object> {
    let roundabout = ["allOf", "anyOf", "oneOf", "not", "if", "$ref"];
    let is_plain = roundabout.iter().all(|key| schema.get(key).is_none());
    let is_object = schema.get("type").is_none_or(|kind| kind.as_str() == Some("object"));
    schema
        .get("properties")
        .and_then(Json::as_object)
        .filter(|found| is_plain && is_object && !found.is_empty())
}

/// The texts of an enumeration of texts.
fn choice(schema: &Json) -> Option<Vec<String>> {
    let found = schema.get("enum")?.as_array()?;
    let texts: Option<Vec<String>> = found.iter().map(|one| one.as_str().map(str::to_owned)).collect();
    texts.filter(|texts| !texts.is_empty())
}

fn about(schema: &Json) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    // Marks that turn the direction of text have no place in source code.
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let words: Vec<String> =
        text.split_whitespace().map(|word| word.replace(|c: char| c.is_control() || turns(c), "")).collect();
    let line = words.join(" ");
    (!line.is_empty()).then_some(line)
}

/// `signed_by` as `SignedBy`: one word of a type's name.
pub(super) fn capitals(name: &str) -> String {
    let mut out = String::new();
    let mut begins = true;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            begins = true;
        } else if std::mem::take(&mut begins) {
            out.extend(c.to_uppercase());
        } else {
            out.push(c);
        }
    }
    out
}
