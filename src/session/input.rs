//! The stream, from a file or from standard input.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use bytes::Bytes;

use super::{Stop, Unseen};
use crate::object::{Files, StreamText};
use crate::world::whole;
use crate::yaml;

/// A stream that was given, and where it came from.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its text.
    pub text: StreamText,
    /// How it is called in messages where no file is.
    pub name: String,
    /// The files that it is put together from.
    pub files: Files,
    /// What Helm did not see as it rendered it.
    pub(crate) unseen: Option<Unseen>,
}

impl Input {
    /// A stream that is no file.
    pub fn unnamed(name: impl Into<String>, text: impl Into<StreamText>) -> Self {
        Self { text: text.into(), name: name.into(), files: Files::default(), unseen: None }
    }

    /// Whether it is as [`is_empty`] says.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let text = &self.text;
        text.sections().is_ok_and(|sections| sections.iter().all(|section| is_nothing(text, section)))
    }

    /// A stream without an object is a render that failed, and nothing could go wrong in it.
    ///
    /// # Errors
    /// When this is one.
    pub fn refuse_empty(&self) -> Result<(), Stop> {
        if self.is_empty() {
            let file = Some(&self.name).filter(|name| !name.is_empty() && *name != STDIN);
            let file = file.map_or_else(String::new, |file| format!("{file}: "));
            return Err(Stop::usage(anyhow!(
                "{file}the stream holds no object; did the command that renders it fail?"
            )));
        }
        Ok(())
    }

    /// Reads a file, or standard input for `-` and nothing, whatever stands in it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn one(file: Option<&Path>) -> Result<Self, Stop> {
        match file.filter(|file| file.as_os_str() != "-") {
            Some(file) => {
                let name = file.display().to_string();
                Ok(Self { files: Files::one(name.clone()), ..Self::unnamed(name, of_file(file)?) })
            }
            None => Self::of_stdin(),
        }
    }

    /// Reads standard input.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_stdin() -> Result<Self, Stop> {
        let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let bytes = stdin.and_then(whole).context("cannot read standard input").map_err(Stop::usage)?;
        Ok(Self::unnamed(STDIN, bytes))
    }

    /// A line of the stream as a person finds it: the file and its line.
    #[must_use]
    pub fn place(&self, line: usize) -> String {
        let (file, line) = self.files.at(line);
        format!("{}:{line}", file.unwrap_or(&self.name))
    }
}

/// How standard input is called.
pub(crate) const STDIN: &str = "<stdin>";

fn of_file(file: &Path) -> Result<Bytes, Stop> {
    let bytes = File::open(file).and_then(whole).with_context(|| format!("cannot read {}", file.display()));
    bytes.map_err(Stop::usage)
}

/// Whether a stream holds nothing but blanks, comments and nulls. What cannot be split is not empty: the reader says what is
/// wrong with it.
#[must_use]
pub(crate) fn is_empty(stream: &[u8]) -> bool {
    yaml::split(stream).is_ok_and(|sections| sections.iter().all(|section| is_nothing(stream, section)))
}

fn is_nothing(stream: &[u8], section: &yaml::Section) -> bool {
    section.is_blank(stream) || matches!(section.document.of(stream).trim_ascii(), b"null" | b"~" | b"--- null")
}
