//! The harness of the stories: starts the real executable, watches it, kills it, and asks the control plane what became
//! of the tokens. It believes nothing that a process logs about its own work.
//!
//! Stories wait for conditions, never for time to pass: [`eventually`] is the only loop.

mod history;
mod original;
mod process;
mod product;
mod proxy;
mod python;

pub use history::History;
pub use original::{Original, OriginalControlPlane};
pub use process::{Process, eventually};
pub use product::{ControlPlane, Product, Supervisor};
pub use proxy::Proxy;

/// Whether a missing tool is a failure (`cargo xtask test`) rather than a reason to skip (`cargo test`).
#[must_use]
pub fn everything_required() -> bool {
    std::env::var_os("STATEOUS_TEST_REQUIRE").is_some()
}
