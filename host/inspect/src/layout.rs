//! One walk over the bytes of a component: the names at its outside and the SDK's own mark. No types, no
//! validation.

use wasmparser::{Parser, Payload};

use crate::problem::{Problem, ProblemCode};

/// The custom section in which an SDK says who it is: UTF-8 text, its language and version with a space between
/// (`rust 0.1.0`), at most 128 bytes. It may sit in the component or in any core module inside.
pub const SDK_SECTION: &str = "stateous:sdk";

const SDK_BYTES_MAX: usize = 128;

/// What the outside of a component shows.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
    pub(crate) sdk: Option<String>,
}

pub(crate) fn layout(bytes: &[u8]) -> Result<Layout, Problem> {
    let malformed = |e| {
        Problem::new(
            ProblemCode::InvalidWasm,
            format!("it cannot be read as a component: {e}. Build it again"),
        )
    };
    let mut layout = Layout::default();
    let mut depth = 0usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(malformed)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    layout.imports.push(import.map_err(malformed)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    layout.exports.push(export.map_err(malformed)?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) if section.name() == SDK_SECTION && layout.sdk.is_none() => {
                layout.sdk = mark(section.data());
            }
            _ => {}
        }
    }
    Ok(layout)
}

/// The mark is shown in listings and logs, so anything but a short line of plain text is ignored.
fn mark(data: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(data.get(..SDK_BYTES_MAX).unwrap_or(data)).ok()?.trim();
    (!text.is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned())
}
