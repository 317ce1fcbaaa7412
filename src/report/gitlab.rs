//! Code Quality of GitLab: one flat list, from which a merge request shows what is new against its target
//! (docs.gitlab.com, ci/testing/code_quality, "Implement a custom tool").

use std::io::{self, Write};

use super::Report;
use super::escape::Visible;
use super::notice::{self, Level, Notice, Spots};
use crate::model::{Decision, Effect};
use crate::tree::json;

/// Writes every notice of the run.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    let spots: Vec<Spots<'_>> = reports.iter().map(Spots::of).collect();
    let list: Vec<_> = notice::all(reports)
        .iter()
        .filter_map(|(notice, at)| {
            let spot = spots.get(*at)?.spot(notice.location);
            Some(json!({
                "description": notice.message,
                "check_name": notice.id,
                // GitLab keeps only the first of those that have the same one.
                "fingerprint": notice.fingerprint,
                "severity": severity(notice),
                "location": {"path": spot.path, "lines": {"begin": spot.line.unwrap_or(1)}},
            }))
        })
        .collect();
    serde::Serialize::serialize(&list, &mut serde_json::Serializer::with_formatter(&mut *out, Visible))?;
    out.write_all(b"\n")
}

/// How bad it is, in GitLab's words.
fn severity(notice: &Notice<'_>) -> &'static str {
    let takes = notice.effect.is_some_and(|effect| matches!(effect, Effect::Delete | Effect::Unknown));
    match (notice.level, notice.decision) {
        (Level::Error, Decision::Hold) if takes => "blocker",
        (Level::Error, Decision::Hold) => "critical",
        (Level::Error, _) => "major",
        (Level::Warning, _) => "minor",
        (Level::Note, _) => "info",
    }
}
