//! `cargo xtask guests`: everything that runs inside the sandbox, built and made into components.
//!
//! What goes where: the routine of `examples/<name>/routines/<state>` becomes `examples/<name>/build/<state>.wasm`, the
//! crate of `tests/guests/<folder>` becomes `target/guests/<crate>.wasm`, and the example and the crashing guest of each
//! other language (`guest-sdk/<language>/example`, `tests/guests/<language>/<folder>`) become
//! `target/guests/<language>-<folder>.wasm`. How a language is built is `stateous-build`'s; which Rust compiler does it is
//! `toolchain.rs`'s question, where one comes from when rustup has none is `debian.rs`'s, and where the tools of the
//! other languages come from is `tools.rs`'s.

mod debian;
mod languages;
mod toolchain;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::shell::{run as run_command, say};

/// Options of the guest build.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Take the compiler from Debian's packages (unpacked under target/tools) even where rustup has the target.
    #[arg(long)]
    from_debian: bool,
    /// Run the native tests of the other languages' SDKs and routines too.
    #[arg(long)]
    test: bool,
}

/// Finds or installs the toolchain and builds every guest.
pub(crate) fn run(root: &Path, args: &Args) -> Result<()> {
    build_all(root, args.from_debian)?;
    if args.test { languages::test(root) } else { Ok(()) }
}

/// Builds every guest of the repository with the toolchain that is found or, if need be, installed under `target/`.
pub(crate) fn build_all(root: &Path, force_debian: bool) -> Result<()> {
    let toolchain = toolchain::find(root, force_debian)?;
    tools::install(root)?;
    let test_components = root.join("target/guests");
    for manifest in manifests(root)? {
        let is_example = manifest.starts_with(root.join("examples"));
        let began = Instant::now();
        let guests = toolchain.build(&manifest).context("a guest does not build; see above")?;
        if guests.is_empty() {
            bail!("{} has no crate with crate-type = [\"cdylib\"]", manifest.display());
        }
        for guest in &guests {
            let component = if is_example {
                let example = manifest.parent().and_then(Path::parent).unwrap_or(root);
                example
                    .join("build")
                    .join(guest.folder.file_name().unwrap_or_default())
                    .with_extension("wasm")
            } else {
                test_components.join(&guest.package).with_extension("wasm")
            };
            let bytes = componentize(&guest.file, &component)?;
            let shown = component.strip_prefix(root).unwrap_or(&component);
            say(&format!("  {} ({} KiB)", shown.display(), bytes.div_ceil(1024)));
        }
        let shown = manifest.strip_prefix(root).unwrap_or(&manifest);
        say(&format!("  {}: {:.1} s", shown.display(), began.elapsed().as_secs_f64()));
    }
    languages::build(root, &test_components)
}

/// Builds an example with Debian's compiler where rustup's does it too, so that the way round still works on the day when
/// it is needed. Where Debian's packages cannot be had, it says so: nothing here is wrong then.
pub(crate) fn check_fallback(root: &Path) -> Result<()> {
    let manifest = root.join("examples/orders/routines/Cargo.toml");
    let built = toolchain::find(root, true).and_then(|toolchain| toolchain.build(&manifest));
    let guests = match built {
        Err(why) if why.downcast_ref::<debian::NoPackages>().is_some() => {
            say(&format!("skipped: {why:#}"));
            return Ok(());
        }
        built => built?,
    };
    for guest in &guests {
        let core = fs::read(&guest.file).with_context(|| format!("cannot read {}", guest.file.display()))?;
        let component = stateous_inspect::componentize(&core)?;
        if let Err(problems) = stateous_inspect::check(&component) {
            bail!("Debian's compiler makes of {} what is no routine: {problems:?}", guest.package);
        }
        say(&format!("  {} ({} KiB)", guest.package, component.len().div_ceil(1024)));
    }
    Ok(())
}

/// Every cargo manifest that makes guests, sorted. A workspace is named once, by its own manifest.
pub(crate) fn manifests(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders(&root.join("examples"))? {
        found.push(folder.join("routines/Cargo.toml"));
    }
    let tests = root.join("tests/guests");
    match tests.join("Cargo.toml") {
        workspace if workspace.is_file() => found.push(workspace),
        _ => found.extend(folders(&tests)?.iter().map(|folder| folder.join("Cargo.toml"))),
    }
    found.retain(|manifest| manifest.is_file());
    Ok(found)
}

/// Runs the native tests of the other languages' SDKs and routines.
pub(crate) fn test_languages(root: &Path) -> Result<()> {
    languages::test(root)
}

/// Checks that these packages of the product build for wasm32-unknown-unknown, which keeps them free of any IO.
pub(crate) fn check_for_wasm(root: &Path, packages: &[&str]) -> Result<()> {
    let toolchain = toolchain::find(root, false)?;
    let mut command = toolchain.cargo(root);
    command.args(["check", "--lib"]);
    for package in packages {
        command.args(["--package", package]);
    }
    run_command(&mut command)
}

fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let mut folders = Vec::new();
    for entry in fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))? {
        let entry = entry.with_context(|| format!("cannot list {}", path.display()))?.path();
        if entry.is_dir() {
            folders.push(entry);
        }
    }
    folders.sort();
    Ok(folders)
}

/// Makes a component of a core module and says how many bytes it has.
fn componentize(core: &Path, component: &Path) -> Result<usize> {
    let bytes = fs::read(core).with_context(|| format!("cannot read {}", core.display()))?;
    let made = stateous_inspect::componentize(&bytes)
        .with_context(|| format!("cannot make a component of {}", core.display()))?;
    write(component, &made)?;
    Ok(made.len())
}

/// Writes a component. A file that would not change is left alone, so that whoever watches it sees only real changes.
fn write(component: &Path, made: &[u8]) -> Result<()> {
    if fs::read(component).is_ok_and(|old| old == made) {
        return Ok(());
    }
    let folder = component.parent().context("a component's path has a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let partial = component.with_extension("wasm.partial");
    fs::write(&partial, made).with_context(|| format!("cannot write {}", partial.display()))?;
    fs::rename(&partial, component).with_context(|| format!("cannot write {}", component.display()))
}
