//! The report as it is: its types are its format, and `schemas/report.json` describes them.

use std::io::{self, Write};

use super::Report;

/// Writes the whole report.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    out.write_all(b"\n")
}
