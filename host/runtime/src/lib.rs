//! Runs one attempt of one routine in wasmtime: a sandbox with fuel, memory and time limits and the
//! capabilities of `wit/routine.wit`.
//!
//! It owns the engine, the compiled forms (in memory and on disk), the bounded child process that compiles,
//! and every check of what a guest hands over. It leaves to others: where components come from and what a
//! capability does with a value (`stateous-supervisor`, through [`Ports`]), and what a component may look
//! like (`stateous-inspect`). It opens no socket, and no type of wasmtime is in its interface.
//!
//! ```text
//! prepare(digest, fetch)   memory -> disk -> fetch, check the digest, prescan, compile in a child process
//! run(prepared, task, …)   a fresh store, thrown away afterwards: limits -> instantiate -> run -> outcome
//! ```
//!
//! Dropping the future of [`Runtime::run`] stops the guest at once, wherever it is.

mod limits;
mod options;
mod ports;
mod task;
mod web;

mod prepare;
mod prepare_error;
mod run;

mod attempt;
mod bindings;
mod cache;
mod capabilities;
mod compile;
mod engine;
mod forms;
mod json;
mod limiter;
mod local;
mod outcome;
mod shelf;
mod stop;
mod text;
mod wasi;

pub use capabilities::config::Config;
pub use compile::compile_worker;
pub use limits::Limits;
pub use local::{LocalComponent, read_local};
pub use options::{CompileWorker, RuntimeError, RuntimeOptions};
pub use ports::{Level, PortError, Ports, Refusal, RefusalCode};
pub use prepare::{Prepared, Runtime};
pub use prepare_error::PrepareError;
pub use task::{Ended, Event, Outcome, Schedule, Stats, StopCode, Task};
pub use web::{Patience, Web, WebBody, WebError};
