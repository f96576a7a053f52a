//! `GET /openapi.json`: the API as a document, made from the wire types and from the table of operations.
//!
//! [`operations`] says what each route takes and answers; the types say the rest, with their own comments. Tests hold the
//! table against the router's, and every answer that a test of the API sees against the document.

mod operation;
mod operations;

use std::sync::LazyLock;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde_json::Value;
use stateous_api::{self as api, Code};
use utoipa::openapi::path::{HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, PathsBuilder,
    Ref, RefOr, Required, ResponseBuilder, Schema,
};
use utoipa::{PartialSchema, ToSchema};

use crate::views;
use operation::{Body, Operation};
use operations::operations;

/// What the document says of the API as a whole.
const ABOUT: &str = "The control plane of Stateous. Every refusal is a sentence for people and a code for programs; \
    codes are stable, sentences may change. A path that the API does not have is refused with `not_found` (404), another \
    method than a path takes with `method_not_allowed` (405). What we added to the API of the original Stateous is marked \
    *ours*: clients of the original see only what they know. Fields that are not known are ignored.";

/// Codes that any operation can be refused with.
const ANYWHERE: [Code; 4] = [Code::ForeignOrigin, Code::DatabaseBusy, Code::NotServing, Code::Unexpected];

/// `GET /openapi.json`
pub(crate) async fn document() -> Response {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(value);
    views::json(StatusCode::OK, &*DOCUMENT)
}

/// The document as JSON. Comments of the types are written for rustdoc; their links are words here.
pub(crate) fn value() -> Value {
    let mut value = serde_json::to_value(build()).unwrap_or_default();
    unlink(&mut value);
    value
}

/// Method and path of every operation in the document.
#[cfg(test)]
pub(crate) fn documented() -> Vec<(Method, &'static str)> {
    operations().into_iter().map(|operation| (operation.method, operation.path)).collect()
}

fn build() -> OpenApi {
    let mut paths = PathsBuilder::new().build();
    for operation in operations() {
        let method = match operation.method {
            Method::POST => HttpMethod::Post,
            Method::PUT => HttpMethod::Put,
            _ => HttpMethod::Get,
        };
        paths.add_path_operation(operation.path, vec![method], describe(&operation));
    }
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Stateous")
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some(ABOUT))
                .license(Some(
                    LicenseBuilder::new().name("Apache-2.0").identifier(Some("Apache-2.0")).build(),
                )),
        )
        .paths(paths)
        .components(Some(components()))
        .build()
}

fn describe(operation: &Operation) -> OperationBuilder {
    let mut built = OperationBuilder::new()
        .operation_id(Some(operation.id))
        .tag(operation.tag())
        .summary(Some(operation.about));
    for name in operation.names() {
        let number = name == "task";
        let schema = if number { u64::schema() } else { String::schema() };
        let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path);
        built = built.parameter(parameter.required(Required::True).schema(Some(schema)));
    }
    for field in &operation.fields {
        let parameter = ParameterBuilder::new()
            .name(field.name)
            .parameter_in(if field.header { ParameterIn::Header } else { ParameterIn::Query })
            .required(if field.required { Required::True } else { Required::False })
            .description(Some(field.about))
            .schema(Some(field.schema.clone()));
        built = built.parameter(parameter);
    }
    if let Some(body) = &operation.body {
        let (kind, content) = match body {
            Body::Json(schema) => {
                ("application/json", ContentBuilder::new().schema(Some((**schema).clone())).build())
            }
            Body::Component => ("application/wasm", ContentBuilder::new().build()),
        };
        let required = if operation.empty { Required::False } else { Required::True };
        let request = RequestBodyBuilder::new().required(Some(required)).content(kind, content);
        built = built.request_body(Some(request.build()));
    }
    for answer in &operation.answers {
        let mut response = ResponseBuilder::new().description(answer.about);
        match &answer.body {
            Some(Body::Json(schema)) => {
                let content = ContentBuilder::new().schema(Some((**schema).clone())).build();
                response = response.content("application/json", content);
            }
            Some(Body::Component) => {
                response = response.content("application/wasm", ContentBuilder::new().build());
            }
            None => {}
        }
        built = built.response(answer.status.to_string(), response.build());
    }
    refusals(built, operation)
}

