//! What is wrong, where, and what to do: one mistake for people and for programs.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing is compiled.
    Error,
    /// It compiles, and looks like a slip.
    Warning,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// For programs; stable, listed in the crate's documentation.
    pub code: &'static str,
    /// For people: what was seen and what was expected.
    pub message: String,
    /// The file, as the caller named it.
    pub file: String,
    /// Where in the file, in bytes.
    pub span: Range<usize>,
    /// The line where it begins, counted from 1.
    pub line: usize,
    /// The character of that line where it begins, counted from 1.
    pub column: usize,
    /// A way out, where there is a known one.
    pub help: Option<String>,
}

impl Diagnostic {
    /// The mistake with the lines of `source` it is about, in the manner of rustc. Plain text, no newline at the end.
    #[must_use]
    pub fn render(&self, source: &str) -> String {
        if source.get(self.span.clone()).is_none() {
            return self.to_string();
        }
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let place = AnnotationKind::Primary.span(self.span.clone());
        let snippet = Snippet::source(source).path(self.file.as_str()).annotation(place);
        let mut group = level.primary_title(self.message.as_str()).id(self.code).element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        Renderer::plain().render(&[group])
    }

    /// Adds a way out.
    pub(crate) fn help(&mut self, help: impl Into<String>) {
        self.help = Some(help.into());
    }
}

impl fmt::Display for Diagnostic {
    /// One line: `workflow.toml:3:5: error[unknown_state]: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{}:{}:{}: {severity}[{}]: {}", self.file, self.line, self.column, self.code, self.message)
    }
}

/// All mistakes found so far.
pub(crate) struct Problems<'a> {
    file: &'a str,
    source: &'a str,
    found: Vec<Diagnostic>,
}

impl<'a> Problems<'a> {
    pub(crate) fn new(file: &'a str, source: &'a str) -> Self {
        Self { file, source, found: Vec::new() }
    }

    pub(crate) fn error(
        &mut self,
        code: &'static str,
        at: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(Severity::Error, code, at, message.into())
    }

    pub(crate) fn warning(
        &mut self,
        code: &'static str,
        at: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(Severity::Warning, code, at, message.into())
    }

    fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        span: Range<usize>,
        message: String,
    ) -> &mut Diagnostic {
        let before = self.source.get(..span.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        self.found.push(Diagnostic {
            severity,
            code,
            message,
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span,
            help: None,
        });
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    pub(crate) fn have_errors(&self) -> bool {
        self.found.iter().any(|d| d.severity == Severity::Error)
    }

    /// In the order of the file.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|d| (d.span.start, d.severity));
        self.found
    }
}

/// The one of `known` that `name` was probably meant to be.
pub(crate) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let close = |candidate: &&str| {
        let distance = strsim::damerau_levenshtein(&name.to_lowercase(), &candidate.to_lowercase());
        (distance <= 1.max(candidate.chars().count() / 3)).then_some(distance)
    };
    known.into_iter().filter_map(|k| Some((close(&k)?, k))).min().map(|(_, k)| k)
}

/// The help for an unknown name: the nearest known one, else all of them.
pub(crate) fn suggestion<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    let known: Vec<_> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => Some(format!("did you mean '{near}'?")),
        None if known.is_empty() || known.len() > 12 => None,
        None => Some(format!("known here: {}", known.join(", "))),
    }
}
