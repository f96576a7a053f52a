//! A compiler for guests from Debian's packages, for machines where rustup cannot download the target.
//!
//! Debian builds `rustc-web` for its browsers: a current compiler with its source. Its packages are downloaded and unpacked
//! under `target/tools/rust-wasm`, which needs no root and installs nothing; the standard library is compiled once for
//! wasm32-unknown-unknown with cargo's build-std and put where the compiler looks for it. From then on it is a compiler
//! like any other: cargo is told of it with `RUSTC=target/tools/rust-wasm/rustc`.
//!
//! Versions are read from apt, none is written here. Compiler and library source must be of one version, so the pinned
//! compiler cannot be used with Debian's source.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use stateous_build::rust::TARGET;

use crate::shell::{cargo, output, say};

/// Finds the libraries that Debian's compiler came with. Relative, so that the repository may be moved.
const WRAPPER: &str = r#"#!/bin/sh
# Debian's compiler for guests: cargo xtask guests made this.
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/bin/rustc" "$@"
"#;

/// Debian's packages could not be had here: the machine's network or apt, not our recipe.
#[derive(Debug, thiserror::Error)]
#[error("Debian's packages cannot be had here")]
pub(super) struct NoPackages;

/// Debian's compiler under `tools`, made if it is not there: the path of its `rustc`.
pub(super) fn toolchain(root: &Path, tools: &Path) -> Result<PathBuf> {
    let home = tools.join("rust-wasm");
    let rustc = home.join("rustc");
    if rustc.is_file() {
        return Ok(rustc);
    }
    if !cfg!(target_os = "linux") || !Path::new("/usr/bin/dpkg-deb").exists() {
        bail!(
            "guests are built for {TARGET}, which the compiler lacks, rustup did not bring it, and this is no Debian \
             whose packages could help. Install it by hand: rustup target add {TARGET}"
        );
    }
    say("Taking a compiler for guests from Debian's packages (about 150 MB and two minutes, once)");
    fs::create_dir_all(tools).with_context(|| format!("cannot make {}", tools.display()))?;
    // Everything happens beside its final place: what is called `rust-wasm` is complete.
    let work =
        tempfile::Builder::new().prefix("rust-wasm-").tempdir_in(tools).context("cannot make a folder")?;
    let unpacked = download(work.path()).context(NoPackages)?;
    let partial = work.path().join("toolchain");
    arrange(root, &unpacked, &partial)?;
    build_std(root, work.path(), &partial)?;
    fs::rename(&partial, &home).with_context(|| format!("cannot make {}", home.display()))?;
    Ok(rustc)
}

/// Downloads and unpacks the packages: a folder that looks like `/`.
fn download(work: &Path) -> Result<PathBuf> {
    let apt = Apt::that_knows("rustc-web", work).with_context(|| {
        format!(
            "Debian's security archive has rustc-web. Install the target by hand: rustup target add {TARGET}"
        )
    })?;
    let version = apt.candidate("rustc-web")?.context("apt has no rustc-web any more")?;
    let std = apt.dependency(&format!("libstd-rust-web-dev={version}"), "libstd-rust-web-")?;
    let llvm = apt.dependency(&std, "libllvm")?;
    let z3 = apt.dependency(&llvm, "libz3-")?;
    let packages = [
        format!("rustc-web={version}"),
        format!("libstd-rust-web-dev={version}"),
        format!("{std}={version}"),
        format!("rust-web-src={version}"),
        llvm,
        z3,
    ];
    say(&format!("  {}", packages.join(" ")));
    let debs = work.join("debs");
    let unpacked = work.join("unpacked");
    for folder in [&debs, &unpacked] {
        fs::create_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    output(apt.command("apt-get").arg("download").args(&packages).current_dir(&debs))?;
    for deb in files(&debs)? {
        output(Command::new("dpkg-deb").arg("--extract").arg(deb).arg(&unpacked))?;
    }
    Ok(unpacked)
}

/// Puts what was unpacked into the layout of a toolchain.
fn arrange(root: &Path, unpacked: &Path, home: &Path) -> Result<()> {
    let host = host_triple(root)?;
    let usr = unpacked.join("usr");
    let rustlib = home.join("lib/rustlib");
    for folder in [home.join("bin"), rustlib.join("src/rust")] {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let take = |from: &Path, to: &Path| {
        fs::rename(from, to).with_context(|| format!("Debian's packages have no {}", from.display()))
    };
    take(&usr.join("bin/rustc"), &home.join("bin/rustc"))?;
    take(&usr.join("lib/rustlib").join(&host), &rustlib.join(&host))?;
    let source = files(&usr.join("src"))?.into_iter().find(|folder| folder.join("library").is_dir());
    let source = source.context("rust-web-src has no library")?;
    take(&source.join("library"), &rustlib.join("src/rust/library"))?;

    let libraries = usr.join("lib").join(host.replace("-unknown", ""));
    for library in files(&libraries)? {
        let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let wanted = ["librustc_driver-", "libLLVM", "libz3.so"];
        if wanted.iter().any(|prefix| name.starts_with(prefix)) {
            take(&library, &home.join("lib").join(&name))?;
        }
    }

    // Debian's package only has dangling links to its linker; the pinned toolchain's is of the same LLVM.
    let bin = rustlib.join(&host).join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("cannot make {}", bin.display()))?;
    let link = bin.join("rust-lld");
    if fs::symlink_metadata(&link).is_ok() {
        fs::remove_file(&link).with_context(|| format!("cannot replace {}", link.display()))?;
    }
    symlink(linker(root, &host)?, &link).with_context(|| format!("cannot make {}", link.display()))?;

    let wrapper = home.join("rustc");
    fs::write(&wrapper, WRAPPER).with_context(|| format!("cannot write {}", wrapper.display()))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&wrapper, executable)
        .with_context(|| format!("cannot make {} executable", wrapper.display()))
}

