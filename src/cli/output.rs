//! Where reports go: `-o FORMAT` to a stream, `-o FORMAT=FILE` to a file.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::host::say;
use crate::report::{Format, FormatOptions, Report, human, markdown};

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
        let Some(known) = Format::named(format) else {
            let names: Vec<&str> = Format::ALL.iter().map(|(name, _)| *name).collect();
            bail!("-o {format}: no such format; there are {}", names.join(", "));
        };
        Ok(Self { format: known, file })
    }

    /// Whether it goes to a file: a device may be what a person looks at.
    pub(super) fn is_kept(&self) -> bool {
        self.file.as_deref().is_some_and(|file| !file.starts_with("/dev") && !file.starts_with("/proc/self/fd"))
    }

    /// Writes the reports of a run to where this says, and a summary to where GitHub shows it.
    pub(super) fn write(
        &self,
        reports: &[Report],
        page: human::Page,
        env: &BTreeMap<String, String>,
        stream: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let is_set = |name: &str| env.get(name).is_some_and(|text| !text.is_empty());
        let comment = if is_set("GITLAB_CI") { markdown::GITLAB } else { markdown::GITHUB };
        let look = FormatOptions { page, comment };
        match &self.file {
            None => {
                // Standard output writes at the end of each line, and a report has many.
                let mut buffered = BufWriter::with_capacity(1 << 16, stream);
                self.format.write_all(reports, look, &mut buffered).context("cannot write the report")?;
                buffered.flush().context("cannot write the report")?;
            }
            Some(file) => {
                let mut bytes = Vec::new();
                let page = human::Page { paint: human::Paint(false), width: human::WIDTH, ..page };
                self.format.write_all(reports, FormatOptions { page, ..look }, &mut bytes)?;
                let written = say::write_private(file, |out| out.write_all(&bytes));
                written.with_context(|| format!("cannot write the report to {}", file.display()))?;
            }
        }
        match env.get("GITHUB_STEP_SUMMARY").filter(|file| !file.is_empty() && self.format == Format::Github) {
            Some(file) => {
                summarise(reports, Path::new(file)).with_context(|| format!("cannot write the summary to {file}"))
            }
            None => Ok(()),
        }
    }
}

/// Whether each report has a file of its own, and none is one that the run reads.
pub(super) fn are_apart(outputs: &[Output], read: &[&Path]) -> anyhow::Result<()> {
    let mut taken: Vec<PathBuf> = Vec::new();
    for file in outputs.iter().filter_map(|output| output.file.as_deref()) {
        let place = is_apart(file, read)?;
        // Streams take both.
        if taken.contains(&place) && !file.starts_with("/dev") {
            bail!("-o {}: two reports name this file, and one would be lost; name one file for each", file.display());
        }
        taken.push(place);
    }
    Ok(())
}

/// The place of a file that is written, which must be none that the run reads.
pub(super) fn is_apart(file: &Path, read: &[&Path]) -> anyhow::Result<PathBuf> {
    let whole = |path: &Path| std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok();
    let place = whole(file).unwrap_or_else(|| file.to_path_buf());
    if read.iter().filter_map(|path| whole(path)).any(|path| path == place) {
        bail!("-o {}: this run reads that file; name another one", file.display());
    }
    Ok(place)
}

/// Adds the report to the summary of a step of GitHub Actions, which others may have begun: no more than there is room for, as
/// one that is too long is not shown at all.
fn summarise(reports: &[Report], file: &Path) -> anyhow::Result<()> {
    let mut file = say::append(file)?;
    let there = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let room = markdown::SUMMARY.saturating_sub(there);
    let mut bytes = Vec::new();
    markdown::write_all(reports, room, &mut bytes)?;
    if bytes.len() <= room {
        file.write_all(&bytes)?;
    }
    Ok(())
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

/// Whether standard output cannot be written: Rust takes an error of that kind for a success. One that was closed when the program
/// started was replaced by `/dev/null`, opened to read and to write; whoever throws an output away opens it to write only.
pub(super) fn is_closed() -> bool {
    let null = std::fs::read_link("/proc/self/fd/1").is_ok_and(|target| target == std::path::Path::new("/dev/null"));
    std::fs::read_to_string("/proc/self/fdinfo/1").is_ok_and(|info| {
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).map(str::trim);
        let way = flags.and_then(|flags| u32::from_str_radix(flags, 8).ok()).map(|flags| flags & 0o3);
        way == Some(READ_ONLY) || null && way == Some(READ_AND_WRITE)
    })
}

/// How a file can be opened (Linux `include/uapi/asm-generic/fcntl.h`).
const READ_ONLY: u32 = 0o0;
/// A file that was opened to read and to write.
const READ_AND_WRITE: u32 = 0o2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_kept_in_a_file_and_not_on_a_device() {
        for (text, is_kept) in
            [("html=r.html", true), ("human", false), ("json=/dev/stderr", false), ("json=/dev/null", false)]
        {
            assert_eq!(Output::parse(text).expect("a wish").is_kept(), is_kept, "{text}");
        }
    }

    #[test]
    fn no_report_takes_the_place_of_what_is_read_or_of_another_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("in.yaml"), "x").expect("a file");
        let said = |outputs: &[String]| {
            let outputs: Vec<Output> = outputs.iter().map(|text| Output::parse(text).expect("a wish")).collect();
            are_apart(&outputs, &[&at("in.yaml"), Path::new("cluster")]).map_err(|error| error.to_string())
        };
        let to = |format: &str, name: &str| format!("{format}={}", at(name).display());
        assert_eq!(said(&["human".to_owned(), to("json", "a"), to("html", "b")]), Ok(()));
        assert_eq!(said(&[to("json", "/dev/stderr"), to("human", "/dev/stderr")]), Ok(()));
        assert!(said(&[to("json", "in.yaml")]).is_err_and(|said| said.contains("this run reads that file")));
        assert!(said(&[to("json", "a"), to("html", "a")]).is_err_and(|said| said.contains("two reports")));
    }
}
