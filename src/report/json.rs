//! The report as it is: its types are its format, and `schemas/report.json` describes them; several of one run are a list.

use std::io::{self, Write};

use super::{Report, ReportList};

/// Writes the whole report, or the list of all.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    match reports {
        [report] => serde_json::to_writer_pretty(&mut *out, report)?,
        _ => serde_json::to_writer_pretty(&mut *out, &ReportList::of(reports))?,
    }
    out.write_all(b"\n")
}
