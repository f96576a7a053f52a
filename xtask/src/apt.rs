//! Debian's packages without root: asked about, downloaded and unpacked, never installed.
//!
//! Versions are read from apt, none is written here.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::shell::{output, say};

/// apt, asked about packages and never told to install one.
pub(crate) struct Apt {
    options: Vec<OsString>,
}

impl Apt {
    /// Whether this machine has Debian's tools.
    pub(crate) fn is_here() -> bool {
        cfg!(target_os = "linux") && Path::new("/usr/bin/dpkg-deb").exists()
    }

    /// apt with the machine's package lists if they know the package, or else with lists of our own under `work`. `None`
    /// when no source of this machine has it.
    pub(crate) fn that_knows(package: &str, work: &Path) -> Result<Option<Self>> {
        // As root, apt would drop to a user that may not write into our folder.
        let machine = Self { options: vec!["-oAPT::Sandbox::User=root".into()] };
        if machine.candidate(package)?.is_some() {
            return Ok(Some(machine));
        }
        say(&format!("  this machine's package lists do not know {package}; downloading lists of our own"));
        let mut options = machine.options;
        for (key, folder) in [("Dir::State::lists", "lists"), ("Dir::Cache", "cache")] {
            let folder = work.join("apt").join(folder);
            for folder in [folder.join("partial"), folder.join("archives/partial")] {
                fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            }
            options.push(format!("-o{key}={}", folder.display()).into());
        }
        let own = Self { options };
        output(own.command("apt-get").args(["--quiet", "update"]))
            .context("apt cannot download package lists")?;
        Ok(own.candidate(package)?.is_some().then_some(own))
    }

    /// Downloads packages and unpacks them: a folder under `work` that looks like `/`.
    pub(crate) fn unpack(&self, packages: &[String], work: &Path) -> Result<PathBuf> {
        say(&format!("  {}", packages.join(" ")));
        let debs = work.join("debs");
        let unpacked = work.join("unpacked");
        for folder in [&debs, &unpacked] {
            fs::create_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        output(self.command("apt-get").arg("download").args(packages).current_dir(&debs))?;
        for deb in files(&debs)? {
            output(Command::new("dpkg-deb").arg("--extract").arg(deb).arg(&unpacked))?;
        }
        Ok(unpacked)
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options).env("LC_ALL", "C");
        command
    }

    /// The version that would be installed.
    pub(crate) fn candidate(&self, package: &str) -> Result<Option<String>> {
        let policy = output(self.command("apt-cache").args(["policy", package]))?;
        let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
        Ok(version.filter(|version| *version != "(none)").map(str::to_owned))
    }

    /// The one dependency of a package whose name begins so and goes on with a digit.
    pub(crate) fn dependency(&self, package: &str, prefix: &str) -> Result<String> {
        let depends = output(self.command("apt-cache").args(["depends", package]))?;
        dependency(&depends, prefix)
            .map(str::to_owned)
            .with_context(|| format!("{package} depends on no {prefix}<number>: {depends}"))
    }
}

fn dependency<'a>(depends: &'a str, prefix: &str) -> Option<&'a str> {
    depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")).find(|name| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// What a folder holds, sorted.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_found_by_the_start_of_its_name() {
        let depends =
            "libstd-rust-web-dev\n  Depends: libstd-rust-web-1.96\n  Depends: libc6\n |Depends: gcc\n";
        assert_eq!(dependency(depends, "libstd-rust-web-"), Some("libstd-rust-web-1.96"));
        assert_eq!(dependency("rustc\n  Depends: libstd-rust-web-dev\n", "libstd-rust-web-"), None);
    }
}
