//! `cargo xtask bench`: full cycles per second, and how long a token waits for its routine to begin.
//!
//! One control plane on SQLite, one supervisor, a routine that does nothing, all on this machine with durable defaults.
//! A figure alone says little on a shared machine, so each run also measures how fast its disk flushes: compare ratios
//! within one run, never figures of two.

mod disk;
mod load;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use comfy_table::{Table, presets};
use serde_json::json;

use crate::process::Process;
use crate::shell::{cargo, output, run as run_command, say, step, target_dir};

/// Options of the benchmark.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Tokens of each flood; every token goes through five states.
    #[arg(long, default_value_t = 2000)]
    tokens: usize,
    /// Tokens started one at a time for the latency.
    #[arg(long, default_value_t = 300)]
    singles: usize,
    /// Slots of the supervisor, one run each.
    #[arg(long, value_delimiter = ',', default_value = "1,8,64")]
    slots: Vec<u32>,
    /// Rounds; the table shows the median and the range.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// States that a token passes through: cycles of one token.
const STATES: usize = 5;

/// The benchmark's workflow: five states in a row.
fn workflow() -> String {
    let mut text = String::from("workflow = \"bench\"\n");
    for n in 1..=STATES {
        let next = if n == STATES { "END".to_owned() } else { format!("s{}", n + 1) };
        let start = if n == 1 { "start = true\n" } else { "" };
        text.push_str(&format!("\n[states.s{n}]\n{start}on.done = \"{next}\"\n"));
    }
    text.push_str("\n[events.done]\npayload = \"Done\"\n\n[schemas.Done]\nbegan_ms = \"integer\"\n");
    text
}

/// What one run measured.
struct Sample {
    slots: u32,
    cycles_per_second: f64,
    start_p50_ms: f64,
    start_p99_ms: f64,
    flushes_per_second: f64,
}

/// Runs the benchmark.
pub(crate) fn run(root: &Path, args: &Args) -> Result<()> {
    step("Building the product as it ships, and the routine");
    crate::guests::build_all(root, false)?;
    run_command(cargo(root).args(["build", "--profile", "dist", "--package", "stateous-cli"]))?;
    let mut samples = Vec::new();
    for round in 1..=args.rounds {
        for &slots in &args.slots {
            step(&format!("Round {round} of {}: {slots} slots", args.rounds));
            let sample = measure(root, args, slots)?;
            say(&format!(
                "{:.0} cycles/s, start to routine p50 {:.1} ms p99 {:.1} ms, disk {:.0} flushes/s",
                sample.cycles_per_second, sample.start_p50_ms, sample.start_p99_ms, sample.flushes_per_second
            ));
            samples.push(sample);
        }
    }
    tell(root, args, &samples)
}

fn measure(root: &Path, args: &Args, slots: u32) -> Result<Sample> {
    // On the disk that the repository is on: /tmp may be memory.
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(target_dir(root))?;
    let stateous = target_dir(root).join("dist/stateous");
    let flushes_per_second = disk::flushes_per_second(folder.path())?;
    std::fs::write(folder.path().join("workflow.toml"), workflow())?;
    let mut serve = Command::new(&stateous);
    serve.current_dir(folder.path()).args(["serve", "workflow.toml", "--listen", "127.0.0.1:0"]);
    let mut control_plane = Process::start("control-plane", folder.path(), &mut serve)?;
    let line = control_plane.wait_for_line("serving on http://", Duration::from_secs(10))?;
    let url =
        line.split_whitespace().find(|word| word.starts_with("http://")).context("no address")?.to_owned();
    let component = root.join("target/guests/noop.wasm");
    for n in 1..=STATES {
        let state = format!("bench/s{n}");
        output(
            Command::new(&stateous)
                .args(["routine", "push"])
                .arg(&component)
                .args(["--state", &state, "--url", &url]),
        )?;
    }
    let supervisor_folder = folder.path().join("supervisor");
    std::fs::create_dir(&supervisor_folder)?;
    let settings = format!("url = \"{url}\"\nname = \"bench\"\nslots = {slots}\n");
    std::fs::write(supervisor_folder.join("stateous.toml"), settings)?;
    let mut supervise = Command::new(&stateous);
    supervise
        .arg("supervise")
        .arg(&supervisor_folder)
        .env("STATEOUS_LOG", "warn,stateous_supervisor::supervise=info");
    let mut supervisor = Process::start("supervisor", folder.path(), &mut supervise)?;
    supervisor.wait_for_line(" serves ", Duration::from_secs(10))?;

    let load = load::Load::new(&url)?;
    load.warm_up()?;
    let seconds = load.flood(args.tokens)?;
    let (start_p50_ms, start_p99_ms) = load.singles(args.singles)?;
    supervisor.stop(Duration::from_secs(20))?;
    control_plane.stop(Duration::from_secs(20))?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand tokens")]
    let cycles_per_second = (args.tokens * STATES) as f64 / seconds;
    Ok(Sample { slots, cycles_per_second, start_p50_ms, start_p99_ms, flushes_per_second })
}

fn tell(root: &Path, args: &Args, samples: &[Sample]) -> Result<()> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "slots",
        "cycles/s",
        "per 1,000 flushes/s",
        "start to routine p50 ms",
        "p99 ms",
        "flushes/s",
    ]);
    let mut rows = Vec::new();
    for &slots in &args.slots {
        let of = |value: fn(&Sample) -> f64| {
            let mut values: Vec<f64> = samples.iter().filter(|s| s.slots == slots).map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let cycles = of(|s| s.cycles_per_second);
        let ratio = of(|s| s.cycles_per_second / s.flushes_per_second * 1000.0);
        let (p50, p99, flushes) =
            (of(|s| s.start_p50_ms), of(|s| s.start_p99_ms), of(|s| s.flushes_per_second));
        table.add_row([
            slots.to_string(),
            shown(&cycles),
            shown(&ratio),
            shown(&p50),
            shown(&p99),
            shown(&flushes),
        ]);
        rows.push(json!({
            "slots": slots, "cycles_per_second": cycles, "cycles_per_1000_flushes": ratio,
            "start_p50_ms": p50, "start_p99_ms": p99, "flushes_per_second": flushes,
        }));
    }
    let report = json!({"tokens": args.tokens, "states": STATES, "store": "sqlite", "rounds": args.rounds, "rows": rows});
    let file = target_dir(root).join("bench.json");
    std::fs::write(&file, serde_json::to_string_pretty(&report)?)?;
    say(&format!(
        "\nSQLite, one supervisor, {} tokens of {STATES} cycles; median (range) of {} rounds",
        args.tokens, args.rounds
    ));
    say(&table.to_string());
    say(
        "start to routine: from sending the request that starts a token to the first instruction of its routine, one at a",
    );
    say(
        "time, in whole milliseconds of the machine's clock. flushes/s: fdatasync of 4 KiB, measured before each run.",
    );
    say(&format!("JSON: {}", file.display()));
    Ok(())
}

/// The median, and the range when there is one.
fn shown(sorted: &[f64]) -> String {
    let text = |value: f64| if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") };
    match sorted {
        [] => "-".to_owned(),
        [one] => text(*one),
        [least, .., most] => format!("{} ({}–{})", text(sorted[sorted.len() / 2]), text(*least), text(*most)),
    }
}
