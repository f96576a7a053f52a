//! What can be wrong with an upload: a stable code for programs and a sentence for people.

use std::fmt;

/// One reason why these bytes cannot be a routine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// Stable, for programs.
    pub code: ProblemCode,
    /// For people: what was seen, what was expected, what to do.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(code: ProblemCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// The kinds of [`Problem`]. The spelling that goes out is [`ProblemCode::as_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProblemCode {
    /// More bytes than an upload may have.
    TooLarge,
    /// Not WebAssembly at all.
    NotWasm,
    /// A core module; a routine is a component.
    CoreModule,
    /// Malformed, or it uses a proposal that the host turns off.
    InvalidWasm,
    /// The component does not export `run`.
    NoRun,
    /// `run` is there with another type than the world's.
    WrongRun,
    /// An import that the host does not offer.
    UnknownImport,
    /// An import that the host offers in another version.
    WrongVersion,
    /// An import of ours with functions or types that the host's version does not have.
    WrongImport,
    /// Compiling it could take minutes and gigabytes.
    CompileBomb,
    /// A core module from which no component can be made.
    NotComponentizable,
}

impl ProblemCode {
    /// The spelling in answers and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::NotWasm => "not_wasm",
            Self::CoreModule => "core_module",
            Self::InvalidWasm => "invalid_wasm",
            Self::NoRun => "no_run",
            Self::WrongRun => "wrong_run",
            Self::UnknownImport => "unknown_import",
            Self::WrongVersion => "wrong_version",
            Self::WrongImport => "wrong_import",
            Self::CompileBomb => "compile_bomb",
            Self::NotComponentizable => "not_componentizable",
        }
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
