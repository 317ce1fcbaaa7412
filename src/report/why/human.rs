//! The answer of `rollgate why` for people: one sentence an owner, then its fields, each with who wrote it and when.

use std::io::{self, Write};

use super::{WhyField, WhyMove, WhyOwner, WhyReport, WhyRevision, WhyRollout, WhyWriter};
use crate::model::some_of;
use crate::report::human::Page;
use crate::report::{plural, sentence};
use crate::tree::Value;

/// So many names or places stand in a line.
const NAMED: usize = 6;
/// So many revisions of a field are told; all of them are in JSON.
const REVISIONS: usize = 3;

/// Writes the answer for people.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write(report: &WhyReport, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let lone = match report.owners.as_slice() {
        [owner] => Some(owner),
        _ => None,
    };
    let mut text = lone.map_or_else(|| counts(report), |owner| owner.headline.clone());
    if !report.is_whole {
        text.push_str(", but not everything could be read");
    }
    page.words(out, ("rollgate: ", 10), &text, 2, |line| page.paint.bold(line))?;
    for owner in &report.owners {
        write_owner(owner, lone.is_none(), page, out)?;
    }
    writeln!(out)?;
    for unread in &report.unread {
        page.words(out, ("not known: ", 11), unread, 4, str::to_owned)?;
    }
    for warning in &report.warnings {
        page.words(out, ("warn ", 5), warning, 4, str::to_owned)?;
    }
    let quiet = plural(report.quiet as u64, "other owner");
    let older = match report.older {
        0 => String::new(),
        _ => ", rollouts of more than a week ago left out (ask by name)".to_owned(),
    };
    let text = format!("read from {}; {quiet} with nothing to report{older}", report.source);
    page.words(out, ("", 0), &text, 4, |line| page.paint.faint(line))
}

/// What there is of all owners together.
fn counts(report: &WhyReport) -> String {
    let about = report.about.as_ref().map_or_else(String::new, |about| format!(" of {about}"));
    let of = |count: fn(&WhyOwner) -> u64| report.owners.iter().map(count).sum::<u64>();
    let due = of(|owner| owner.due.as_ref().map_or(0, |due| due.names.len() as u64));
    let mut parts = Vec::new();
    for (count, what) in [(of(replaced), "replaced"), (of(outdated), "out of date"), (due, "due later by itself")] {
        if count > 0 {
            parts.push(format!("{}{about} {what}", plural(count, "Machine")));
        }
    }
    if parts.is_empty() {
        parts.push(format!("no outdated Machine{about} was found"));
    }
    parts.join(", ")
}

/// How many Machines of an owner were replaced.
fn replaced(owner: &WhyOwner) -> u64 {
    gone(owner).0
}

/// How many Machines of an owner were replaced, and since when: those that are gone since an earlier World, else those of its
/// last rollout, where that was for what is out of date now.
fn gone(owner: &WhyOwner) -> (u64, Option<&str>) {
    let gone: u64 = owner.outdated.iter().filter(|one| one.is_replaced).map(|one| one.names.len() as u64).sum();
    let now: Vec<&str> = owner.outdated.iter().flat_map(|one| &one.fields).map(|field| field.path.as_str()).collect();
    let is_same =
        |rollout: &&WhyRollout| now.is_empty() || rollout.fields.iter().any(|field| now.contains(&field.path.as_str()));
    let last = owner.rollouts.first().filter(is_same);
    let since = last.map(|rollout| rollout.since.as_str());
    if gone > 0 { (gone, since) } else { (last.map_or(0, |rollout| rollout.replaced), since) }
}

/// How many Machines of an owner are out of date.
fn outdated(owner: &WhyOwner) -> u64 {
    owner.outdated.iter().filter(|one| !one.is_replaced).map(|one| one.names.len() as u64).sum()
}

/// What there is to say about an owner, in one sentence: what became of its Machines, by which field, and who wrote it.
#[must_use]
pub(crate) fn headline(owner: &WhyOwner) -> String {
    let old = outdated(owner);
    let (gone, since) = gone(owner);
    let since = since.map(|since| format!(" since {}", minute(since))).unwrap_or_default();
    let mut parts = Vec::new();
    if gone > 0 {
        parts.push(format!("replaced {}{since}", plural(gone, "Machine")));
    }
    if old > 0 {
        let still = if gone > 0 { "still has" } else { "has" };
        parts.push(format!("{still} {} out of date", plural(old, "Machine")));
    }
    if !owner.never_matches.is_empty() {
        parts.push("replaces its Machines for ever, as none can match its spec".to_owned());
    }
    if let (Some(due), true) = (&owner.due, parts.is_empty()) {
        let count = plural(due.names.len() as u64, "Machine");
        parts.push(format!("will replace {count} at {} without any write", minute(&due.at)));
    }
    if parts.is_empty() {
        parts.push("has a remediation under way".to_owned());
    }
    let subject = format!("{} {}", owner.owner, parts.join(" and "));
    let Some(field) = first_field(owner) else { return subject };
    let more = match field.further.len() + fields(owner).saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {}", plural(more as u64, "more place")),
    };
    let by = author(field, &owner.topology).map(|by| format!(", {by}")).unwrap_or_default();
    format!("{subject}: {} {}{more}{by}", field.place, values(field))
}