/// Compiles the standard library for the target, from an empty crate, and puts it where the compiler looks for it.
fn build_std(root: &Path, work: &Path, home: &Path) -> Result<()> {
    output(Command::new(home.join("rustc")).arg("--version")).context(
        "Debian's compiler does not start here; if a library is missing, install what libllvm depends on \
         (libedit2, libxml2)",
    )?;
    say(&format!("  compiling the standard library for {TARGET}"));
    let package = work.join("empty");
    fs::create_dir_all(package.join("src")).context("cannot make a crate")?;
    let manifest = "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(package.join("Cargo.toml"), manifest).context("cannot make a crate")?;
    fs::write(package.join("src/lib.rs"), "").context("cannot make a crate")?;

    let target_dir = work.join("build");
    let mut command = cargo(root);
    command
        .current_dir(&package)
        .args(["build", "--quiet", "--release", "--target", TARGET, "-Z", "build-std=std,panic_abort"])
        .env("RUSTC", home.join("rustc"))
        .env("CARGO_TARGET_DIR", &target_dir)
        // build-std is a nightly option; the library is the compiler's own, so this is what its makers do.
        .env("RUSTC_BOOTSTRAP", "1")
        // As in a library from rustup: without it a guest's `lto = true` finds no bitcode in std.
        .env("RUSTFLAGS", "-C embed-bitcode=yes")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTC_WRAPPER")
        .stderr(Stdio::inherit());
    output(&mut command).context("Debian's standard library does not compile")?;

    let libraries = home.join("lib/rustlib").join(TARGET).join("lib");
    fs::create_dir_all(&libraries).with_context(|| format!("cannot make {}", libraries.display()))?;
    let mut count = 0;
    for file in files(&target_dir.join(TARGET).join("release/deps"))? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libempty-") {
            fs::rename(&file, libraries.join(name)).context("cannot move the standard library")?;
            count += 1;
        }
    }
    ensure!(count > 0, "cargo built no standard library in {}", target_dir.display());
    Ok(())
}

/// The linker that the pinned toolchain has.
fn linker(root: &Path, host: &str) -> Result<PathBuf> {
    let sysroot = output(Command::new("rustc").current_dir(root).args(["--print", "sysroot"]))?;
    let lld = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/rust-lld");
    ensure!(lld.is_file(), "the toolchain has no linker at {}; install Rust with rustup", lld.display());
    Ok(lld)
}

fn host_triple(root: &Path) -> Result<String> {
    let about = output(Command::new("rustc").current_dir(root).arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).with_context(|| format!("rustc -vV names no host: {about}"))
}

/// What a folder holds, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.sort();
    Ok(files)
}

/// apt, asked about packages and never told to install one.
pub(super) struct Apt {
    options: Vec<OsString>,
}

impl Apt {
    /// apt with the machine's package lists if they know the package, or else with lists of our own.
    pub(super) fn that_knows(package: &str, work: &Path) -> Result<Self> {
        // As root, apt would drop to a user that may not write into our folder.
        let machine = Self { options: vec!["-oAPT::Sandbox::User=root".into()] };
        if machine.candidate(package)?.is_some() {
            return Ok(machine);
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
        if own.candidate(package)?.is_some() {
            return Ok(own);
        }
        bail!("no package source of this machine has {package}")
    }

    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options).env("LC_ALL", "C");
        command
    }

    /// The version that would be installed.
    fn candidate(&self, package: &str) -> Result<Option<String>> {
        let policy = output(self.command("apt-cache").args(["policy", package]))?;
        let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
        Ok(version.filter(|version| *version != "(none)").map(str::to_owned))
    }

    /// The one dependency of a package whose name begins so and goes on with a digit.
    fn dependency(&self, package: &str, prefix: &str) -> Result<String> {
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
