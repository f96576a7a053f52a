//! `stateous routine build`: makes components of a folder's sources, and says what they are.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use serde::Serialize;
use stateous_build::{Built, Options, Project, projects};
use stateous_runtime::{Limits, Outcome};

use super::run::mib;
use super::sandbox::{Sandbox, first_task};
use crate::Failed;
use crate::text::{Out, escape};

/// Fuel of the empty run: plenty to start any language, and soon spent by a routine that spins.
const EMPTY_RUN_FUEL: u64 = 1_000_000_000;

/// Build the routine in a folder: Rust, JavaScript, TypeScript, Python, C, C++ or Go.
///
/// The language is told by the folder's files. A folder of several routines builds all of them; each component is named
/// after its folder, or `routine.wasm` when DIR itself is the routine.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The routine's folder.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Where the components go; the routine's folder unless given.
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
    /// Build anew what has the same sources as the component that is there.
    #[arg(long)]
    force: bool,
    /// Leave the empty run out, which compiles the component.
    #[arg(long)]
    no_run: bool,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failed> {
    let folder =
        args.folder.canonicalize().with_context(|| format!("cannot find {}", args.folder.display()))?;
    let out_dir = args.out_dir.clone().unwrap_or_else(|| folder.clone());
    std::fs::create_dir_all(&out_dir).with_context(|| format!("cannot make {}", out_dir.display()))?;
    for project in projects(&folder)? {
        let is_only = project.folder == folder && args.out_dir.is_none();
        let began = Instant::now();
        let earlier = earlier(args, &project, &out_dir, is_only)?;
        let built = project.build(&Options {
            earlier: earlier.as_ref().map(|e| e.path().to_owned()),
            ..Options::default()
        })?;
        let seconds = began.elapsed().as_secs_f64();
        let is_single = built.len() == 1 && is_only;
        for built in built {
            let name = if is_single { "routine" } else { &built.name };
            let file = out_dir.join(name).with_extension("wasm");
            tell(out, args, &built, &file, seconds)?;
        }
    }
    Ok(())
}

/// Where the builder finds the component of an earlier build under the project's name.
fn earlier(
    args: &Args,
    project: &Project,
    out_dir: &Path,
    is_only: bool,
) -> anyhow::Result<Option<tempfile::TempDir>> {
    if args.force {
        return Ok(None);
    }
    let name = project.folder.file_name().unwrap_or_default();
    let file = if is_only { Path::new("routine") } else { Path::new(name) };
    let folder = tempfile::tempdir().context("cannot make a folder for passing files")?;
    let from = out_dir.join(file).with_extension("wasm");
    if from.is_file() {
        std::fs::copy(&from, folder.path().join(name).with_extension("wasm"))
            .with_context(|| format!("cannot read {}", from.display()))?;
    }
    Ok(Some(folder))
}

fn tell(out: &mut Out, args: &Args, built: &Built, file: &Path, seconds: f64) -> Result<(), Failed> {
    let report = stateous_inspect::check(&built.component).map_err(|problems| {
        let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("{} would be refused: {}", built.name, all.join("; "))
    })?;
    write(file, &built.component)?;
    let empty_run = if args.no_run { None } else { Some(empty_run(built.component.clone())?) };
    let told = Told {
        file: file.display().to_string(),
        kept: built.kept,
        seconds,
        size: report.size,
        digest: &report.digest,
        sdk: report.sdk.as_deref(),
        imports: &report.imports,
        empty_run,
    };
    out.tell(&told, Told::words)
}

/// What became of one routine.
#[derive(Serialize)]
struct Told<'a> {
    file: String,
    /// Its sources were those of the component that is there.
    kept: bool,
    seconds: f64,
    /// In bytes.
    size: u64,
    digest: &'a str,
    sdk: Option<&'a str>,
    imports: &'a [String],
    empty_run: Option<EmptyRun>,
}

impl Told<'_> {
    fn words(&self) -> String {
        let how = if self.kept { "unchanged".to_owned() } else { format!("built in {:.1} s", self.seconds) };
        let mut lines = vec![format!("{}  {}, {how}", self.file, size(self.size))];
        lines.push(format!("  digest    {}", self.digest));
        lines.extend(self.sdk.map(|sdk| format!("  sdk       {}", escape(sdk))));
        lines.push(format!("  imports   {}", imports(self.imports)));
        lines.extend(self.empty_run.as_ref().map(|run| format!("  empty run {}", run.words())));
        lines.join("\n")
    }
}

/// What one run with an empty context costs: mostly the start of the language.
#[derive(Serialize)]
struct EmptyRun {
    fuel: u64,
    memory_bytes: u64,
    wall_ms: f64,
    outcome: String,
}

impl EmptyRun {
    fn words(&self) -> String {
        format!(
            "{} fuel, {} MiB, {:.1} ms; with an empty context it {}",
            self.fuel,
            mib(self.memory_bytes),
            self.wall_ms,
            escape(&self.outcome)
        )
    }
}

/// `34 KiB`, `1.7 MiB`.
fn size(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{} KiB", bytes.div_ceil(1024)) } else { format!("{} MiB", mib(bytes)) }
}

/// Our interfaces by name, and how many of WASI's.
fn imports(imports: &[String]) -> String {
    let ours = |name: &&String| name.starts_with("stateous:");
    let mut names: Vec<String> = imports
        .iter()
        .filter(ours)
        .filter_map(|name| name.split(['/', '@']).nth(1).map(str::to_owned))
        .filter(|name| name != "types")
        .collect();
    let wasi = imports.iter().filter(|name| !ours(name)).count();
    if wasi > 0 {
        names.push(format!("{wasi} of WASI (nothing granted but clocks and random numbers)"));
    }
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// Runs a component with an empty context.
fn empty_run(component: Vec<u8>) -> anyhow::Result<EmptyRun> {
    let limits = Limits { fuel: EMPTY_RUN_FUEL, ..Limits::default() };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let ended = runtime.block_on(async {
        let sandbox = Sandbox::of(component, &limits).await?;
        // The first one pays for what the machine has not read yet.
        sandbox.run(first_task("{}".to_owned(), 0), limits).await;
        anyhow::Ok(sandbox.run(first_task("{}".to_owned(), 0), limits).await.0)
    })?;
    let outcome = match &ended.outcome {
        Outcome::Event(event) => format!("ended with {}", event.name),
        Outcome::Waiting => "waits".to_owned(),
        Outcome::Failed { message, .. } => format!("failed: {}", message.lines().next().unwrap_or_default()),
        Outcome::Stopped { code, .. } => format!("stopped: {}", code.as_str()),
    };
    Ok(EmptyRun {
        fuel: ended.stats.fuel_used,
        memory_bytes: ended.stats.memory_peak,
        wall_ms: ended.stats.wall.as_secs_f64() * 1000.0,
        outcome,
    })
}

/// Writes a component unless it is there already, so that whoever watches the file sees only real changes.
fn write(file: &Path, component: &[u8]) -> anyhow::Result<()> {
    if std::fs::read(file).is_ok_and(|old| old == component) {
        return Ok(());
    }
    let cannot = || format!("cannot write {}", file.display());
    let partial = file.with_extension("wasm.partial");
    std::fs::write(&partial, component).with_context(cannot)?;
    std::fs::rename(&partial, file).with_context(cannot)
}
