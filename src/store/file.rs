//! A file that is committed to Git. Written under a lock of the kernel, which ends with its holder however that ends, to a
//! new file that takes the place of the old one: a reader sees the old text or the new one, and two runs cannot lose each other's.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Kept;

/// How long a run waits for another one to let go of the file.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes that such a file may have.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// A file that keeps a `K`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileStore<K> {
    file: PathBuf,
    pub(crate) patience: Duration,
    kept: PhantomData<K>,
}

/// Why what a file keeps could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError<F: std::error::Error + 'static> {
    /// The file cannot be read or written.
    #[error("{noun} in {}: cannot {action}: {why}", file.display())]
    Io {
        /// What it keeps.
        noun: &'static str,
        /// The file.
        file: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why not.
        why: io::Error,
    },
    /// Another run holds the file.
    #[error("{noun} in {}: another run holds the lock on {}; run again when it has ended", file.display(), folder.display())]
    Locked {
        /// What it keeps.
        noun: &'static str,
        /// The file.
        file: PathBuf,
        /// The folder that is locked.
        folder: PathBuf,
    },
    /// What it keeps is in the way itself.
    #[error(transparent)]
    Kept(F),
}

impl<K: Kept> FileStore<K> {
    /// The file at this path; it need not exist yet.
    #[must_use]
    pub(crate) fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), patience: PATIENCE, kept: PhantomData }
    }

    /// The file.
    #[must_use]
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// What it keeps; nothing where there is no file.
    ///
    /// # Errors
    /// When the file is there and cannot be read, or is a link to nothing.
    pub(crate) fn read(&self) -> Result<K, FileError<K::Fault>> {
        match self.target() {
            Ok(target) => Ok(self.read_at(&target)?.0),
            // Where there is no folder there is nothing in it either.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(K::default()),
            Err(why) => Err(self.fail("read it", why)),
        }
    }

    /// Reads what it keeps, lets `change` change it, and writes it if it is something else than before; all under the lock.
    ///
    /// # Errors
    /// When another run holds the file, the file cannot be read or written, or `change` refuses. Then the file is as it was.
    pub(crate) fn update<T>(
        &self,
        change: impl FnOnce(&mut K) -> Result<T, K::Fault>,
    ) -> Result<T, FileError<K::Fault>> {
        let (target, _lock) = self.lock()?;
        let (before, bytes) = self.read_at(&target)?;
        let mut after = before.clone();
        let answer = change(&mut after).map_err(FileError::Kept)?;
        if after != before {
            let text = after.render(&self.file.display().to_string(), &bytes).map_err(FileError::Kept)?;
            self.replace(&target, &text).map_err(|why| self.fail("write it", why))?;
        }
        Ok(answer)
    }

    /// The file that a write replaces: whoever comes by another link comes to the same one.
    fn target(&self) -> io::Result<PathBuf> {
        match fs::canonicalize(&self.file) {
            // Another run may have made the file meanwhile: only a link leads nowhere.
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    && fs::symlink_metadata(&self.file).is_ok_and(|found| found.is_symlink()) =>
            {
                Err(io::Error::other(
                    "it is a link to a file that does not exist; make that file, or take the link away",
                ))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let name = self.file.file_name().ok_or_else(|| io::Error::other("it has no file name"))?;
                let folder = folder_of(&self.file);
                let found = fs::canonicalize(folder).map_err(|error| {
                    io::Error::new(error.kind(), format!("{error}; make the folder {} first", folder.display()))
                });
                Ok(found?.join(name))
            }
            found => found,
        }
    }

    fn read_at(&self, target: &Path) -> Result<(K, Vec<u8>), FileError<K::Fault>> {
        match bytes(target) {
            Ok(bytes) => {
                let kept = K::parse(&self.file.display().to_string(), &bytes).map_err(FileError::Kept)?;
                Ok((kept, bytes))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok((K::default(), Vec::new())),
            Err(why) => Err(self.fail("read it", why)),
        }
    }

    /// Puts `text` in the place of the file in one step that survives a crash.
    fn replace(&self, target: &Path, text: &str) -> io::Result<()> {
        let folder = folder_of(target);
        let (start, end) = (format!(".rollgate-{}-", K::NOUN), ".new");
        tidy(folder, &start, end);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&start).suffix(end);
        let old = fs::metadata(target).ok().map(|data| data.permissions());
        #[cfg(unix)]
        // A new file is committed and read by others, as far as the mask of the user lets it be.
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        // Its name cannot be foreseen, and it is made only where nothing stands: nothing planted is written through.
        passed("locked");
        let mut file = builder.tempfile_in(folder)?;
        passed("made");
        if let Some(old) = old {
            file.as_file().set_permissions(old)?;
        }
        let (first, rest) = text.as_bytes().split_at(text.len() / 2);
        file.write_all(first)?;
        passed("half written");
        file.write_all(rest)?;
        passed("written");
        file.as_file().sync_all()?;
        passed("synced");
        file.persist(target).map_err(|error| {
            // A file that is mounted by itself, as in a container, lies in a file system of its own.
            let is_mounted = matches!(error.error.kind(), ErrorKind::ResourceBusy | ErrorKind::CrossesDevices);
            match is_mounted {
                true => io::Error::new(
                    error.error.kind(),
                    format!("{}; mount its folder and not the file alone", error.error),
                ),
                false => error.error,
            }
        })?;
        passed("in place");
        File::open(folder)?.sync_all()
    }

    /// Takes the lock on the folder of the file, waiting a while for another run. The folder is there before the file is, and no
    /// file stays behind for a person to remove.
    fn lock(&self) -> Result<(PathBuf, File), FileError<K::Fault>> {
        let start = Instant::now();
        loop {
            let target = self.target().map_err(|why| self.fail("find it", why))?;
            let folder = folder_of(&target);
            let lock = File::open(folder).map_err(|why| self.fail("lock it", why))?;
            match lock.try_lock() {
                // A link may have been moved while this run waited; then the lock is on the wrong folder.
                Ok(()) if self.target().is_ok_and(|again| again == target) => return Ok((target, lock)),
                Ok(()) => {}
                Err(TryLockError::Error(why)) => return Err(self.fail("lock it", why)),
                Err(TryLockError::WouldBlock) => {}
            }
            if start.elapsed() >= self.patience {
                return Err(FileError::Locked { noun: K::NOUN, file: self.file.clone(), folder: folder.to_owned() });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn fail(&self, action: &'static str, why: io::Error) -> FileError<K::Fault> {
        FileError::Io { noun: K::NOUN, file: self.file.clone(), action, why }
    }
}

/// Steps of a write at which a run may be killed, in their order.
#[cfg(test)]
pub(crate) const STEPS: [&str; 6] = ["locked", "made", "half written", "written", "synced", "in place"];

/// A step of a write is done. A test ends its process here, as a kill would.
#[cfg(test)]
fn passed(step: &str) {
    if std::env::var_os("ROLLGATE_TEST_DIES_AT").is_some_and(|at| at == step) {
        std::process::abort();
    }
}

/// A step of a write is done.
#[cfg(not(test))]
const fn passed(_: &str) {}

/// The folder that a file lies in.
fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The bytes of a plain file of a size that can be meant.
fn bytes(file: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    let read = File::open(file)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match read as u64 > MOST_BYTES {
        true => Err(io::Error::other("it is larger than 16 MiB")),
        false => Ok(bytes),
    }
}

/// Takes away what killed runs have left behind; under the lock no other run has one under way.
fn tidy(folder: &Path, start: &str, end: &str) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(start) && name.ends_with(end));
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // What cannot be taken away harms nobody.
            drop(fs::remove_file(entry.path()));
        }
    }
}
