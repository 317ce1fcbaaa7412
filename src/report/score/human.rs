//! The answer of `rollgate score` for people: one sentence, the matrix, then each miss.

use std::io::{self, Write};

use super::{Fate, ScoreReport, ScoreRow};
use crate::model::some_of;
use crate::report::human::Page;
use crate::report::plural;

/// So many misses, owners and names stand in the text; all of them are in JSON.
const TOLD: usize = 20;
/// The columns of the matrix.
const HEADS: [&str; 7] = ["none", "rollout", "delete", "rejected", "not settled", "not told", "not let out"];

/// Writes the answer for people.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write(report: &ScoreReport, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let mut head = match report.told {
        0 => format!("of {} nothing can be told yet", plural(report.forecasts as u64, "forecast")),
        told => format!("{} of {told} forecasts of owners came true", report.came_true),
    };
    if !report.is_whole {
        head.push_str("; not everything could be read");
    }
    page.words(out, ("rollgate: ", 10), &head, 2, |line| page.paint.bold(line))?;
    writeln!(out, "\n{:>12}  {}", "foretold", page.paint.faint(&HEADS.map(|head| format!("{head:>13}")).concat()))?;
    for (fate, row) in &report.matrix {
        writeln!(out, "{:>12}  {}", fate.word(), cells(row))?;
    }
    if !report.misses.is_empty() {
        writeln!(out)?;
    }
    for miss in report.misses.iter().take(TOLD) {
        let what = match miss.foretold {
            Fate::Unforeseen => format!("{} without a forecast", miss.came.word()),
            foretold => format!("foretold {}, came {}", foretold.word(), miss.came.word()),
        };
        let moved = format!("went: {}; came: {}", names(&miss.gone), names(&miss.made));
        let why = miss.why.as_ref().map_or_else(String::new, |why| format!("; {why}"));
        let text = format!("{}: {what} since {} ({moved}){why}", miss.owner, miss.time);
        page.words(out, ("miss ", 5), &text, 4, str::to_owned)?;
        if miss.foretold != Fate::Unforeseen {
            let next = match &miss.world {
                Some(world) => format!("send in the World that was judged, with what was rendered: {world}"),
                None => "its World was not kept; set forecasts.worlds in the policy, and send in that of the next miss"
                    .to_owned(),
            };
            page.words(out, ("     ", 5), &next, 5, str::to_owned)?;
        }
    }
    for open in report.open.iter().take(TOLD) {
        let head = if open.is_settling { "not settled " } else { "not told " };
        let text = format!("{}, foretold {} at {}: {}", open.owner, open.foretold.word(), open.time, open.why);
        page.words(out, (head, head.len()), &text, 4, str::to_owned)?;
    }
    for unread in &report.unread {
        page.words(out, ("not known: ", 11), unread, 4, str::to_owned)?;
    }
    let more = (report.misses.len() + report.open.len()).saturating_sub(2 * TOLD);
    let more = if more > 0 { "; more in -o json" } else { "" };
    let text = format!(
        "{} since {}, kept in {}; what came was read from {}{more}",
        plural(report.forecasts as u64, "forecast"),
        report.since,
        report.kept,
        report.source
    );
    writeln!(out)?;
    page.words(out, ("", 0), &text, 4, |line| page.paint.faint(line))
}

/// One line of the matrix.
fn cells(row: &ScoreRow) -> String {
    let all = [row.none, row.rollout, row.delete, row.rejected, row.not_settled, row.cannot_be_told, row.not_let_out];
    all.map(|count| format!("{count:>13}")).concat()
}

/// Some names.
fn names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { some_of(names, TOLD) }
}
