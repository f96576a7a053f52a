//! Which compiler builds guests, and how it is called.
//!
//! In this order: the target that the pinned toolchain already has; the one that `rustup target add` brings; Debian's
//! compiler, unpacked under `target/tools`. How it builds is `stateous-build`'s. Nothing outside `target/` changes but rustup's own target.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use stateous_build::rust::{Module, TARGET, has_target, modules};

use super::debian;
use crate::process::until;
use crate::shell::{cargo, say};

/// A download that takes longer than this is taken for one that will not end.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// A compiler that can build guests.
pub(crate) struct GuestToolchain {
    /// What goes into cargo's `RUSTC`; `None` when the compiler that cargo finds by itself has the target.
    rustc: Option<PathBuf>,
    target_dir: PathBuf,
}

/// Finds a compiler for guests, or installs one.
pub(super) fn find(root: &Path, force_debian: bool) -> Result<GuestToolchain> {
    if !force_debian && (has_target(root) || rustup_adds_target(root)) {
        return Ok(GuestToolchain { rustc: None, target_dir: root.join("target/guest-build") });
    }
    let rustc = debian::toolchain(root, &root.join("target/tools"))?;
    // A folder of its own: two compilers in one would build everything anew in turn.
    Ok(GuestToolchain { rustc: Some(rustc), target_dir: root.join("target/guest-build-debian") })
}

impl GuestToolchain {
    /// `cargo` for [`TARGET`], in a folder of its own, so that no guest build waits for or spoils one of the product.
    pub(crate) fn cargo(&self, root: &Path) -> Command {
        let mut command = cargo(root);
        // cargo takes the target from the environment, so that callers only add a subcommand and its options.
        command.env("CARGO_BUILD_TARGET", TARGET).env("CARGO_TARGET_DIR", &self.target_dir);
        if let Some(rustc) = &self.rustc {
            command.env("RUSTC", rustc).env_remove("RUSTC_WRAPPER");
        }
        command
    }

    /// Builds every guest of a manifest, in the release profile.
    pub(crate) fn build(&self, manifest: &Path) -> Result<Vec<Module>> {
        Ok(modules(manifest, &self.target_dir, self.rustc.as_deref())?)
    }
}

/// Whether rustup brought the target. Every reason why not leads to the fallback, so it is only told.
fn rustup_adds_target(root: &Path) -> bool {
    say(&format!("The compiler has no {TARGET}; asking rustup for it"));
    match rustup(root) {
        Ok(()) => true,
        Err(why) => {
            say(&format!("  {why:#}"));
            false
        }
    }
}

fn rustup(root: &Path) -> Result<()> {
    let mut command = Command::new("rustup");
    command.current_dir(root).args(["target", "add", TARGET]).stdin(Stdio::null());
    let mut child = command.spawn().context("cannot start rustup")?;
    let Some(status) = until(RUSTUP_LIMIT, || child.try_wait().transpose()) else {
        child.kill().and_then(|()| child.wait()).context("cannot stop rustup")?;
        bail!("rustup was not done after {} s", RUSTUP_LIMIT.as_secs());
    };
    match status.context("cannot wait for rustup")? {
        status if status.success() && has_target(root) => Ok(()),
        status if status.success() => {
            bail!("rustup added {TARGET} to another toolchain than cargo uses here")
        }
        status => bail!("rustup target add {TARGET} ended with {status}"),
    }
}
