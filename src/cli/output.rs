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
    pub(super) fn write(&self, report: &Report, page: human::Page, stream: &mut dyn Write) -> anyhow::Result<()> {
        match &self.file {
            None => {
                // Standard output writes at the end of each line, and a report has many.
                let mut buffered = BufWriter::with_capacity(1 << 16, stream);
                self.render(report, page, &mut buffered)?;
                buffered.flush().context("cannot write the report")
            }
            Some(file) => {
                let mut bytes = Vec::new();
                let page = human::Page { paint: human::Paint(false), width: human::WIDTH, ..page };
                self.render(report, page, &mut bytes)?;
                let written = say::write_private(file, |out| out.write_all(&bytes));
                written.with_context(|| format!("cannot write the report to {}", file.display()))
            }
        }
    }

    fn render(&self, report: &Report, page: human::Page, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.format {
            Format::Human => human::write_on(report, page, out)?,
            Format::Json => {
                serde_json::to_writer_pretty(&mut *out, report)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }
}

/// A standard output that was closed when the program started.
#[derive(Debug)]
pub(super) struct Closed;

impl Write for Closed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes.is_empty() { Ok(0) } else { Err(std::io::Error::other("it is closed")) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Whether standard output was closed when the program started. Rust then puts `/dev/null` in its place, opened to read and to
/// write, so that everything would seem to be written; whoever throws an output away opens it to write only.
pub(super) fn is_closed() -> bool {
    let null = std::fs::read_link("/proc/self/fd/1").is_ok_and(|target| target == std::path::Path::new("/dev/null"));
    null && std::fs::read_to_string("/proc/self/fdinfo/1").is_ok_and(|info| {
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).map(str::trim);
        flags.and_then(|flags| u32::from_str_radix(flags, 8).ok()).is_some_and(|flags| flags & 0o3 == 0o2)
    })
}
