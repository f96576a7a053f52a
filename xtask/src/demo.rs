//! `cargo xtask demo`: the main job, end to end, with a supervisor that is killed on the way.
//!
//! It does what a user would do, through the same executable, and believes only what the control plane says. It ends with success
//! only if every token completed, and if the history of the token whose supervisor was killed shows the ended lease and
//! the second attempt.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::process::{Process, until};
use crate::shell::{cargo, output, run, say, step, target_dir};

/// Options of the demo.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Keep the demo's folder (database, logs) and print where it is.
    #[arg(long)]
    keep: bool,
}

/// Tokens of each example.
const TOKENS: usize = 10;
/// The lease that the demo's control plane gives, so that nobody waits two minutes for the end of one.
const LEASE: &str = "5s";

/// Runs the demo.
pub(crate) fn run_demo(root: &Path, args: &Args) -> Result<()> {
    step("Building the guests and the product");
    crate::guests::build_all(root, false)?;
    run(cargo(root).args(["build", "--workspace", "--bin", "stateous"]))?;
    let began = Instant::now();

    let folder =
        tempfile::Builder::new().prefix("stateous-demo-").tempdir().context("cannot make a folder")?;
    let shown = match Demo::prepare(root, folder.path()).and_then(Demo::play) {
        Ok(shown) => shown,
        Err(error) => {
            say(&format!("\nThe demo's folder is kept, with database and logs: {}", folder.keep().display()));
            return Err(error);
        }
    };

    say(&format!("\nEvery token completed, {:.0} s after the build.", began.elapsed().as_secs_f64()));
    say("\nWhat to look at");
    say(&format!(
        "  above                      the history of {shown}: a lease that ended, and attempt 2 that went on where \
         attempt 1 was killed"
    ));
    say("  examples/orders            two states and a loop, a routine of ten lines in Rust");
    say(
        "  examples/log-report        a routine that keeps its place in ctx.memory; try it on a log of your own",
    );
    say("  cargo run -p stateous-cli -- dev examples/orders");
    say(
        "                             control plane, supervisor and routines in one process, rebuilt when you save",
    );
    say("  README.md                  your first token in a minute");
    if args.keep {
        say(&format!("\nThe demo's folder is kept: {}", folder.keep().display()));
    }
    Ok(())
}

struct Demo<'a> {
    root: &'a Path,
    folder: &'a Path,
    stateous: PathBuf,
    url: String,
    control_plane: Process,
}

impl<'a> Demo<'a> {
    /// Compiles both workflows, serves them, and pushes their routines.
    fn prepare(root: &'a Path, folder: &'a Path) -> Result<Self> {
        let stateous = target_dir(root).join("debug/stateous");
        step("Starting a control plane on a new SQLite database");
        let mut serve = Command::new(&stateous);
        serve.arg("serve");
        for example in ["orders", "log-report"] {
            let graph = folder.join(format!("{example}.json"));
            let source = root.join("examples").join(example).join("workflow.toml");
            run(Command::new(&stateous).arg("compile").arg(&source).arg("--out").arg(&graph))?;
            serve.arg(graph);
        }
        serve.arg("--db").arg(format!("sqlite:///{}", folder.join("demo.db").display()));
        serve.args(["--listen", "127.0.0.1:0", "--lease", LEASE]);
        let mut control_plane = Process::start("control-plane", folder, &mut serve)?;
        let line = control_plane.wait_for_line("serving on http://", Duration::from_secs(10))?;
        say(&line);
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .context("the control plane did not say its address")?
            .to_owned();
        let demo = Self { root, folder, stateous, url, control_plane };
        step("Pushing the routines");
        for (example, state) in [("orders", "draft"), ("orders", "review"), ("log-report", "report")] {
            let file = root.join("examples").join(example).join("build").join(format!("{state}.wasm"));
            let push = ["routine", "push", &file.to_string_lossy(), "--state", &format!("{example}/{state}")];
            say(demo.ask(&push)?.trim_end());
        }
        Ok(demo)
    }

    /// Runs every token to its end. Answers which token's history was shown.
    fn play(self) -> Result<String> {
        step("Supervisor build-box-1 starts, then 20 tokens");
        let mut first = self.supervise("build-box-1")?;
        self.start_tokens()?;

        let (victim, writes) = self.wait_for_memory_write()?;
        first.kill()?;
        say(&format!(
            "killed build-box-1 (SIGKILL) in the middle of {victim}, after {writes} accepted memory writes"
        ));

        step("Supervisor build-box-2 starts; the lease of build-box-1 ends after 5 seconds");
        let second = self.supervise("build-box-2")?;
        self.wait_until_all_ended()?;

        step(&format!("stateous token show {victim}"));
        let history = self.ask(&["token", "show", &victim])?;
        say(&shortened(&history));
        self.check(&history)?;

        let stopped = second.stop(Duration::from_secs(10))?;
        ensure!(stopped.success(), "build-box-2 ended with {stopped}");
        let Self { control_plane, .. } = self;
        let stopped = control_plane.stop(Duration::from_secs(10))?;
        ensure!(stopped.success(), "the control plane ended with {stopped}");
        Ok(victim)
    }

