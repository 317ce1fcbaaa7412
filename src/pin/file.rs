//! Pins in a file that is committed to Git. Written under a lock, to a new file that takes the place of the old one:
//! a reader sees the old pins or the new ones, and two runs at once cannot lose each other's.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Book, BookError};

/// How long a run waits for another one to let go of the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// A pin file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStore {
    file: PathBuf,
    patience: Duration,
}

/// Why the pins of a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be read or written.
    #[error("pins in {}: cannot {action}: {source}", file.display())]
    Io {
        /// The pin file.
        file: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// Another run holds the file.
    #[error("pins in {}: another run holds {}; remove that file if no run is under way", file.display(), lock.display())]
    Locked {
        /// The pin file.
        file: PathBuf,
        /// The file that says so.
        lock: PathBuf,
    },
    /// The pins themselves are in the way.
    #[error(transparent)]
    Book(#[from] BookError),
}

impl FileStore {
    /// The pin file at this path; it need not exist yet.
    #[must_use]
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), patience: PATIENCE }
    }

    /// The pin file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The pins; none where there is no file.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn read(&self) -> Result<Book, StoreError> {
        match std::fs::read(&self.file) {
            Ok(bytes) => Ok(Book::parse(&self.file.display().to_string(), &bytes)?),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Book::default()),
            Err(source) => Err(self.fail("read it", source)),
        }
    }

    /// Reads the pins, lets `change` change them, and writes them if they are others than before; all under the lock.
    ///
    /// # Errors
    /// When another run holds the file, the file cannot be read or written, or `change` refuses. Then the file is as it was.
    pub fn update<T>(&self, change: impl FnOnce(&mut Book) -> Result<T, BookError>) -> Result<T, StoreError> {
        let _lock = self.lock()?;
        let before = self.read()?;
        let mut after = before.clone();
        let answer = change(&mut after)?;
        if after != before {
            self.write(&after.render())?;
        }
        Ok(answer)
    }

    /// Puts `text` in the place of the file in one step that survives a crash.
    fn write(&self, text: &str) -> Result<(), StoreError> {
        // The rename must replace the file that a link points at, not the link.
        let target = std::fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone());
        let new = beside(&target, ".new");
        let written = (|| {
            let mut file = std::fs::File::create(&new)?;
            if let Ok(old) = std::fs::metadata(&target) {
                file.set_permissions(old.permissions())?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&new, &target)?;
            match target.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => std::fs::File::open(folder)?.sync_all(),
                _ => Ok(()),
            }
        })();
        written.map_err(|source| self.fail("write it", source))
    }

    /// Takes the lock, waiting a while for another run.
    fn lock(&self) -> Result<Lock, StoreError> {
        let lock = beside(&self.file, ".lock");
        let start = Instant::now();
        loop {
            match std::fs::OpenOptions::new().write(true).create_new(true).open(&lock) {
                Ok(mut file) => {
                    // The number only helps the person who finds a lock that was left behind.
                    drop(writeln!(file, "{}", std::process::id()));
                    return Ok(Lock(lock));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists && start.elapsed() < self.patience => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    return Err(StoreError::Locked { file: self.file.clone(), lock });
                }
                Err(source) => return Err(self.fail("lock it", source)),
            }
        }
    }

    fn fail(&self, action: &'static str, source: std::io::Error) -> StoreError {
        StoreError::Io { file: self.file.clone(), action, source }
    }
}

/// The file with something added to its name.
fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A lock file that goes away with its holder.
#[derive(Debug)]
struct Lock(PathBuf);

impl Drop for Lock {
    fn drop(&mut self) {
        // A lock that cannot be removed is named by the next run.
        drop(std::fs::remove_file(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pin::Pin;

    fn pin(name: &str, value: &str) -> Pin {
        serde_json::from_value(
            serde_json::json!({"name": name, "value": value, "source": "env X", "time": "2026-11-21T10:00:00Z"}),
        )
        .expect("a pin")
    }

    #[test]
    fn no_file_holds_no_pins_and_nothing_is_written_for_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = FileStore::new(folder.path().join("pins.yaml"));
        assert_eq!(store.read().expect("readable").pins(), []);
        store.update(|book| book.record(&[])).expect("nothing to do");
        assert!(!store.file().exists());
    }

    #[test]
    fn a_run_that_died_leaves_a_lock_that_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = FileStore::new(folder.path().join("pins.yaml"));
        store.patience = Duration::from_millis(30);
        std::fs::write(folder.path().join("pins.yaml.lock"), "1").expect("a file");
        let error = store.update(|book| book.record(&[pin("a", "1")])).expect_err("locked").to_string();
        assert!(error.contains("pins.yaml.lock; remove that file"), "{error}");
        assert!(!store.file().exists());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let store = FileStore::new("/proc/nowhere/pins.yaml");
        let error = store.update(|book| book.record(&[pin("a", "1")])).expect_err("no such folder").to_string();
        assert!(error.starts_with("pins in /proc/nowhere/pins.yaml: cannot lock it"), "{error}");
    }
}
