//! Writing files, and telling which.

use std::path::{Path, PathBuf};

use crate::commands::compile::replace;
use crate::text::escape;

/// A folder that files are written into, and what became of each.
pub(crate) struct Files {
    root: PathBuf,
    told: Vec<(Done, String)>,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    Wrote,
    Kept,
}

impl Files {
    /// Files below `root`, which is made with the first of them.
    pub(crate) fn below(root: &Path) -> Self {
        Self { root: root.to_owned(), told: Vec::new() }
    }

    /// A path below the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Whether something has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Writes a file that people go on to write: only when it is not there.
    pub(crate) fn once(&mut self, name: &str, text: &str) -> anyhow::Result<()> {
        if self.has(name) {
            self.tell(Done::Kept, name);
            return Ok(());
        }
        self.write(name, text)?;
        self.tell(Done::Wrote, name);
        Ok(())
    }

    /// Writes a generated file, unless it says the same already.
    pub(crate) fn anew(&mut self, name: &str, text: &str) -> anyhow::Result<()> {
        let done = if self.changed(name, text)? { Done::Wrote } else { Done::Kept };
        self.tell(done, name);
        Ok(())
    }

    /// Writes a folder of generated files, told as one.
    pub(crate) fn folder<'f>(
        &mut self,
        name: &str,
        files: impl IntoIterator<Item = (&'f str, String)>,
    ) -> anyhow::Result<()> {
        let mut done = Done::Kept;
        for (file, text) in files {
            if self.changed(&format!("{name}/{file}"), &text)? {
                done = Done::Wrote;
            }
        }
        self.tell(done, name);
        Ok(())
    }

    /// Tells of something that is not a file of this folder and stays as it is.
    pub(crate) fn kept(&mut self, what: &str) {
        self.told.push((Done::Kept, what.to_owned()));
    }

    /// `wrote    orders/workflow.toml`: a line for each, in order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.told.iter().map(|(done, name)| {
            let word = if *done == Done::Wrote { "wrote" } else { "kept" };
            format!("{word:<9}{}", escape(name))
        })
    }

    /// What was written, then what was kept.
    pub(crate) fn told(&self) -> (Vec<String>, Vec<String>) {
        let of = |which: Done| {
            let of = self.told.iter().filter(|(done, _)| *done == which);
            of.map(|(_, name)| name.clone()).collect()
        };
        (of(Done::Wrote), of(Done::Kept))
    }

    fn tell(&mut self, done: Done, name: &str) {
        self.told.push((done, self.path(name).display().to_string()));
    }

    /// Writes it if it says something else; answers whether it did.
    fn changed(&self, name: &str, text: &str) -> anyhow::Result<bool> {
        if std::fs::read(self.path(name)).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(false);
        }
        self.write(name, text)?;
        Ok(true)
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        replace(&self.path(name), text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_stays_and_what_is_generated_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("orders");
        let run = |version: &str| {
            let mut files = Files::below(&root);
            files.once("lib.rs", version).unwrap();
            files.anew("contract.rs", version).unwrap();
            files.folder("sdk", [("a", version.to_owned()), ("b", "the same".to_owned())]).unwrap();
            let shown: Vec<String> =
                files.lines().map(|line| line.replace(&root.display().to_string(), "R")).collect();
            shown.join("\n")
        };
        assert_eq!(run("1"), "wrote    R/lib.rs\nwrote    R/contract.rs\nwrote    R/sdk");
        assert_eq!(run("1"), "kept     R/lib.rs\nkept     R/contract.rs\nkept     R/sdk");
        assert_eq!(run("2"), "kept     R/lib.rs\nwrote    R/contract.rs\nwrote    R/sdk");
        let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
        assert_eq!(
            (read("lib.rs"), read("contract.rs"), read("sdk/a")),
            ("1".into(), "2".into(), "2".into())
        );
    }
}
