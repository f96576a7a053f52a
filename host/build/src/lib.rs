//! Makes components of routines' sources: one folder, one routine, in whichever language its files are in.
//!
//! It owns how each language's compiler is found and called, what is wrong when it is not there, and what is noted on a
//! component (the SDK's mark, and for languages whose tools are not reproducible the digest of the sources). It leaves to
//! others: where a component goes and what it does when it runs (`stateous-cli`), how tools come onto a machine without
//! them (`cargo xtask guests`), and what a component must look like (`stateous-inspect`).
//!
//! Compilers write their mistakes to the terminal themselves.

mod error;
mod project;
mod tools;

mod c;
mod go;
mod javascript;
mod python;
pub mod rust;

mod sdk;
mod source;

pub use error::BuildError;
pub use project::{Built, Language, Options, Project, projects};
pub use sdk::{SdkFile, sdk_files};
pub use tools::{GO, JS_TOOLS, NODE, PYTHON, TOOLS, Tool, ZIG};
