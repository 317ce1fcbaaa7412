//! Finding a policy file and reading it from disk. What a policy names relative to itself is found from its folder.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{Policy, PolicyErrors, parse};

/// The name that is looked for.
pub(crate) const FILE_NAME: &str = "rollgate.yaml";

/// A policy with where it came from.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// The policy.
    pub policy: Policy,
    /// The file, as it was given.
    pub file: PathBuf,
    /// The folder that relative files in the policy start from.
    pub folder: PathBuf,
    /// Hash of its bytes, as `sha256:...`.
    pub digest: String,
}

/// Why a policy file could not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The file could not be read.
    #[error("policy {}: {why}; check the path given with --policy or ROLLGATE_POLICY", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// A file that somebody takes for the policy, and nobody reads.
    #[error("{} is not looked for; call it {FILE_NAME}, or give it with --policy", file.display())]
    Misnamed {
        /// The file.
        file: PathBuf,
    },
    /// Something that has the name of the policy, and is no file.
    #[error("policy {} is {what}; put the policy there, take it away, or pass --policy none for the safe defaults", file.display())]
    NoFile {
        /// The place.
        file: PathBuf,
        /// What stands there.
        what: &'static str,
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
    pub(crate) fn from_file(file: &Path) -> Result<Self, LoadError> {
        let bytes = std::fs::read(file).map_err(|why| LoadError::Unreadable { file: file.to_path_buf(), why })?;
        let policy = parse(&file.display().to_string(), &bytes)?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Self { policy, file: file.to_path_buf(), folder: folder.to_owned(), digest: digest(&bytes) })
    }
}

/// The name of a policy as others end it.
const MISNAMED: &str = "rollgate.yml";

/// Looks for [`FILE_NAME`] in `start` and in each folder above it; the nearest one wins.
///
/// # Errors
/// When a nearer file has nearly that name: its author means it to count.
pub(crate) fn find(start: &Path) -> Result<Option<PathBuf>, LoadError> {
    let start = std::path::absolute(start).unwrap_or_else(|_| start.to_path_buf());
    for folder in start.ancestors() {
        let [file, other] = [FILE_NAME, MISNAMED].map(|name| folder.join(name));
        if file.is_file() {
            return Ok(Some(file));
        }
        // Whoever put it there means a policy to count.
        if let Ok(found) = std::fs::symlink_metadata(&file) {
            let what = match found {
                found if found.is_symlink() => "a link that leads to no file",
                found if found.is_dir() => "a folder",
                _ => "no file",
            };
            return Err(LoadError::NoFile { file, what });
        }
        if other.is_file() {
            return Err(LoadError::Misnamed { file: other });
        }
    }
    Ok(None)
}

/// The hash by which a report names the exact bytes of a policy.
#[must_use]
pub(crate) fn digest(bytes: &[u8]) -> String {
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
        let find = |from: &Path| find(from).map_err(|error| error.to_string());
        assert_eq!(find(&deep), Ok(None));
        std::fs::write(root.path().join(FILE_NAME), "x").expect("a file");
        assert_eq!(find(&deep), Ok(Some(root.path().join(FILE_NAME))));
        std::fs::write(deep.join(FILE_NAME), "x").expect("a file");
        assert_eq!(find(&deep), Ok(Some(deep.join(FILE_NAME))));
        let between = root.path().join("clusters/rollgate.yml");
        std::fs::write(&between, "x").expect("a file");
        assert_eq!(find(&deep), Ok(Some(deep.join(FILE_NAME))), "it is not the nearest");
        std::fs::remove_file(deep.join(FILE_NAME)).expect("removed");
        let error = find(&deep).expect_err("the wrong name");
        assert!(error.contains("clusters/rollgate.yml is not looked for; call it rollgate.yaml"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn what_has_the_name_of_a_policy_and_is_none_is_not_passed_over() {
        let root = tempfile::tempdir().expect("a folder");
        let (above, deep) = (root.path().join(FILE_NAME), root.path().join("deep"));
        std::fs::write(&above, "x").expect("a file");
        std::fs::create_dir(&deep).expect("a folder");
        let link = deep.join(FILE_NAME);
        let said = || find(&deep).expect_err("it is no file").to_string();
        std::os::unix::fs::symlink("nowhere.yaml", &link).expect("a link");
        assert!(said().contains("rollgate.yaml is a link that leads to no file"), "{}", said());
        std::fs::remove_file(&link).expect("removed");
        std::fs::create_dir(&link).expect("a folder");
        assert!(said().contains("rollgate.yaml is a folder"), "{}", said());
        std::fs::remove_dir(&link).expect("removed");
        std::os::unix::fs::symlink(&above, &link).expect("a link");
        assert_eq!(find(&deep).map_err(|error| error.to_string()), Ok(Some(link)));
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
