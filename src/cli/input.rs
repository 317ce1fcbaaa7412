//! The stream, from a file or from standard input.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;

use super::Stop;
use crate::world::whole;

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
