//! The table of Machines: cluster, owner, what goes, what stays meanwhile, why. Below it how it goes.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::page::Page;
use super::wrap::columns;
use crate::hashed::HashMap;
use crate::model::{Effect, Together, first_and_more};
use crate::report::fold::{self, ClusterName, Folded, Row, listed};
use crate::report::{plural, sentence};

/// The heads of the columns.
const HEADS: [&str; 5] = ["CLUSTER", "OWNER", "MACHINES", "LOWEST", "CAUSE"];
/// Spaces before the first column, and between two.
const GAP: usize = 2;
/// The least room that the last column needs; with less it stands on lines of its own.
const CAUSE: usize = 36;
/// Most clusters of which is said what their owners come to together.
const TOGETHER: usize = 5;
/// Most names of Machines that are listed for several owners together.
const NAMES: usize = 12;

/// Writes the table; nothing where no Machine goes.
pub(super) fn write(folded: &Folded<'_>, page: Page, out: &mut dyn Write) -> io::Result<()> {
    if folded.rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", page.paint.bold("Machines"))?;
    let mut cells: Vec<[String; 5]> = folded.rows.iter().map(|row| self::cells(row, " in all", " replaced")).collect();
    let mut widths = self::widths(&cells);
    if start(&widths) > page.columns() {
        let short: Vec<[String; 5]> = folded.rows.iter().map(|row| self::cells(row, "", "")).collect();
        let narrow = self::widths(&short);
        if start(&narrow) <= page.columns() {
            (cells, widths) = (short, narrow);
        }
    }
    let start = start(&widths);
    let is_beside = start + CAUSE <= page.columns();
    let heads = line(&widths, &HEADS.map(str::to_owned), is_beside);
    writeln!(out, "{}", page.paint.faint(heads.trim_end()))?;
    for (at, (cells, row)) in cells.iter().zip(&folded.rows).enumerate() {
        let head = line(&widths, cells, false);
        if is_beside {
            page.words(out, (&format!("{head:start$}"), start), &cells[4], start, str::to_owned)?;
        } else {
            writeln!(out, "{}", head.trim_end())?;
        }
        part(row, &folded.clusters, page, out)?;
        // Rows that follow one another for one cause have it below the last of them.
        let goes_on = folded.rows.get(at + 1).is_some_and(|next| next.cause == row.cause);
        if !is_beside && !goes_on {
            page.words(out, ("      why: ", 11), &row.cause, 6, str::to_owned)?;
        }
    }
    if folded.clusters.len() > 1 && folded.rows.iter().any(|row| row.owners.clusters.len() > 1) {
        let head = format!("  {} ", page.paint.faint("<cluster>:"));
        page.words(out, (&head, 13), &listed(&folded.clusters), 4, str::to_owned)?;
    }
    Ok(())
}

/// How wide the first columns are.
fn widths(cells: &[[String; 5]]) -> [usize; 4] {
    let mut widths = [0; 4];
    for row in cells.iter().map(|row| row.each_ref().map(String::as_str)).chain([HEADS]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = columns(cell).max(*width);
        }
    }
    widths
}

/// Where the last column starts.
fn start(widths: &[usize; 4]) -> usize {
    widths.iter().map(|width| width + GAP).sum::<usize>() + GAP
}

/// The clusters of a row, where they are several and not all.
fn part(row: &Row<'_>, all: &BTreeSet<ClusterName<'_>>, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let some = row.owners.clusters.len();
    if some < 2 || some == all.len() {
        return Ok(());
    }
    page.words(out, ("    in ", 7), &listed(&row.owners.clusters), 4, str::to_owned)
}

/// One line of the first columns, and the last where it is wanted.
fn line(widths: &[usize; 4], cells: &[String; 5], whole: bool) -> String {
    let mut out = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        out.push_str(&" ".repeat(GAP));
        out.push_str(cell);
        out.push_str(&" ".repeat(width.saturating_sub(columns(cell))));
    }
    if whole {
        out.push_str(&" ".repeat(GAP));
        out.push_str(&cells[4]);
    }
    out
}

