//! Workflow commands of GitHub: annotations at the lines of the files. A step may have ten of each type and drops the others
//! without a word, so the weightiest come first and what is left out is counted (actions/toolkit docs/commands.md).

use std::io::{self, Write};

use super::Report;
use super::notice::{self, Level, Notice, clip};
use crate::model::Decision;

/// Most annotations of one type in a step.
const MOST: usize = 10;
/// Longest message, in characters; GitHub cuts at 4 KiB.
const LONGEST: usize = 1000;

/// Writes the verdict and the weightiest notices, each type within its limit.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    let (all, said) = (notice::all(reports), notice::warnings(reports));
    let decision = super::decision(reports);
    let verdict = match decision {
        Decision::Allow | Decision::Warn => Level::Note,
        Decision::Hold | Decision::Undecided => Level::Error,
    };
    for level in [Level::Error, Level::Warning, Level::Note] {
        let mut room = MOST;
        if verdict == level {
            room -= 1;
            command(out, level, &[("title", format!("rollgate: {decision}"))], &notice::summary(reports))?;
        }
        let those: Vec<&Notice<'_>> = all.iter().map(|(notice, _)| notice).filter(|one| one.level == level).collect();
        let warnings = if level == Level::Warning { said.as_slice() } else { &[] };
        let total = those.len() + warnings.len();
        // The last one says how many there are more.
        let shown = if total > room { room - 1 } else { total };
        for notice in those.iter().take(shown) {
            annotation(out, notice)?;
        }
        for warning in warnings.iter().take(shown.saturating_sub(those.len())) {
            command(out, level, &[("title", "rollgate".to_owned())], warning)?;
        }
        if total > shown {
            let more = format!("{} more are in the report (-o markdown=FILE, -o sarif=FILE)", total - shown);
            command(out, level, &[("title", "rollgate".to_owned())], &more)?;
        }
    }
    Ok(())
}

fn annotation(out: &mut dyn Write, notice: &Notice<'_>) -> io::Result<()> {
    let mut properties = Vec::new();
    let place = notice.location.and_then(|location| Some((location, location.file.as_deref()?)));
    if let Some((location, file)) = place.filter(|(_, file)| file.len() <= 1024) {
        properties.push(("file", file.trim_start_matches("./").to_owned()));
        properties.push(("line", location.line.to_string()));
        properties.push(("col", location.column.to_string()));
    }
    properties.push(("title", format!("rollgate {}", notice.id)));
    let next: String = notice.steps().map(|(word, step)| format!("\n{word}: {step}")).collect();
    command(out, notice.level, &properties, &format!("{}{next}", notice.message))
}

/// One command; what is in it can neither end it nor begin another.
fn command(out: &mut dyn Write, level: Level, properties: &[(&str, String)], message: &str) -> io::Result<()> {
    let word = if level == Level::Note { "notice" } else { level.word() };
    let properties: Vec<String> = properties.iter().map(|(name, text)| format!("{name}={}", property(text))).collect();
    writeln!(out, "::{word} {}::{}", properties.join(","), data(&clip(message, LONGEST)))
}

/// A message (actions/toolkit packages/core/src/command.ts, escapeData).
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property (same file, escapeProperty).
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
