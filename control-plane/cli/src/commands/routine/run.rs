//! `stateous routine run`: one attempt of a component in the real sandbox, without a control plane.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, anyhow, bail, ensure};
use serde_json::json;
use stateous_engine::json::{Object, canonical, parse};
use stateous_runtime::{Ended, Event, Level, Limits, Outcome, Schedule, Stats, Task};

use super::sandbox::{Sandbox, Written, first_task};
use crate::Failed;
use crate::text::{Format, Out, escape};

/// Run a component here, in the real sandbox, without a control plane.
///
/// Prints how the attempt ended, what it wrote and what it used. Exit code 0 when it ended with an event or waits, 1 when
/// it failed or was stopped.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The component: a .wasm file, such as `stateous routine build` writes.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The token's context: a file with a JSON object. `{}` without it.
    #[arg(long, value_name = "JSON")]
    input: Option<PathBuf>,
    /// What the state remembers: a file with a JSON object, one field for each key.
    #[arg(long, value_name = "JSON")]
    memory: Option<PathBuf>,
    /// Run it so many times, each from the same start, and tell the range of what it used.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    times: u32,
    /// The token's id.
    #[arg(long, default_value = "T-1")]
    token: String,
    /// The state: WORKFLOW/STATE.
    #[arg(long, default_value = "local/local")]
    state: String,
    /// Which visit of the state it is.
    #[arg(long, default_value_t = 1)]
    visit: u32,
    /// Which attempt of the task it is.
    #[arg(long, default_value_t = 1)]
    attempt: u32,
    /// The event that brought the token here.
    #[arg(long, value_name = "EVENT", default_value = "__started__")]
    entered_by: String,
    /// That event's payload: a file with a JSON object.
    #[arg(long, value_name = "JSON")]
    payload: Option<PathBuf>,
    /// The time that it sees, in milliseconds since 1970-01-01 UTC; now unless given.
    #[arg(long, value_name = "MS")]
    now_ms: Option<u64>,
    /// The most fuel: about one unit for each instruction.
    #[arg(long)]
    fuel: Option<u64>,
    /// The most linear memory, in MiB.
    #[arg(long, value_name = "MIB")]
    memory_max: Option<u64>,
    /// The most wall time: 30s, 10m, 6h.
    #[arg(long, value_name = "DURATION")]
    wall: Option<String>,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failed> {
    let component = super::read_component(&args.file)?;
    let (task, limits) = (args.task()?, args.limits()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (last, stats) = runtime.block_on(async {
        let sandbox = Sandbox::of(component, &limits).await?;
        let mut stats = Vec::new();
        let mut last = sandbox.run(task.clone(), limits).await;
        stats.push(last.0.stats);
        for _ in 1..args.times {
            last = sandbox.run(task.clone(), limits).await;
            stats.push(last.0.stats);
        }
        anyhow::Ok((last, stats))
    })?;
    match out.format() {
        Format::Text => tell(out, &last.0, &last.1, &task, &limits, &stats)?,
        Format::Json => out.line(&json(&last.0, &last.1, &stats).to_string())?,
    }
    match last.0.outcome {
        Outcome::Event(_) | Outcome::Waiting => Ok(()),
        Outcome::Failed { .. } | Outcome::Stopped { .. } => Err(Failed::Quiet),
    }
}

impl Args {
    fn task(&self) -> anyhow::Result<Task> {
        let (workflow, state) = self
            .state
            .split_once('/')
            .with_context(|| format!("--state takes WORKFLOW/STATE, not '{}'", self.state))?;
        let context = self.input.as_deref().map(object).transpose()?.unwrap_or_default();
        let memory = self.memory.as_deref().map(object).transpose()?.unwrap_or_default();
        let payload = self.payload.as_deref().map(object).transpose()?;
        for (key, value) in &memory {
            ensure!(!value.is_null(), "--memory: `{key}` is null, which a state cannot remember");
        }
        Ok(Task {
            token: self.token.clone(),
            workflow: workflow.to_owned(),
            state: state.to_owned(),
            visit: self.visit,
            attempt: self.attempt,
            entered_by: Event { name: self.entered_by.clone(), payload: payload.map(text) },
            memory: memory.into_iter().map(|(key, value)| (key, canonical(&value))).collect(),
            ..first_task(text(context), self.now_ms.unwrap_or_else(now_ms))
        })
    }

    fn limits(&self) -> anyhow::Result<Limits> {
        let usual = Limits::default();
        let wall = self.wall.as_deref().map(|text| {
            let ms = stateous_engine::time::parse_duration(text).and_then(|ms| u64::try_from(ms).ok());
            ms.map(Duration::from_millis).ok_or_else(|| {
                anyhow!("--wall takes a whole number and s, m, h or d, such as 30s, not '{text}'")
            })
        });
        let memory = self.memory_max.map(|mib| {
            mib.checked_mul(1 << 20).ok_or_else(|| anyhow!("--memory-max is too large: {mib} MiB"))
        });
        Ok(Limits {
            fuel: self.fuel.unwrap_or(usual.fuel),
            memory_bytes: memory.transpose()?.unwrap_or(usual.memory_bytes),
            wall: wall.transpose()?.unwrap_or(usual.wall),
            ..usual
        })
    }
}

/// A file with a JSON object, read by the rules of what comes from outside.
fn object(file: &Path) -> anyhow::Result<Object> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    match parse(bytes).with_context(|| format!("{} cannot be used", file.display()))? {
        serde_json::Value::Object(object) => Ok(object),
        _ => bail!("{} must hold a JSON object, such as {{\"title\": \"A title\"}}", file.display()),
    }
}

