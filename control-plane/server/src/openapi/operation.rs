//! How an operation is written down, and the few schemas that are no wire types.

use axum::http::Method;
use stateous_api::Code;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::{OneOfBuilder, RefOr, Schema};
use utoipa::{PartialSchema as _, ToSchema};

use super::reference;

/// One method of one path.
pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) about: &'static str,
    pub(super) fields: Vec<Field>,
    pub(super) body: Option<Body>,
    /// Whether an empty body means something, too.
    pub(super) empty: bool,
    pub(super) answers: Vec<Answer>,
    codes: Vec<Code>,
}

/// A field of a query, or a header.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) schema: RefOr<Schema>,
    pub(super) required: bool,
    pub(super) header: bool,
}

/// What a request or an answer carries.
pub(super) enum Body {
    Json(Box<RefOr<Schema>>),
    /// The bytes of a component.
    Component,
}

/// A success.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) about: &'static str,
    pub(super) body: Option<Body>,
}

impl Operation {
    pub(super) fn new(method: Method, path: &'static str, id: &'static str, about: &'static str) -> Self {
        Self {
            method,
            path,
            id,
            about,
            fields: Vec::new(),
            body: None,
            empty: false,
            answers: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// The part of the API that it belongs to: the first part of its path.
    pub(super) fn tag(&self) -> &'static str {
        self.path.split('/').nth(1).unwrap_or_default()
    }

    /// The names in its path.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Codes that it can be refused with, besides those of any operation. What is in the path and in the body brings its own.
    pub(super) fn codes(&self) -> impl Iterator<Item = Code> + '_ {
        let named = self.names().find_map(|name| match name {
            "token" => Some(Code::TokenNotFound),
            "task" => Some(Code::TaskNotFound),
            _ => None,
        });
        let read = match self.body {
            Some(Body::Json(_)) => [Some(Code::BadRequest), Some(Code::InvalidBody)],
            Some(Body::Component) => [Some(Code::BadRequest), None],
            None => [None, None],
        };
        let asked = (!self.fields.is_empty()).then_some(Code::InvalidArgument);
        named.into_iter().chain(read.into_iter().flatten()).chain(asked).chain(self.codes.iter().copied())
    }

    pub(super) fn field(mut self, name: &'static str, schema: RefOr<Schema>, about: &'static str) -> Self {
        self.fields.push(Field { name, about, schema, required: false, header: false });
        self
    }

    /// The last field must be given.
    pub(super) fn required(mut self) -> Self {
        if let Some(field) = self.fields.last_mut() {
            field.required = true;
        }
        self
    }

    pub(super) fn header(mut self, name: &'static str, about: &'static str) -> Self {
        self.fields.push(Field { name, about, schema: text(), required: false, header: true });
        self
    }

    pub(super) fn takes<T: ToSchema>(mut self) -> Self {
        self.body = Some(Body::Json(Box::new(reference::<T>())));
        self
    }

    pub(super) fn takes_component(mut self) -> Self {
        self.body = Some(Body::Component);
        self
    }

    /// An empty body means something, too.
    pub(super) fn or_nothing(mut self) -> Self {
        self.empty = true;
        self
    }

    pub(super) fn answers(self, status: u16, schema: RefOr<Schema>, about: &'static str) -> Self {
        self.with(status, Some(Body::Json(Box::new(schema))), about)
    }

    pub(super) fn answers_component(self, status: u16, about: &'static str) -> Self {
        self.with(status, Some(Body::Component), about)
    }

    pub(super) fn answers_nothing(self, status: u16, about: &'static str) -> Self {
        self.with(status, None, about)
    }

    fn with(mut self, status: u16, body: Option<Body>, about: &'static str) -> Self {
        self.answers.push(Answer { status, about, body });
        self
    }

    pub(super) fn refused(mut self, codes: &[Code]) -> Self {
        self.codes.extend_from_slice(codes);
        self
    }
}

pub(super) fn text() -> RefOr<Schema> {
    String::schema()
}

pub(super) fn flag() -> RefOr<Schema> {
    bool::schema()
}

pub(super) fn number(least: u64, most: u64) -> RefOr<Schema> {
    let bounds = ObjectBuilder::new().schema_type(Type::Integer);
    // Numbers beyond what a float tells apart are not bounded in the document.
    let most = (most < 1 << 53).then_some(most as f64);
    bounds.minimum(Some(least as f64)).maximum(most).into()
}

pub(super) fn list<T: ToSchema>() -> RefOr<Schema> {
    ArrayBuilder::new().items(reference::<T>()).into()
}

pub(super) fn either<A: ToSchema, B: ToSchema>() -> RefOr<Schema> {
    RefOr::T(OneOfBuilder::new().item(reference::<A>()).item(reference::<B>()).into())
}

pub(super) fn object() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Object).into()
}
