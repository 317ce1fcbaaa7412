//! The stream, from a file or from standard input.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};

use super::Stop;
use crate::world::whole;
use crate::yaml;

/// Reads a file, or standard input for `-` and nothing, and says how it is called in messages.
pub(super) fn read(file: Option<&Path>) -> Result<(String, Arc<[u8]>), Stop> {
    match file.filter(|file| *file != Path::new("-")) {
        Some(file) => {
            let bytes = File::open(file).and_then(whole).with_context(|| format!("cannot read {}", file.display()));
            Ok((file.display().to_string(), bytes.map_err(Stop::usage)?))
        }
        None => {
            let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
            let bytes = stdin.and_then(whole).context("cannot read standard input").map_err(Stop::usage)?;
            Ok(("<stdin>".to_owned(), bytes))
        }
    }
}

/// Whether a stream holds nothing but blanks, comments and nulls. What cannot be split is not empty: the reader says what is
/// wrong with it.
pub(super) fn is_empty(stream: &[u8]) -> bool {
    let is_nothing = |section: &yaml::Section| {
        section.is_blank(stream) || matches!(section.document.of(stream).trim_ascii(), b"null" | b"~" | b"--- null")
    };
    yaml::split(stream).is_ok_and(|sections| sections.iter().all(is_nothing))
}

/// A render that failed leaves an empty stream, in which nothing could go wrong.
pub(super) fn refuse_empty(stream: &[u8]) -> Result<(), Stop> {
    if is_empty(stream) {
        return Err(Stop::usage(anyhow!("the stream holds no object; did the command that renders it fail?")));
    }
    Ok(())
}