fn text(object: Object) -> String {
    serde_json::Value::Object(object).to_string()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the routine is told the machine's time, as a supervisor would"
)]
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn tell(
    out: &mut Out,
    ended: &Ended,
    written: &Written,
    task: &Task,
    limits: &Limits,
    stats: &[Stats],
) -> Result<(), Failed> {
    for (level, line) in &written.log {
        out.line(&format!("log       {}: {}", level_name(*level), escape(line)))?;
    }
    for note in &written.notes {
        out.line(&format!("note      {}", escape(note)))?;
    }
    for (key, value) in &written.memory {
        let was = if task.memory.get(key) == Some(value) { " (as before)" } else { "" };
        out.line(&format!("memory    {} = {}{was}", escape(key), escape(value)))?;
    }
    for key in task.memory.keys().filter(|key| !written.memory.contains_key(*key)) {
        out.line(&format!("memory    {} deleted", escape(key)))?;
    }
    for (key, value) in &ended.context_writes {
        out.line(&format!("context   {} = {}", escape(key), escape(value)))?;
    }
    for timer in &ended.schedules {
        out.line(&format!("timer     {} after {}", event(&timer.event), escape(&timer.after)))?;
    }
    let outcome = match &ended.outcome {
        Outcome::Event(with) => format!("event {}", event(with)),
        Outcome::Waiting => "waiting".to_owned(),
        Outcome::Failed { message, retry } => {
            format!("failed, {}: {message}", if *retry { "to be tried again" } else { "for good" })
        }
        Outcome::Stopped { code, message } => format!("stopped, {}: {message}", code.as_str()),
    };
    let mut lines = outcome.lines();
    out.line(&format!("outcome   {}", escape(lines.next().unwrap_or_default())))?;
    for line in lines {
        out.line(&format!("          {}", escape(line)))?;
    }
    let fuel = range(stats, |s| s.fuel_used, ToString::to_string);
    out.line(&format!("fuel      {fuel}; at most {}", limits.fuel))?;
    let peak = range(stats, |s| s.memory_peak, |bytes| mib(*bytes));
    out.line(&format!("peak      {peak}; at most {} MiB", mib(limits.memory_bytes)))?;
    let micros = |d: Duration| u64::try_from(d.as_micros()).unwrap_or(u64::MAX);
    let wall = range(stats, |s| micros(s.wall), |us| millis(*us));
    let start = range(stats, |s| micros(s.instantiate), |us| millis(*us));
    out.line(&format!("time      {wall} ms"))?;
    out.line(&format!("start     {start} ms of it, before the routine's first instruction"))
}

/// The last run as a program reads it, JSON of the routine as the text that it is, and what each run used.
fn json(ended: &Ended, written: &Written, stats: &[Stats]) -> serde_json::Value {
    let event = |event: &Event| json!({"name": event.name, "payload": event.payload});
    let outcome = match &ended.outcome {
        Outcome::Event(with) => json!({"kind": "event", "event": event(with)}),
        Outcome::Waiting => json!({"kind": "waiting"}),
        Outcome::Failed { message, retry } => json!({"kind": "failed", "message": message, "retry": retry}),
        Outcome::Stopped { code, message } => {
            json!({"kind": "stopped", "code": code.as_str(), "message": message})
        }
    };
    let timer = |timer: &Schedule| json!({"event": event(&timer.event), "after": timer.after});
    let line = |(level, text): &(Level, String)| json!({"level": level_name(*level), "text": text});
    let run = |stats: &Stats| {
        json!({"fuel": stats.fuel_used, "memory_bytes": stats.memory_peak,
               "wall_ms": stats.wall.as_secs_f64() * 1000.0, "start_ms": stats.instantiate.as_secs_f64() * 1000.0})
    };
    json!({
        "outcome": outcome, "context": ended.context_writes, "memory": written.memory, "notes": written.notes,
        "timers": ended.schedules.iter().map(timer).collect::<Vec<_>>(),
        "log": written.log.iter().map(line).collect::<Vec<_>>(),
        "runs": stats.iter().map(run).collect::<Vec<_>>(),
    })
}

const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}

/// `done {"n": 1}`; the bare name without a payload.
fn event(event: &Event) -> String {
    let payload = event.payload.as_ref().map(|payload| format!(" {}", escape(payload))).unwrap_or_default();
    format!("{}{payload}", escape(&event.name))
}

/// One value, or `median (least to most)` of several that differ.
fn range(stats: &[Stats], of: impl Fn(&Stats) -> u64, shown: impl Fn(&u64) -> String) -> String {
    let mut values: Vec<u64> = stats.iter().map(of).collect();
    values.sort_unstable();
    match values.as_slice() {
        [] => "-".to_owned(),
        [least, .., most] if least != most => {
            let median = shown(&values[values.len() / 2]);
            format!("{median} ({} to {})", shown(least), shown(most))
        }
        [one, ..] => shown(one),
    }
}

/// Mebibytes with one digit, where there is something behind the point.
pub(super) fn mib(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let mib = bytes as f64 / f64::from(1 << 20);
    let text = format!("{mib:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn millis(micros: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    let ms = micros as f64 / 1000.0;
    format!("{ms:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_said_only_when_there_is_one() {
        let stats = |fuel_used| Stats { fuel_used, ..Stats::default() };
        let shown = |values: &[u64]| {
            let stats: Vec<Stats> = values.iter().copied().map(stats).collect();
            range(&stats, |s| s.fuel_used, ToString::to_string)
        };
        assert_eq!(shown(&[7]), "7");
        assert_eq!(shown(&[7, 7, 7]), "7");
        assert_eq!(shown(&[9, 7, 8]), "8 (7 to 9)");
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(mib(64 << 20), "64");
        assert_eq!(mib((1 << 20) + (1 << 19)), "1.5");
        assert_eq!(millis(1_234), "1.234");
    }
}