    fn supervise(&self, name: &str) -> Result<Process> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder)?;
        let settings = format!("url = \"{}\"\nname = \"{name}\"\nslots = 4\n", self.url);
        std::fs::write(folder.join("stateous.toml"), settings)?;
        let mut supervisor =
            Process::start(name, self.folder, Command::new(&self.stateous).arg("supervise").arg(&folder))?;
        say(&supervisor.wait_for_line(" serves ", Duration::from_secs(10))?);
        Ok(supervisor)
    }

    fn start_tokens(&self) -> Result<()> {
        let log = self.root.join("examples/log-report/access.log");
        for n in 1..=TOKENS {
            let order = format!("{{\"title\": \"order number {n}\"}}");
            self.ask(&["token", "start", &format!("ORDER-{n}"), &order])?;
            let text = format!("log={}", log.display());
            let id = format!("LOG-{n}");
            // Small chunks: many durable positions, so that the kill lands between two of them.
            let options = "{\"chunk_lines\": 20}";
            self.ask(&["token", "start", &id, options, "--workflow", "log-report", "--text", &text])?;
        }
        say(&format!("started {} tokens", 2 * TOKENS));
        Ok(())
    }

    /// A token whose running attempt has a memory write that the control plane accepted, and how many it has.
    fn wait_for_memory_write(&self) -> Result<(String, usize)> {
        until(Duration::from_secs(20), || {
            (1..=TOKENS).find_map(|n| {
                let id = format!("LOG-{n}");
                let history = self.ask(&["token", "show", &id]).ok()?;
                let writes = history.lines().filter(|line| line.contains("  memory set: ")).count();
                (writes > 0 && history.starts_with(&format!("{id}: report, active"))).then_some((id, writes))
            })
        })
        .context("no routine wrote its memory within 20 s")
    }

    fn wait_until_all_ended(&self) -> Result<()> {
        let mut last = BTreeMap::new();
        let ended = until(Duration::from_secs(60), || {
            let listing = self.ask(&["token", "show"]).ok()?;
            last = listing.lines().filter_map(|line| line.rsplit_once(", ")).fold(
                BTreeMap::new(),
                |mut by, (_, status)| {
                    *by.entry(status.to_owned()).or_insert(0_usize) += 1;
                    by
                },
            );
            (!last.contains_key("active") && !last.is_empty()).then_some(())
        });
        ensure!(ended.is_some(), "after 60 s some tokens had not ended: {last:?}");
        say(&format!("ended: {last:?}"));
        ensure!(last.get("completed") == Some(&(2 * TOKENS)), "not every token completed: {last:?}");
        Ok(())
    }

    /// What the history of the killed attempt's token must show.
    fn check(&self, history: &str) -> Result<()> {
        for wanted in [
            "build-box-1 took task ",
            " failed: build-box-1 stopped answering: no heartbeat for 5 seconds",
            " is tried again (attempt 2)",
            "build-box-2 took task ",
            "resumed at line ",
        ] {
            if !history.contains(wanted) {
                bail!("the history lacks {wanted:?}");
            }
        }
        Ok(())
    }

    fn ask(&self, words: &[&str]) -> Result<String> {
        output(Command::new(&self.stateous).args(words).env("STATEOUS_URL", &self.url))
    }
}

/// A history with each long run of memory writes cut to its ends.
fn shortened(history: &str) -> String {
    let mut out = Vec::new();
    let mut skipped = 0;
    let lines: Vec<&str> = history.trim_end().lines().collect();
    let is_write = |line: Option<&&str>| line.is_some_and(|l| l.contains("  memory set: "));
    for (i, line) in lines.iter().enumerate() {
        let inside =
            i > 0 && is_write(lines.get(i - 1)) && is_write(Some(line)) && is_write(lines.get(i + 1));
        if inside {
            skipped += 1;
            continue;
        }
        if skipped > 0 {
            out.push(format!("          …  {skipped} more memory writes"));
            skipped = 0;
        }
        out.push((*line).to_owned());
    }
    out.join("\n")
}
