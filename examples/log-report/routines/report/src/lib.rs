//! The state `report`: reads the access log in the token's context, chunk by chunk, and reports what was asked of the
//! server.
//!
//! After each chunk its place and its totals go into memory, in one write, so that they can never disagree. When the
//! machine dies, the next attempt goes on behind the last chunk that was kept.

mod instant;
mod line;
mod totals;

use stateous_routine::prelude::*;

use totals::{Report, Totals};

const CHUNK_LINES_DEFAULT: usize = 200;

#[derive(Deserialize)]
struct Input {
    log: String,
    /// After how many lines the totals are kept. Smaller loses less work in a crash, and flushes a disk more often.
    chunk_lines: Option<usize>,
}

/// What is kept after each chunk.
#[derive(Serialize, Deserialize, Default)]
struct Progress {
    /// The task that this belongs to: another visit of the state starts from the top.
    task: u64,
    /// Lines and bytes of the log that the totals cover.
    lines: usize,
    bytes: usize,
    totals: Totals,
}

#[derive(Event)]
enum Out {
    Reported(Report),
}

#[routine]
fn report(ctx: &Context<Input>) -> Result<Out> {
    let Input { log, chunk_lines } = ctx.data();
    let chunk_lines = chunk_lines.unwrap_or(CHUNK_LINES_DEFAULT);
    if chunk_lines == 0 {
        return Err(Failure::fatal("chunk_lines is 0: a chunk has at least one line"));
    }
    let mut progress = resume(ctx)?;
    while progress.bytes < log.len() {
        for _ in 0..chunk_lines {
            let Some(line) = log[progress.bytes..].split_inclusive('\n').next() else { break };
            progress.lines += 1;
            progress.bytes += line.len();
            progress.totals.add(progress.lines, line.trim_end_matches(['\n', '\r']));
        }
        ctx.memory().set("progress", &progress)?;
    }
    let report = progress.totals.report();
    ctx.note(format_args!("{report}"))?;
    Ok(Out::Reported(report))
}

/// Where the last attempt came to, or the top of the log.
fn resume(ctx: &Context<Input>) -> Result<Progress> {
    let top = Progress { task: ctx.task(), ..Progress::default() };
    // What an older version of this routine kept may not fit; reading the log again is always right.
    let kept = ctx.memory().get("progress").unwrap_or_else(|error| {
        ctx.warn(format_args!("{error}; starting at the top"));
        None
    });
    match kept {
        Some(Progress { task, lines, bytes, totals })
            if task == ctx.task() && ctx.data().log.is_char_boundary(bytes) =>
        {
            ctx.note(format_args!("resumed at line {}", lines + 1))?;
            Ok(Progress { task, lines, bytes, totals })
        }
        _ => Ok(top),
    }
}

#[cfg(test)]
mod tests;