/// The columns of a row; the two words are left out where a line has no room for them.
fn cells(row: &Row<'_>, in_all: &str, replaced: &str) -> [String; 5] {
    let owners = &row.owners;
    let cluster = match owners.clusters.len() {
        0 => "-".to_owned(),
        1 => listed(&owners.clusters),
        count => plural(count as u64, "cluster"),
    };
    // The cluster says the namespace, where it is known.
    let place = owners.namespace.as_ref().filter(|_| owners.clusters.is_empty());
    let place = place.map_or_else(String::new, |namespace| format!("{namespace}/"));
    let names = match owners.names.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        names => first_and_more(names),
    };
    let mut what = sentence::of_count(row.effect, row.machines, row.replicas, replaced);
    if owners.count > 1 {
        what = format!("{}{in_all}, {what} each", row.total);
    }
    let lowest = match row.effect {
        Effect::Delete => "0".to_owned(),
        _ => match (row.lowest, row.replicas) {
            (Some(lowest), Some(replicas)) => format!("{lowest} of {replicas}"),
            (Some(lowest), None) => format!("{lowest} of ?"),
            (None, _) => "?".to_owned(),
        },
    };
    [cluster, format!("{} {place}{names}", owners.kind), what, lowest, row.cause.clone()]
}

/// Writes in which order Machines go, once for all owners of a kind with which it differs in numbers only, and their names.
pub(super) fn order(folded: &Folded<'_>, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let mut told: HashMap<(String, String), String> = HashMap::default();
    let mut begun = false;
    for row in &folded.rows {
        let steps = row.steps.join("; ");
        // The last one says how often, in numbers.
        let first = row.steps.split_last().map(|(_, first)| first.join("; ")).unwrap_or_default();
        let shape: String = first.chars().filter(|c| !c.is_ascii_digit()).collect();
        let names = row.owners.count == 1 || row.machine_names.len() <= NAMES;
        let names = if names { row.machine_names.join(", ") } else { String::new() };
        if steps.is_empty() && names.is_empty() {
            continue;
        }
        let same = match told.get(&(row.owners.kind.clone(), shape.clone())) {
            Some(before) if *before == steps => Some("the same"),
            Some(_) => Some("the same, in other numbers"),
            None => None,
        };
        told.entry((row.owners.kind.clone(), shape)).or_insert_with(|| steps.clone());
        if !begun {
            writeln!(out, "\n{}", page.paint.bold("How it goes"))?;
            begun = true;
        }
        let label = row.owners.label(&folded.clusters);
        let text = match (same, steps.is_empty()) {
            (_, true) => label,
            (Some(same), false) => format!("{label}: {same}"),
            (None, false) => format!("{label}: {steps}"),
        };
        page.words(out, ("  ", 2), &text, 4, str::to_owned)?;
        if !names.is_empty() {
            page.words(out, ("    Machines ", 13), &names, 6, |text| page.paint.faint(text))?;
        }
    }
    Ok(())
}

/// Writes what owners of one cluster that roll at the same time come to together, once for all clusters of which the same is true.
pub(super) fn together(all: &[Together], page: Page, out: &mut dyn Write) -> io::Result<()> {
    let alike = fold::together(all);
    for (one, clusters) in alike.iter().take(TOGETHER) {
        page.words(out, ("  ", 2), &sentence::of_together(one, *clusters), 4, str::to_owned)?;
        for wait in &one.waits {
            page.words(out, ("    ", 4), wait, 6, str::to_owned)?;
        }
    }
    let rest: u64 = alike.iter().skip(TOGETHER).map(|(_, clusters)| clusters).sum();
    if rest > 0 {
        let more = plural(rest, "other cluster");
        page.words(out, ("  ", 2), &format!("{more} with several owners that roll: see -o json"), 4, str::to_owned)?;
    }
    Ok(())
}
