//! The files that `stateous init` writes: what a person goes on to write is never overwritten, what is generated is
//! written anew.
//!
//! Types come from [`stateous_compiler::contract`]; here is what stands around them. One file a language: it says which
//! files a routine has, and what they say.

mod files;
mod rust;
mod sdk;
mod starter;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use stateous_compiler::contract::Contract;

pub(crate) use files::Files;
pub(crate) use starter::{NEXT_TOKEN, starter};

/// The folder with one folder for each routine.
pub(crate) const ROUTINES: &str = "routines";

/// A language that routines are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    /// Rust, with cargo and the target wasm32-unknown-unknown.
    Rust,
}

impl Language {
    /// What all routines of a folder in this language share: written once, before the first of them.
    pub(crate) fn shared(self, files: &mut Files, sdk: &Sdk) -> anyhow::Result<()> {
        match self {
            Self::Rust => rust::shared(files, sdk),
        }
    }

    /// One routine: its contract is written anew, the rest only where it is not there yet.
    pub(crate) fn routine(self, files: &mut Files, contract: &Contract, sdk: &Sdk) -> anyhow::Result<()> {
        match self {
            Self::Rust => rust::routine(files, contract, sdk, None),
        }
    }
}

/// Where routines take the SDK of their language from.
pub(crate) enum Sdk {
    /// The copy that this executable carries, written beside the routines.
    Carried,
    /// The folder of each language's SDK in a checkout of Stateous, written out so that it holds from wherever a build is
    /// started.
    Checkout(PathBuf),
}

impl Sdk {
    /// The SDKs of a checkout.
    pub(crate) fn of_checkout(checkout: &Path) -> anyhow::Result<Self> {
        let sdk = checkout.join("guest-sdk");
        let found = sdk.canonicalize().with_context(|| {
            format!("{} is no checkout of Stateous: there is no {}", checkout.display(), sdk.display())
        })?;
        Ok(Self::Checkout(found))
    }
}

/// The folder of a routine below [`ROUTINES`]: the state, with its workflow before it when that is one that a parallel
/// state runs. No name has a `.` in it.
pub(crate) fn folder_of(contract: &Contract) -> String {
    contract.told_state().replace('/', ".")
}
