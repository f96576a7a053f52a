//! The subcommands, one file each.

pub(crate) mod compile;
pub(crate) mod compile_worker;
pub(crate) mod completions;
pub(crate) mod dev;
pub(crate) mod graph;
pub(crate) mod init;
pub(crate) mod routine;
pub(crate) mod serve;
pub(crate) mod supervise;
pub(crate) mod token;

mod graphs;
mod host;
mod logging;
mod remote;
mod signals;
