//! A Postgres for the tests: the one that is installed, or Debian's packages unpacked under `target/tools/postgres`.
//!
//! Unpacking needs no root and installs nothing. Where such a server is looked for, and how it is run, is
//! `stateous-private-postgres`' business.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use stateous_private_postgres::Programs;

use crate::apt::Apt;
use crate::shell::{output, say, target_dir};

/// The version that we promise to run on.
const SERVER: &str = "postgresql-15";
/// What every server needs and no machine has by chance.
const CLIENT: &str = "postgresql-client-15";

/// Makes sure that there is a Postgres to start private clusters of.
pub(crate) fn prepare(root: &Path) -> Result<()> {
    if let Some(programs) = Programs::find() {
        say(&format!("Postgres is there: {}", programs.bin().display()));
        return Ok(());
    }
    let tools = target_dir(root).join("tools");
    let home = unpack(&tools)?;
    match Programs::find() {
        Some(_) => Ok(()),
        None => bail!("Debian's packages in {} hold no whole Postgres", home.display()),
    }
}

/// Debian's server under `tools`.
fn unpack(tools: &Path) -> Result<PathBuf> {
    if !Apt::is_here() {
        bail!(
            "the tests need Postgres 15, and this is no Debian whose packages could help. Install it, or name the folder \
             of its programs in STATEOUS_POSTGRES_BIN"
        );
    }
    say("Taking Postgres from Debian's packages (about 20 MB, once)");
    fs::create_dir_all(tools).with_context(|| format!("cannot make {}", tools.display()))?;
    // Everything happens beside its final place: what is called `postgres` is complete.
    let work =
        tempfile::Builder::new().prefix("postgres-").tempdir_in(tools).context("cannot make a folder")?;
    let apt = Apt::that_knows(SERVER, work.path())?.with_context(|| {
        format!("no package source of this machine has {SERVER}; install Postgres by hand")
    })?;
    let mut simulated = apt.command("apt-get");
    simulated.args(["--simulate", "--no-install-recommends", "install", SERVER]);
    let mut packages = missing_libraries(&output(&mut simulated)?);
    packages.extend([SERVER.to_owned(), CLIENT.to_owned()]);
    let unpacked = apt.unpack(&packages, work.path())?;
    let home = tools.join("postgres");
    fs::rename(&unpacked, &home).with_context(|| format!("cannot make {}", home.display()))?;
    Ok(home)
}

/// The libraries that an installation would bring with it. Postgres compiles nothing for us, so LLVM stays away.
fn missing_libraries(simulated: &str) -> Vec<String> {
    let names = simulated.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next());
    let wanted = |name: &&str| {
        name.starts_with("lib") && !["llvm", "perl", "clang"].iter().any(|other| name.contains(other))
    };
    names.filter(wanted).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_libraries_are_taken_along() {
        let simulated = "NOTE: This is only a simulation!\n\
            Inst libpq5 (15.20-0+deb12u1 Debian-Security:12/oldstable-security [amd64])\n\
            Inst libllvm14 (1:14.0.6-12 Debian:12.1/oldstable [amd64])\n\
            Inst ssl-cert (1.1.2 Debian:12.1/oldstable [all])\n\
            Inst libcommon-sense-perl (3.75-3 Debian:12.1/oldstable [amd64])\n\
            Inst libxslt1.1 (1.1.35-1 Debian:12.1/oldstable [amd64])\n\
            Conf libpq5 (15.20-0+deb12u1 Debian-Security:12/oldstable-security [amd64])\n";
        assert_eq!(missing_libraries(simulated), ["libpq5", "libxslt1.1"]);
    }
}
