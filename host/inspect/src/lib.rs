//! Looks into components without compiling them: the check of an upload, the scan that keeps a compile bomb
//! away from Cranelift, and the step that turns a core module into a component.
//!
//! It leaves to others: compiling and running (`stateous-runtime`), where uploads are kept (the stores) and
//! how an answer looks on the wire (`stateous-api`). Nothing here panics on what it is given: the bytes come
//! from strangers.

mod problem;

mod check;
mod componentize;
mod digest;
mod layout;
mod mark;
mod prescan;
mod shape;
mod world;

pub use check::{Report, UPLOAD_BYTES_MAX, check};
pub use componentize::componentize;
pub use digest::{digest, is_digest};
pub use layout::SDK_SECTION;
pub use mark::{mark, marked, without_debug};
pub use prescan::prescan;
pub use problem::{Problem, ProblemCode};
pub use world::WIT;
