//! Finding a policy file and reading it from disk. What a policy names relative to itself is found from its folder.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{Policy, PolicyErrors, parse};

/// The name that is looked for.
pub const FILE_NAME: &str = "rollgate.yaml";

/// A policy with where it came from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The policy.
    pub policy: Policy,
    /// The file, as it was given.
    pub file: PathBuf,
    /// Hash of its bytes, as `sha256:...`.
    pub digest: String,
}

/// Why a policy file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("policy {}: {source}; check the path given with --policy or ROLLGATE_POLICY", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It was read, and is wrong.
    #[error(transparent)]
    Wrong(#[from] PolicyErrors),
}

impl Loaded {
    /// Reads and checks the policy in `file`.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a policy.
    pub fn from_file(file: &Path) -> Result<Self, LoadError> {
        let bytes = std::fs::read(file).map_err(|source| LoadError::Unreadable { file: file.to_path_buf(), source })?;
        let policy = parse(&file.display().to_string(), &bytes)?;
        Ok(Self { policy, file: file.to_path_buf(), digest: digest(&bytes) })
    }

    /// The folder that relative files in the policy start from.
    #[must_use]
    pub fn folder(&self) -> &Path {
        match self.file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }
}

/// Looks for [`FILE_NAME`] in `start` and in each folder above it; the nearest one wins.
#[must_use]
pub fn find(start: &Path) -> Option<PathBuf> {
    let start = std::path::absolute(start).unwrap_or_else(|_| start.to_path_buf());
    start.ancestors().map(|folder| folder.join(FILE_NAME)).find(|file| file.is_file())
}

/// The hash by which a report names the exact bytes of a policy.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_policy_above_is_found() {
        let root = tempfile::tempdir().expect("a folder");
        let deep = root.path().join("clusters/demo");
        std::fs::create_dir_all(&deep).expect("folders");
        assert_eq!(find(&deep), None);
        std::fs::write(root.path().join(FILE_NAME), "x").expect("a file");
        assert_eq!(find(&deep), Some(root.path().join(FILE_NAME)));
        std::fs::write(deep.join(FILE_NAME), "x").expect("a file");
        assert_eq!(find(&deep), Some(deep.join(FILE_NAME)));
    }

    #[test]
    fn a_digest_names_the_bytes() {
        assert_eq!(digest(b""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_ne!(digest(b"a"), digest(b"a\n"));
    }

    #[test]
    fn a_missing_file_is_named_with_the_option() {
        let error = Loaded::from_file(Path::new("/no/such/rollgate.yaml")).expect_err("no file").to_string();
        assert!(error.contains("/no/such/rollgate.yaml") && error.contains("--policy"), "{error}");
    }
}
