//! A compiler for guests from Debian's packages, for machines where rustup cannot download the target.
//!
//! Debian builds `rustc-web` for its browsers: a current compiler with its source. Its packages are downloaded and unpacked
//! under `target/tools/rust-wasm`, which needs no root and installs nothing; the standard library is compiled once for
//! wasm32-unknown-unknown with cargo's build-std and put where the compiler looks for it. From then on it is a compiler
//! like any other: cargo is told of it with `RUSTC=target/tools/rust-wasm/rustc`.
//!
//! Versions are read from apt, none is written here. Compiler and library source must be of one version, so the pinned
//! compiler cannot be used with Debian's source.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use super::toolchain::TARGET;
use crate::apt::{Apt, files};
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
    let apt = Apt::that_knows("rustc-web", work)?.with_context(|| {
        format!(
            "no package source of this machine has rustc-web (Debian's security archive does). Install the target by \
             hand: rustup target add {TARGET}"
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
    apt.unpack(&packages, work)
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
