//! What was saved.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

/// An editor writes a file in several steps; changes this close together are one.
const SETTLE: Duration = Duration::from_millis(150);

/// Folders of what tools write.
const WRITTEN: [&str; 6] = ["target", ".stateous", "build", "node_modules", "__pycache__", ".venv"];
/// What sources of routines are called, in every language of the SDKs.
const SOURCES: [&str; 10] = ["rs", "js", "mjs", "ts", "py", "c", "cc", "cpp", "h", "go"];
const MANIFESTS: [&str; 4] = ["Cargo.toml", "package.json", "pyproject.toml", "go.mod"];

/// What changed since it was asked last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) workflow: bool,
    pub(super) routines: bool,
}

/// Watches a folder until it is dropped.
pub(super) struct Changes {
    /// The watched folder; a person may have called a folder above it `target` or `build`.
    folder: PathBuf,
    events: mpsc::UnboundedReceiver<PathBuf>,
    _watcher: RecommendedWatcher,
}

impl Changes {
    pub(super) fn of(folder: &Path) -> Result<Self> {
        let (found, events) = mpsc::unbounded_channel();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in event.paths {
                // When nobody listens any more, the watcher is about to be dropped.
                let _ = found.send(path);
            }
        })
        .context("cannot watch files on this machine")?;
        let cannot = || format!("cannot watch {}", folder.display());
        let folder = &folder.canonicalize().with_context(cannot)?;
        watcher.watch(folder, RecursiveMode::NonRecursive).with_context(cannot)?;
        let routines = folder.join("routines");
        if routines.is_dir() {
            watcher.watch(&routines, RecursiveMode::Recursive).with_context(cannot)?;
        }
        Ok(Self { folder: folder.clone(), events, _watcher: watcher })
    }

    /// Waits for something to change, and for the changes to settle.
    pub(super) async fn next(&mut self) -> Result<Changed> {
        loop {
            let first = self.events.recv().await.context("nobody watches the files any more")?;
            let mut changed = Changed::default();
            changed.add(self.inside(&first));
            while let Ok(Some(path)) = tokio::time::timeout(SETTLE, self.events.recv()).await {
                changed.add(self.inside(&path));
            }
            if changed != Changed::default() {
                return Ok(changed);
            }
        }
    }
}

impl Changes {
    /// A path as seen from the folder.
    fn inside<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.folder).unwrap_or(path)
    }
}

impl Changed {
    fn add(&mut self, path: &Path) {
        // What compilers, package managers and we write is not what a person saves.
        let built =
            path.components().any(|part| part.as_os_str().to_str().is_some_and(|p| WRITTEN.contains(&p)));
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if built || name == "Cargo.lock" {
            return;
        }
        self.workflow |= name == "workflow.toml";
        let extension =
            Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        self.routines |= SOURCES.contains(&extension) || MANIFESTS.contains(&name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sources_count() {
        let seen = |path: &str| {
            let mut changed = Changed::default();
            changed.add(Path::new(path));
            (changed.workflow, changed.routines)
        };
        assert_eq!(seen("workflow.toml"), (true, false));
        assert_eq!(seen("routines/draft/src/lib.rs"), (false, true));
        assert_eq!(seen("routines/draft/Cargo.toml"), (false, true));
        assert_eq!(seen("routines/mail/routine.ts"), (false, true));
        assert_eq!(seen("routines/count/go.mod"), (false, true));
        assert_eq!(seen("routines/mail/node_modules/a/index.js"), (false, false));
        assert_eq!(seen("routines/sum/__pycache__/routine.py"), (false, false));
        assert_eq!(seen("routines/target/debug/build.rs"), (false, false));
        assert_eq!(seen("routines/Cargo.lock"), (false, false));
        assert_eq!(seen("README.md"), (false, false));
    }
}
