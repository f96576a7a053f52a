//! Why a component could not be prepared for running.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use stateous_inspect::Problem;

/// Why [`crate::Runtime::prepare`] failed. Cheap to clone: those who wait for the same digest get the same
/// answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PrepareError {
    /// The bytes could not be had. Worth another try.
    #[error("the component {digest} could not be fetched")]
    Fetch {
        /// What was asked for.
        digest: String,
        /// What the fetch said.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// What came is something else than what was asked for.
    #[error(
        "the component {expected} was asked for, but {actual} came: the digest does not match, so it \
         is not run"
    )]
    WrongDigest {
        /// What was asked for.
        expected: String,
        /// The digest of what came, or what is wrong with the one asked for.
        actual: String,
    },
    /// It is no component, or one that must not be compiled.
    #[error("the component {digest} cannot be run: {problem}")]
    Refused {
        /// Which.
        digest: String,
        /// What is wrong with it.
        problem: Problem,
    },
    /// The compiler refused it, or crashed.
    #[error("the component {digest} does not compile: {message}")]
    Compile {
        /// Which.
        digest: String,
        /// The compiler's words.
        message: String,
    },
    /// Compiling it took more than it may.
    #[error("the component {digest} takes too much to compile: {message}")]
    CompileLimit {
        /// Which.
        digest: String,
        /// Which bound it met.
        message: String,
    },
    /// It compiles, but it does not fit our world or the bounds of the sandbox.
    #[error(
        "the component {digest} does not fit this host: {message}. Build it smaller, or with an \
         SDK for this host"
    )]
    DoesNotFit {
        /// Which.
        digest: String,
        /// What does not fit.
        message: String,
    },
    /// A file of this machine is no routine.
    #[error("{} cannot be run: {why}", path.display())]
    Local {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Not the component's fault: the host could not do its part. Worth another try.
    #[error("the component {digest} could not be prepared: {message}")]
    Host {
        /// Which.
        digest: String,
        /// What went wrong.
        message: String,
    },
}

impl PrepareError {
    /// Stable, for programs. A component that cannot be run has the code of its [`Problem`].
    pub fn code(&self) -> &'static str {
        match self {
            Self::Fetch { .. } => "fetch_failed",
            Self::WrongDigest { .. } => "wrong_digest",
            Self::Refused { problem, .. } => problem.code.as_str(),
            Self::Compile { .. } => "compile_failed",
            Self::CompileLimit { .. } => "compile_limit",
            Self::DoesNotFit { .. } => "does_not_fit",
            Self::Local { .. } => "local_component",
            Self::Host { .. } => "host",
        }
    }

    /// Whether the same component can fare better next time.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Fetch { .. }
                | Self::WrongDigest { .. }
                | Self::Host { .. }
                | Self::CompileLimit { .. }
                | Self::Local { .. }
        )
    }
}
