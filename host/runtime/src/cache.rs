//! Compiled forms on disk.
//!
//! A file is `<engine>/<digest>.cwasm`: a mark, the SHA-256 of the rest, and what the compiler wrote. It is
//! native code, so what does not match its own sum is deleted and never loaded. It is read into memory and
//! loaded from there: what was checked is what runs, even if the file changes meanwhile.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use tempfile::{NamedTempFile, TempDir};

/// Changes with the layout of the file.
const MARK: &[u8; 8] = b"stcwasm1";
const SUM_BYTES: usize = 32;
const SUFFIX: &str = "cwasm";

/// The folder of one engine.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    dir: PathBuf,
    bytes_max: u64,
}

impl Cache {
    /// Opens the folder of this engine and deletes what other engines left in `root`.
    pub(crate) fn open(root: &Path, engine: &str, bytes_max: u64) -> io::Result<Self> {
        let dir = root.join(engine);
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        for entry in fs::read_dir(root)?.flatten() {
            let name = entry.file_name();
            let foreign =
                name.len() == engine.len() && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
            if foreign && name != engine {
                // Another supervisor may be using it; then it compiles again.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(Self { dir, bytes_max })
    }

    /// A folder for one compilation, gone with its value.
    pub(crate) fn workshop(&self) -> io::Result<TempDir> {
        tempfile::Builder::new().prefix("compile-").tempdir_in(&self.dir)
    }

    /// The compiled form, if it is there and whole.
    pub(crate) fn load(&self, digest: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.path(digest);
        let mut bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let start = MARK.len() + SUM_BYTES;
        let whole = bytes.len() > start
            && bytes.starts_with(MARK)
            && bytes[MARK.len()..start] == Sha256::digest(&bytes[start..])[..];
        if !whole {
            tracing::warn!(digest, "The compiled routine {digest} is damaged on disk, it is compiled again");
            fs::remove_file(&path)?;
            return Ok(None);
        }
        bytes.drain(..start);
        Ok(Some(bytes))
    }

    /// Keeps a compiled form. It is on disk, whole, before anybody can find it.
    pub(crate) fn store(&self, digest: &str, compiled: &[u8]) -> io::Result<()> {
        let mut file = NamedTempFile::new_in(&self.dir)?;
        file.write_all(MARK)?;
        file.write_all(&Sha256::digest(compiled))?;
        file.write_all(compiled)?;
        file.as_file().sync_all()?;
        file.persist(self.path(digest))?;
        File::open(&self.dir)?.sync_all()?;
        self.prune(&self.path(digest))
    }

    /// Forgets one that the engine did not take.
    pub(crate) fn remove(&self, digest: &str) -> io::Result<()> {
        fs::remove_file(self.path(digest))
    }

    /// Deletes the oldest until the rest fits, but never the one that was just made.
    fn prune(&self, newest: &Path) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir)?.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == SUFFIX)
                && let Ok(metadata) = entry.metadata()
            {
                files.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), path));
            }
        }
        files.sort();
        let mut total = files.iter().map(|(_, len, _)| len).sum::<u64>();
        for (_, len, path) in files {
            if total <= self.bytes_max {
                break;
            }
            if path != newest {
                fs::remove_file(path)?;
                total -= len;
            }
        }
        Ok(())
    }

    /// A digest was checked for its form before it came here, so it is a plain file name.
    fn path(&self, digest: &str) -> PathBuf {
        self.dir.join(digest.replace(':', "-")).with_extension(SUFFIX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGINE: &str = "0123456789abcdef";

    #[test]
    fn what_was_stored_comes_back_and_damage_is_thrown_away() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::open(root.path(), ENGINE, u64::MAX).unwrap();
        assert_eq!(cache.load("sha256:aa").unwrap(), None);
        cache.store("sha256:aa", b"native code").unwrap();
        assert_eq!(cache.load("sha256:aa").unwrap().unwrap(), b"native code");

        let path = root.path().join(ENGINE).join("sha256-aa.cwasm");
        let whole = fs::read(&path).unwrap();
        for (at, end) in
            [(0, whole.len()), (10, whole.len()), (whole.len() - 1, whole.len()), (0, 20), (0, 0)]
        {
            let mut damaged = whole[..end].to_vec();
            if let Some(byte) = damaged.get_mut(at) {
                *byte ^= 1;
            }
            fs::write(&path, damaged).unwrap();
            assert_eq!(cache.load("sha256:aa").unwrap(), None);
            assert!(!path.exists());
        }
    }

    #[test]
    fn the_oldest_go_first_and_the_newest_stays() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::open(root.path(), ENGINE, 250).unwrap();
        for (age, digest) in [(3, "a"), (2, "b"), (1, "c")] {
            cache.store(digest, &[0; 60]).unwrap();
            let file = File::options().write(true).open(cache.path(digest)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000 - age)).unwrap();
        }
        assert_eq!(cache.load("a").unwrap(), None);
        assert!(cache.load("b").unwrap().is_some() && cache.load("c").unwrap().is_some());
        cache.store("d", &[0; 1000]).unwrap();
        assert!(cache.load("b").unwrap().is_none() && cache.load("d").unwrap().is_some());
    }

    #[test]
    fn other_engines_leave_nothing_behind_and_strangers_stay() {
        let root = tempfile::tempdir().unwrap();
        Cache::open(root.path(), "fedcba9876543210", u64::MAX).unwrap().store("a", b"old").unwrap();
        fs::create_dir(root.path().join("somebody-else")).unwrap();
        Cache::open(root.path(), ENGINE, u64::MAX).unwrap();
        let mut names =
            fs::read_dir(root.path()).unwrap().map(|e| e.unwrap().file_name()).collect::<Vec<_>>();
        names.sort();
        assert_eq!(names, [ENGINE, "somebody-else"]);
    }
}
