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
pub(crate) mod supervisor;
pub(crate) mod task;
pub(crate) mod token;

mod advice;
mod database;
mod graphs;
mod host;
mod logging;
mod pages;
mod remote;
mod signals;

use std::time::Duration;

/// A duration on the command line: `30s`, `10m`, `6h`, `2d`.
fn duration(text: &str) -> Result<Duration, String> {
    stateous_engine::time::parse_duration(text)
        .and_then(|ms| u64::try_from(ms).ok())
        .map(Duration::from_millis)
        .ok_or_else(|| "a duration is a whole number and s, m, h or d, such as 30s".to_owned())
}