/// One response for each status, which names its codes.
fn refusals(mut built: OperationBuilder, operation: &Operation) -> OperationBuilder {
    let mut by_status = std::collections::BTreeMap::<u16, Vec<Code>>::new();
    for code in operation.codes().chain(ANYWHERE) {
        let mut put = |status: u16| {
            let codes = by_status.entry(status).or_default();
            if !codes.contains(&code) {
                codes.push(code);
            }
        };
        put(code.status());
        // A body that is too large, or came too slowly.
        if code == Code::BadRequest {
            put(408);
            put(413);
        }
    }
    for (status, codes) in by_status {
        let words: Vec<String> =
            codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.about())).collect();
        let content = ContentBuilder::new().schema(Some(reference::<api::RefusalBody>())).build();
        let response =
            ResponseBuilder::new().description(words.join(" ")).content("application/json", content);
        built = built.response(status.to_string(), response.build());
    }
    built
}

/// A reference to a wire type.
fn reference<T: ToSchema>() -> RefOr<Schema> {
    RefOr::Ref(Ref::from_schema_name(T::name()))
}

/// Every wire type of the document.
macro_rules! schemas {
    ($($name:ident),+ $(,)?) => {
        fn components() -> utoipa::openapi::Components {
            ComponentsBuilder::new()$(.schema_from::<api::$name>())+.build()
        }
    };
}

schemas!(
    BatchAnswer,
    BatchKind,
    BatchMessage,
    BatchRequest,
    BatchResult,
    ClaimAnswer,
    ClaimRequest,
    Code,
    Disposition,
    Duplicate,
    Entry,
    EventRecord,
    FireRequest,
    Grant,
    Health,
    HeartbeatAnswer,
    HeartbeatRequest,
    Incarnation,
    MemoryRequest,
    NoteRequest,
    PinnedRoutine,
    PlainGrant,
    RefusalBody,
    Report,
    ReportKind,
    ReturnRequest,
    RoutineInForce,
    RoutineLimits,
    Schedule,
    StartRequest,
    StartedRequest,
    Supervisor,
    Task,
    Token,
);

/// Turns links of rustdoc into the words that they link.
fn unlink(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("[`") => *text = text.replace("[`", "`").replace("`]", "`"),
        Value::Array(items) => items.iter_mut().for_each(unlink),
        Value::Object(fields) => fields.values_mut().for_each(unlink),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_documented() {
        let mut told: Vec<Code> =
            operations().iter().flat_map(|one| one.codes().collect::<Vec<_>>()).collect();
        // Those of the API as a whole are named in what the document says of it.
        told.extend(ANYWHERE);
        for code in [Code::NotFound, Code::MethodNotAllowed] {
            assert!(ABOUT.contains(&format!("`{code}` ({})", code.status())));
            told.push(code);
        }
        let missing: Vec<_> = Code::ALL.iter().filter(|code| !told.contains(code)).collect();
        assert!(missing.is_empty(), "{missing:?} can refuse no operation of the document");
    }

    #[test]
    fn the_page_for_people_names_every_route_and_code() {
        let page = include_str!("../../../../docs/http-api.md");
        for operation in operations() {
            let path = operation.path.replace("{token}", "{id}").replace("{task}", "{n}");
            let route = format!("`{} {path}`", operation.method);
            assert!(page.contains(&route), "docs/http-api.md does not name {route}");
        }
        for code in Code::ALL {
            let row = format!("| `{code}` | {} | {} |", code.status(), code.about());
            assert!(page.contains(&row), "docs/http-api.md lacks the row: {row}");
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let value = value();
        let schemas = value["components"]["schemas"].as_object().unwrap();
        let text = value.to_string();
        for part in text.split("#/components/schemas/").skip(1) {
            let name = &part[..part.find('"').unwrap()];
            assert!(schemas.contains_key(name), "{name}");
        }
        for name in schemas.keys() {
            assert!(text.contains(&format!("#/components/schemas/{name}\"")), "nothing uses {name}");
        }
        let mut ids: Vec<_> = operations().iter().map(|one| one.id).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "two operations with one id");
    }
}
