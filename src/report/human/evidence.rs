//! The evidence: what changes in which objects, and what decided about it.

use std::io::{self, Write};

use super::page::Page;
use super::wrap::columns;
use crate::compare::Action;
use crate::hashed::HashSet;
use crate::model::{Effect, Touches};
use crate::object::Location;
use crate::report::fold::{ChangeGroup, Each, Folded, ObjectGroup, Sides};
use crate::report::{plural, sentence};
use crate::tree::Value;

/// Most lines of a value that are shown.
const LINES: usize = 6;
/// Most places that are listed before only the first is shown.
const PLACES: usize = 3;
/// Most sentences about one change.
const SENTENCES: usize = 3;
/// Longest name of a file or template that is shown, in characters; the report in JSON has it whole.
const LONGEST_NAME: usize = 60;
/// Most objects whose own values are listed, where these decided something and where they did not.
const VALUES: (usize, usize) = (40, 3);

/// Writes every object that changes; a sentence that was written once is named by its rule from then on.
pub(super) fn write(folded: &Folded<'_>, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let mut said = HashSet::default();
    folded.objects.iter().try_for_each(|group| object(group, folded, page, &mut said, out))
}

fn object(
    group: &ObjectGroup<'_>,
    folded: &Folded<'_>,
    page: Page,
    said: &mut HashSet<String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (paint, first) = (page.paint, group.first);
    let sign = match first.action {
        Action::Create => "+",
        Action::Delete => "-",
        Action::Update => "~",
        Action::Unchanged => "=",
    };
    let renamed = match (&first.renamed_from, group.crowd.count) {
        (Some(old), 1) => format!(" (was {old})"),
        (Some(_), _) => " (renamed)".to_owned(),
        (None, _) => String::new(),
    };
    let name = format!("{sign} {}{renamed}", group.crowd.label(&folded.clusters));
    let effect = paint.effect(first.effect);
    let places: Vec<String> = group.locations.iter().map(|location| place_of(location)).collect();
    let at = paint.faint(&behind(&places));
    let wide = columns(&name) + columns(first.effect.word()) + 2;
    writeln!(out)?;
    if wide + columns(&behind(&places)) <= page.columns() {
        writeln!(out, "{}  {effect}{at}", paint.bold(&name))?;
    } else if wide <= page.columns() && places.len() > PLACES {
        // Of many places the first is no more than a help.
        writeln!(out, "{}  {effect}", paint.bold(&name))?;
    } else {
        page.words(out, ("", 0), &name, 4, |text| paint.bold(text))?;
        page.words(out, (&format!("    {effect}"), 4 + columns(first.effect.word())), &behind(&places), 4, |text| {
            paint.faint(text)
        })?;
    }
    // Of many templates with a new name their heading says as much.
    let is_said = first.renamed_from.is_some() && group.crowd.count > 1 && first.effect == Effect::Rollout;
    for remark in group.remarks.iter().filter(|remark| !is_said || remark.crowd.is_some()) {
        let of = remark.crowd.as_ref().map_or_else(String::new, |crowd| format!("{}: ", crowd.label(&folded.clusters)));
        because("  ", &format!("{of}{}", remark.because), remark.rule, page, said, out)?;
    }
    group.changes.iter().try_for_each(|change| write_change(change, folded, page, said, out))
}

/// Writes why, with the rule behind it; a sentence that stands in the report already is not written again.
fn because(
    indent: &str,
    text: &str,
    rule: &str,
    page: Page,
    said: &mut HashSet<String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if text.is_empty() || !said.insert(format!("{text} {rule}")) {
        return Ok(());
    }
    page.words(out, (indent, indent.len()), &format!("{text} [{rule}]"), indent.len(), |line| page.paint.faint(line))
}

