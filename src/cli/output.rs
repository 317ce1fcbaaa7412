//! Where reports go: `-o FORMAT` to a stream, `-o FORMAT=FILE` to a file.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context as _, bail};

use crate::host::say;
use crate::report::{Report, human};

/// A format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Human,
    Json,
}

/// One wish for a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Output {
    format: Format,
    file: Option<PathBuf>,
}

impl Output {
    /// The report for people, on the stream.
    pub(super) const HUMAN: Self = Self { format: Format::Human, file: None };

    /// Reads `FORMAT` or `FORMAT=FILE`.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let (format, file) = match text.split_once('=') {
            Some((_, "")) => bail!("-o {text}: the name of the file is missing"),
            Some((format, file)) => (format, Some(PathBuf::from(file))),
            None => (text, None),
        };
        let format = match format {
            "human" => Format::Human,
            "json" => Format::Json,
            other => bail!("-o {other}: no such format; there are human and json"),
        };
        Ok(Self { format, file })
    }

    /// Writes the report to where this says.
    pub(super) fn write(&self, report: &Report, paint: human::Paint, stream: &mut dyn Write) -> anyhow::Result<()> {
        match &self.file {
            None => {
                // Standard output writes at the end of each line, and a report has many.
                let mut buffered = BufWriter::with_capacity(1 << 16, stream);
                self.render(report, paint, &mut buffered)?;
                buffered.flush().context("cannot write the report")
            }
            Some(file) => {
                let mut bytes = Vec::new();
                self.render(report, human::Paint(false), &mut bytes)?;
                let written = say::write_private(file, |out| out.write_all(&bytes));
                written.with_context(|| format!("cannot write the report to {}", file.display()))
            }
        }
    }

    fn render(&self, report: &Report, paint: human::Paint, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.format {
            Format::Human => human::write(report, paint, out)?,
            Format::Json => {
                serde_json::to_writer_pretty(&mut *out, report)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }
}