/// The field that decides what is said first, and how many there are beside it.
fn first_field(owner: &WhyOwner) -> Option<&WhyField> {
    all_fields(owner).next()
}

fn fields(owner: &WhyOwner) -> usize {
    let mut paths: Vec<&str> = all_fields(owner).map(|field| field.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.len()
}

/// The fields of the first thing there is to say.
fn all_fields(owner: &WhyOwner) -> Box<dyn Iterator<Item = &WhyField> + '_> {
    if !owner.outdated.is_empty() {
        Box::new(owner.outdated.iter().flat_map(|one| &one.fields))
    } else if let Some(rollout) = owner.rollouts.first() {
        Box::new(rollout.fields.iter())
    } else if !owner.never_matches.is_empty() {
        Box::new(owner.never_matches.iter())
    } else {
        Box::new(owner.due.iter().flat_map(|due| &due.fields))
    }
}

/// Who wrote a field: the revision that brought what stands there, else the last of its managers.
fn author(field: &WhyField, topology: &[WhyRevision]) -> Option<String> {
    let writer = field.writers.first();
    if let (Some(revision), None) = (field.revisions.first(), &field.strays) {
        let helm = field.writers.iter().find(|writer| writer.manager.contains("helm"));
        let helm = helm.map_or("Helm", |writer| writer.manager.as_str());
        return Some(format!("written by {helm} (release {}, revision {})", revision.release, revision.revision));
    }
    if let Some(revision) = topology.first() {
        let (release, number) = (&revision.release, revision.revision);
        return Some(format!("written by the topology of its Cluster (release {release}, revision {number})"));
    }
    let writer = writer.filter(|writer| writer.around.is_none())?;
    let time = writer.time.as_deref().map(|time| format!(" at {}", minute(time))).unwrap_or_default();
    Some(format!("written by {} ({}){time}", writer.manager, writer.operation))
}

/// A time to the minute, as people say it.
fn minute(time: &str) -> String {
    match time.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => time.to_owned(),
    }
}

/// A time to the second.
fn second(time: &str) -> String {
    match time.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => time.to_owned(),
    }
}

/// What a field had and has; what differs in words where the values do not say it.
fn values(field: &WhyField) -> String {
    match (field.is_before_known, field.detail.is_empty()) {
        (true, _) => pair(field.before.as_ref(), field.after.as_ref()),
        (false, false) => field.detail.clone(),
        (false, true) => format!("is now {}", sentence::short(field.after.as_ref())),
    }
}

fn pair(before: Option<&Value>, after: Option<&Value>) -> String {
    let (before, after) = sentence::excerpt(before, after);
    format!("{before} -> {after}")
}

/// Names in a line, of many only the first ones.
fn names(all: &[String]) -> String {
    some_of(all, NAMED)
}

fn write_owner(owner: &WhyOwner, with_headline: bool, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let cluster = owner.cluster.as_ref().map_or_else(String::new, |cluster| format!(" of cluster {cluster}"));
    writeln!(out)?;
    if with_headline {
        page.words(out, ("", 0), &owner.headline, 4, |line| page.paint.bold(line))?;
    } else {
        let head = format!("{}{cluster}, {}", owner.owner, plural(owner.machines, "Machine"));
        page.words(out, ("", 0), &head, 4, |line| page.paint.bold(line))?;
    }
    for machines in &owner.outdated {
        let what = if machines.is_replaced { "replaced: " } else { "out of date: " };
        page.words(out, (&format!("  {what}"), 2 + what.len()), &names(&machines.names), 4, str::to_owned)?;
        machines.fields.iter().try_for_each(|field| write_field(field, page, out))?;
    }
    let mut said: Vec<&WhyField> = owner.outdated.iter().flat_map(|one| &one.fields).collect();
    for rollout in &owner.rollouts {
        write_rollout(rollout, page, out)?;
        // What is out of date for the same reason has told it.
        let is_said =
            |field: &WhyField| said.iter().any(|one| one.path == field.path && one.revisions == field.revisions);
        rollout.fields.iter().filter(|field| !is_said(field)).try_for_each(|field| write_field(field, page, out))?;
        said.extend(&rollout.fields);
    }
    if let Some(held) = &owner.held {
        page.words(out, ("  not replaced for now: ", 24), held, 4, str::to_owned)?;
    }
    if !owner.never_matches.is_empty() {
        let text = "no Machine that it makes can match it, so it replaces them for ever:";
        page.words(out, ("  ", 2), text, 4, str::to_owned)?;
        owner.never_matches.iter().try_for_each(|field| write_field(field, page, out))?;
    }
    if let Some(due) = &owner.due {
        let text = format!("{}, with nobody writing anything: {}", minute(&due.at), names(&due.names));
        page.words(out, ("  due ", 6), &text, 4, str::to_owned)?;
        due.fields.iter().try_for_each(|field| write_field(field, page, out))?;
    }
    for revision in owner.topology.iter().take(REVISIONS) {
        write_revision(revision, None, page, out)?;
    }
    for line in owner.remediation.iter().chain(&owner.managed_by).chain(&owner.gaps) {
        page.words(out, ("  ", 2), line, 4, str::to_owned)?;
    }
    Ok(())
}

