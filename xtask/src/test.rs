//! `cargo xtask test`: everything CI runs, in the order in which a mistake shows soonest.

use std::path::Path;

use anyhow::Result;

use crate::shell::{cargo, run, say, step};

/// Tests that are the same whatever the database is: the HTTP boundary, and the stories of processes that die.
const ON_POSTGRES: &[&str] =
    &["http", "control_plane_killed", "database_lost", "main_job", "standby", "supervisor_killed"];

/// Options of the test run.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only the tests whose names hold this text; formats and lints are left out.
    #[arg(long)]
    only: Option<String>,
}

/// Runs everything.
pub(crate) fn run_all(root: &Path, args: &Args) -> Result<()> {
    if let Some(only) = &args.only {
        crate::guests::build_all(root, false)?;
        crate::postgres::prepare(root)?;
        build(root)?;
        return run(required(cargo(root).args(["test", "--workspace", "--no-fail-fast", only])));
    }
    step("Format");
    run(cargo(root).args(["fmt", "--all", "--check"]))?;
    for manifest in crate::guests::manifests(root)? {
        // In its folder and without --all, which would follow the SDK's path into the house.
        let folder = manifest.parent().unwrap_or(root);
        run(cargo(folder).args(["fmt", "--check"]))?;
    }
    step("Guests: toolchain, then every guest program and example");
    crate::guests::build_all(root, false)?;
    step("Guests, the way round: Debian's compiler");
    crate::guests::check_fallback(root)?;
    step("Postgres, for private clusters");
    crate::postgres::prepare(root)?;
    step("The rules build without an operating system");
    crate::guests::check_for_wasm(root, &["stateous-engine", "stateous-compiler"])?;
    step("Lints");
    run(cargo(root).args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))?;
    step("Tests: unit, conformance, guests, stories with real processes");
    build(root)?;
    run(required(cargo(root).args(["test", "--workspace", "--no-fail-fast"])))?;
    step("Tests over a database, once more on Postgres");
    let mut again = cargo(root);
    again.args(["test", "--workspace", "--no-fail-fast"]);
    again.args(ON_POSTGRES.iter().flat_map(|test| ["--test", test]));
    run(required(&mut again).env("STATEOUS_TEST_DATABASE", "postgres"))?;
    step("Tests of the examples' routines, natively");
    for manifest in crate::guests::manifests(root)? {
        if manifest.starts_with(root.join("examples")) {
            run(cargo(root).args(["test", "--manifest-path"]).arg(manifest))?;
        }
    }
    say("\nEverything passed.");
    Ok(())
}

/// The executable that the stories run, with the features of the whole workspace, so that nothing is built twice.
fn build(root: &Path) -> Result<()> {
    run(cargo(root).args(["build", "--workspace", "--bin", "stateous"]))
}

/// Tells the tests that nothing may be skipped: a tool that is missing is a failure here.
fn required(command: &mut std::process::Command) -> &mut std::process::Command {
    command.env("STATEOUS_TEST_REQUIRE", "all")
}