fn write_change(
    group: &ChangeGroup<'_>,
    folded: &Folded<'_>,
    page: Page,
    said: &mut HashSet<String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (paint, change) = (page.paint, group.first);
    let place = sentence::way(&change.path, &change.within);
    let touches = match change.touches {
        Some(Touches::Infrastructure) => ", touches infrastructure",
        None => "",
    };
    let line = match group.locations.as_slice() {
        [only] => format!(", line {}", only.line),
        several => behind(&several.iter().map(|location| line_of(location)).collect::<Vec<_>>()),
    };
    let of = group.crowd.as_ref().map_or_else(String::new, |crowd| format!(", only {}", crowd.label(&folded.clusters)));
    let (effect, tail) = (paint.effect(change.effect), format!("{touches}{line}{of}"));
    let wide = columns(&place) + columns(change.effect.word()) + 4;
    if wide + columns(&tail) <= page.columns() {
        writeln!(out, "  {place}  {effect}{}", paint.faint(&tail))?;
    } else {
        writeln!(out, "  {place}")?;
        let taken = 4 + columns(change.effect.word());
        page.words(out, (&format!("    {effect}"), taken), &tail, 4, |text| paint.faint(text))?;
    }
    match &group.sides {
        Sides::Same { before, after } => both(before.as_ref(), after.as_ref(), page, out)?,
        Sides::Renamed { kind, example: (old, new) } => {
            let text = format!("each moves to its renamed {kind}, such as {old} -> {new} [{}]", change.rule);
            page.words(out, ("    ", 4), &text, 4, str::to_owned)?;
        }
        Sides::Each(all) => each(all, change.effect, page, out)?,
    }
    // That a reference to a template of another name replaces Machines is told by the reference itself.
    if matches!(group.sides, Sides::Renamed { .. }) && change.effect == Effect::Rollout {
        return Ok(());
    }
    for text in group.because.iter().take(SENTENCES) {
        because("    ", text, &change.rule, page, said, out)?;
    }
    match group.because.len().saturating_sub(SENTENCES) {
        0 => Ok(()),
        more => writeln!(out, "    and {} (-o json has them)", plural(more as u64, "more sentence")),
    }
}

fn both(before: Option<&Value>, after: Option<&Value>, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let (before, after) = sides(before, after);
    for line in before {
        writeln!(out, "    {}", page.paint.removed(&format!("- {line}")))?;
    }
    for line in after {
        writeln!(out, "    {}", page.paint.added(&format!("+ {line}")))?;
    }
    Ok(())
}

/// Values that each object has of its own, a line for each; of those that decided nothing, the first few.
fn each(all: &[Each<'_>], effect: Effect, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let most = if effect > Effect::InPlace { VALUES.0 } else { VALUES.1 };
    for one in all.iter().take(most) {
        let (before, after) = sentence::excerpt(one.change.before.as_ref(), one.change.after.as_ref());
        let (before, after) = (page.paint.removed(&before), page.paint.added(&after));
        writeln!(out, "    {}: {before} -> {after}", one.object)?;
    }
    if all.len() > most {
        writeln!(out, "    and {} more, each with values of its own (-o json has them)", all.len() - most)?;
    }
    Ok(())
}

/// Places behind an effect: a few, or the first of many.
fn behind(places: &[String]) -> String {
    match places {
        [] => String::new(),
        [first, rest @ ..] if rest.len() >= PLACES => format!(", first at {first}"),
        places => format!(", {}", places.join(", ")),
    }
}

/// Whether the name of a file or template can be shown.
fn is_short(name: &str) -> bool {
    name.chars().count() <= LONGEST_NAME
}

/// File and line.
fn line_of(location: &Location) -> String {
    match location.file.as_ref().filter(|file| is_short(file)) {
        Some(file) => format!("{file}:{}", location.line),
        None => format!("line {}", location.line),
    }
}

/// Where an object stands, in a few words: file and line, and the template that made it.
fn place_of(location: &Location) -> String {
    let line = line_of(location);
    match location.template.as_ref().filter(|template| is_short(template)) {
        Some(template) => format!("{line}, from {template}"),
        None => line,
    }
}

/// Before and after as lines; of long texts only what differs.
fn sides(before: Option<&Value>, after: Option<&Value>) -> (Vec<String>, Vec<String>) {
    if let (Some(Value::String(old)), Some(Value::String(new))) = (before, after)
        && (old.contains('\n') || new.contains('\n'))
    {
        return differing(old, new);
    }
    let side = |value: Option<&Value>| match value {
        Some(Value::String(text)) if !text.is_empty() => vec![sentence::evidence(text)],
        value => value.map(|value| sentence::short(Some(value))).into_iter().collect(),
    };
    (side(before), side(after))
}

fn differing(old: &str, new: &str) -> (Vec<String>, Vec<String>) {
    let diff = similar::TextDiff::from_lines(old, new);
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for change in diff.iter_all_changes() {
        let line = sentence::evidence(change.value().trim_end());
        match change.tag() {
            similar::ChangeTag::Delete => removed.push(line),
            similar::ChangeTag::Insert => added.push(line),
            similar::ChangeTag::Equal => {}
        }
    }
    (shortened(removed), shortened(added))
}

fn shortened(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > LINES {
        let more = lines.len() - LINES + 1;
        lines.truncate(LINES - 1);
        lines.push(format!("... {}", plural(more as u64, "more line")));
    }
    lines
}