fn write_rollout(rollout: &WhyRollout, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let text = format!(
        "{}: {} replaced, {} made until {}",
        second(&rollout.since),
        plural(rollout.replaced, "Machine"),
        names(&rollout.made),
        minute(&rollout.until)
    );
    page.words(out, ("  since ", 8), &text, 4, str::to_owned)?;
    page.words(out, ("    ", 4), &format!("told by {}", rollout.told_by), 6, |line| page.paint.faint(line))
}

fn write_field(field: &WhyField, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let text = format!("{} {} [{}]", field.place, values(field), field.rule);
    page.words(out, ("    ", 4), &text, 6, str::to_owned)?;
    field.further.iter().take(NAMED).try_for_each(|one| write_move(one, page, out))?;
    for revision in field.revisions.iter().take(REVISIONS) {
        write_revision(revision, Some(field), page, out)?;
    }
    if let Some(strays) = &field.strays {
        page.words(out, ("      ", 6), strays, 8, str::to_owned)?;
    }
    field.writers.iter().try_for_each(|writer| write_writer(writer, page, out))
}

fn write_writer(writer: &WhyWriter, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let time = writer.time.as_ref().map_or_else(String::new, |time| format!(", which last wrote the object {time}"));
    let what = match &writer.around {
        Some(around) => format!("{around} is written by"),
        None => "written by".to_owned(),
    };
    let text = format!("{what} {} ({}){time}", writer.manager, writer.operation);
    page.words(out, ("      ", 6), &text, 8, |line| page.paint.faint(line))
}

/// A revision in a line: when it was written, its state, and what Helm said about it.
fn of_revision(revision: &WhyRevision) -> String {
    let time = revision.time.as_deref().map(|time| format!(", {}", minute(time))).unwrap_or_default();
    let said = Some(&revision.description).filter(|text| !text.is_empty()).map(|text| format!(": {text}"));
    let chart = revision.chart.as_ref().map(|chart| format!("; chart {chart}"));
    let between = (revision.revision != revision.previous + 1)
        .then(|| format!("; compared with revision {}, those between are not known", revision.previous));
    let more: String = [said, chart, between].into_iter().flatten().collect();
    format!("revision {} of {}{time}, {}{more}", revision.revision, revision.release, revision.status)
}

/// A revision, with what it changed unless the field says the same already.
fn write_revision(revision: &WhyRevision, field: Option<&WhyField>, page: Page, out: &mut dyn Write) -> io::Result<()> {
    page.words(out, ("      ", 6), &of_revision(revision), 8, str::to_owned)?;
    let is_said = |one: &WhyMove| {
        let says = |place: &str, before: &Option<Value>, after: &Option<Value>| {
            one.object.is_none() && one.place == place && one.before == *before && one.after == *after
        };
        field.is_some_and(|field| {
            says(&field.place, &field.before, &field.after)
                || field.further.iter().any(|other| says(&other.place, &other.before, &other.after))
        })
    };
    revision.changes.iter().filter(|one| !is_said(one)).try_for_each(|one| write_move(one, page, out))?;
    match revision.more {
        0 => Ok(()),
        more => page.words(out, ("        ", 8), &format!("and {more} more"), 10, str::to_owned),
    }
}

fn write_move(one: &WhyMove, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let object = one.object.as_ref().map_or_else(String::new, |object| format!("{object}: "));
    let text = format!("{object}{} {}", one.place, pair(one.before.as_ref(), one.after.as_ref()));
    page.words(out, ("        ", 8), &text, 10, str::to_owned)
}
