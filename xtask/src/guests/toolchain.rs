//! Which compiler builds guests, and how it is called.
//!
//! In this order: the target that the pinned toolchain already has; the one that `rustup target add` brings; Debian's
//! compiler, unpacked under `target/tools`. Nothing outside `target/` changes but rustup's own target.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::debian;
use crate::process::until;
use crate::shell::{cargo, output, say};

pub(super) const TARGET: &str = "wasm32-unknown-unknown";
/// A download that takes longer than this is taken for one that will not end.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// A compiler that can build guests.
pub(crate) struct GuestToolchain {
    /// What goes into cargo's `RUSTC`; `None` when the compiler that cargo finds by itself has the target.
    rustc: Option<PathBuf>,
    target_dir: PathBuf,
}

/// A guest that was built.
pub(crate) struct Guest {
    /// The crate's name.
    pub(crate) package: String,
    /// The crate's folder, which for an example is named after its state.
    pub(crate) folder: PathBuf,
    /// The core module, not a component yet.
    pub(crate) core: PathBuf,
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
    pub(crate) fn build(&self, manifest: &Path) -> Result<Vec<Guest>> {
        let folder = manifest.parent().context("a manifest's path has a folder")?;
        let mut command = self.cargo(folder);
        command.args([
            "build",
            "--release",
            "--message-format",
            "json-render-diagnostics",
            "--manifest-path",
        ]);
        command.arg(manifest).stderr(Stdio::inherit());
        let messages = output(&mut command).context("a guest does not build; see above")?;
        Ok(messages.lines().filter_map(guest).collect())
    }
}

impl Guest {
    /// The last part of the crate's folder.
    pub(crate) fn folder_name(&self) -> &std::ffi::OsStr {
        self.folder.file_name().unwrap_or(self.package.as_ref())
    }
}

/// Reads one of cargo's messages: a guest, if it announces a cdylib's .wasm.
fn guest(message: &str) -> Option<Guest> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_cdylib = message["target"]["kind"].as_array()?.iter().any(|kind| kind == "cdylib");
    if message["reason"] != "compiler-artifact" || !is_cdylib {
        return None;
    }
    let files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
    let core = files.map(PathBuf::from).find(|file| file.extension().is_some_and(|ext| ext == "wasm"))?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = package_name(message["package_id"].as_str()?)?.to_owned();
    Some(Guest { package, folder, core })
}

/// The name in `path+file:///folder/name#0.1.0` or `path+file:///folder#name@0.1.0`.
fn package_name(id: &str) -> Option<&str> {
    let (url, fragment) = id.split_once('#')?;
    match fragment.split_once('@') {
        Some((name, _)) => Some(name),
        None => url.rsplit('/').next(),
    }
}

/// Whether the compiler that cargo takes in this folder has the target's standard library.
fn has_target(root: &Path) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.current_dir(root).args(["--print", "target-libdir", "--target", TARGET]);
    let Ok(folder) = output(&mut command) else { return false };
    std::fs::read_dir(folder.trim()).is_ok_and(|mut files| {
        files.any(|file| file.is_ok_and(|file| file.file_name().to_string_lossy().starts_with("libstd-")))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_id_holds_the_name_in_two_places() {
        assert_eq!(package_name("path+file:///a/spin#0.1.0"), Some("spin"));
        assert_eq!(package_name("path+file:///a/draft#orders-draft@0.1.0"), Some("orders-draft"));
        assert_eq!(package_name("spin"), None);
    }

    #[test]
    fn a_cdylib_artifact_is_a_guest() {
        let message = r#"{"reason":"compiler-artifact","package_id":"path+file:///e/draft#orders-draft@0.1.0",
            "manifest_path":"/e/draft/Cargo.toml","target":{"kind":["cdylib"],"name":"orders_draft"},
            "filenames":["/t/orders_draft.wasm"]}"#;
        let guest = guest(message).unwrap();
        assert_eq!(guest.package, "orders-draft");
        assert_eq!(guest.folder_name(), "draft");
        assert_eq!(guest.core, Path::new("/t/orders_draft.wasm"));
        for other in
            ["", "{}", r#"{"reason":"build-finished","success":true}"#, &message.replace("cdylib", "lib")]
        {
            assert!(super::guest(other).is_none(), "{other}");
        }
    }
}
