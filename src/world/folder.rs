//! Which files of a folder are read: those of a stream, as kubectl takes them, and those of a dump, of which nothing may be passed over in
//! silence, since what is absent in it is taken for absent.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::files::FileError;
use crate::model;

/// The files below a path in a stable order; the path itself where it is a file.
///
/// # Errors
/// When the path or a folder below it cannot be read.
pub(crate) fn manifests(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    Ok(below(path, false)?.files)
}

/// The files of a dump: what is absent in it is taken for absent, so a linked folder is followed, and what may hold objects and is not
/// read for its name is told.
pub(super) fn dumps(path: &Path) -> Result<Found, FileError> {
    let mut found = below(path, true)?;
    found.passed_over.retain(|file| seems_to_hold_objects(file));
    Ok(found)
}

/// What lies below a path.
pub(super) struct Found {
    /// What is read.
    pub(super) files: Vec<PathBuf>,
    /// What is not.
    pub(super) passed_over: Vec<PathBuf>,
}

fn below(path: &Path, is_dump: bool) -> Result<Found, FileError> {
    let fault = |path: &Path, why| FileError::Read { path: path.display().to_string(), why };
    let mut found = Found { files: Vec::new(), passed_over: Vec::new() };
    if !std::fs::metadata(path).map_err(|why| fault(path, why))?.is_dir() {
        found.files.push(path.to_owned());
        return Ok(found);
    }
    let mut folders = vec![path.to_owned()];
    // A link may lead back to a folder above it.
    let mut seen = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        if is_dump && !seen.insert(std::fs::canonicalize(&folder).map_err(|why| fault(&folder, why))?) {
            continue;
        }
        for entry in std::fs::read_dir(&folder).map_err(|why| fault(&folder, why))? {
            let entry = entry.map_err(|why| fault(&folder, why))?;
            let kind = entry.file_type().map_err(|why| fault(&entry.path(), why))?;
            let is_link_to_folder = || kind.is_symlink() && entry.path().is_dir();
            if kind.is_dir() || is_dump && is_link_to_folder() {
                folders.push(entry.path());
            } else if is_manifest(&entry.path(), is_dump) {
                found.files.push(entry.path());
            } else {
                found.passed_over.push(entry.path());
            }
        }
    }
    found.files.sort();
    found.passed_over.sort();
    Ok(found)
}

/// Whether a file of a folder is read; of a stream kubectl asks for these very endings (cli-runtime `pkg/resource/visitor.go`, ignoreFile).
fn is_manifest(path: &Path, in_any_case: bool) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is = |known: &str| if in_any_case { ending.eq_ignore_ascii_case(known) } else { ending == known };
    ["yaml", "yml", "json"].into_iter().any(is)
}

/// How much of a file is looked at for whether it holds objects.
const HEAD: u64 = 4096;

/// Whether a file begins as objects do. A text about objects is none.
fn seems_to_hold_objects(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if name.starts_with('.') || name.ends_with(".md") {
        return false;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let text = String::from_utf8_lossy(&head);
    let is_json = text.trim_start().starts_with('{') && text.contains("\"apiVersion\"");
    read.is_ok() && (is_json || text.lines().any(|line| line.starts_with("apiVersion:")))
}

/// A sentence about files that were passed over.
#[must_use]
pub(crate) fn not_read(passed_over: &[PathBuf]) -> Option<String> {
    let names: BTreeSet<String> = passed_over.iter().map(|path| path.display().to_string()).collect();
    let one = names.len() == 1;
    (!names.is_empty()).then(|| {
        format!(
            "{} {} objects and {} not read: only files that end in .yaml, .yml or .json are",
            model::some_of(&names, 3),
            if one { "seems to hold" } else { "seem to hold" },
            if one { "was" } else { "were" },
        )
    })
}
