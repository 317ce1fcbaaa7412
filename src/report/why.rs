//! The answer of `rollgate why`: which Machines are out of date, which field says so, who wrote it, and what is due by itself.
//! Values in it are redacted already.

use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::human::Page;
use super::{plural, sentence};
use crate::object::Key;

/// Everything that is answered.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WhyReport {
    /// Always `rollgate.dev/v1alpha1`.
    pub api_version: String,
    /// Always `Why`.
    pub kind: String,
    /// Whether everything that the answer needs was read.
    pub is_whole: bool,
    /// What was asked about; absent where it is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The owners of Machines that there is something to say about.
    pub owners: Vec<WhyOwner>,
    /// How many owners have nothing that is out of date or due.
    pub quiet: usize,
    /// What could not be read, with what to do about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// What a person should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Where it was read.
    pub source: String,
}

/// One owner of Machines.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WhyOwner {
    /// The owner.
    pub owner: Key,
    /// Its cluster, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// How many Machines it has, or had.
    pub machines: u64,
    /// Machines that are out of date, or were replaced, each kind of them with its reasons.
    pub outdated: Vec<WhyMachines>,
    /// What keeps its controller from replacing them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// Why a Machine that it makes is out of date at once, so that it is replaced for ever.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub never_matches: Vec<WhyField>,
    /// What is due with nobody writing anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<WhyDue>,
    /// Remediations that go on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remediation: Vec<String>,
    /// Who manages the object, as its labels and annotations say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub managed_by: Vec<String>,
}

/// Machines with the same reasons.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WhyMachines {
    /// Their names.
    pub names: Vec<String>,
    /// Whether they were replaced already.
    pub is_replaced: bool,
    /// Why.
    pub fields: Vec<WhyField>,
}

/// A field that says so.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WhyField {
    /// Its place in the owner, in the names of the newest API version.
    pub path: String,
    /// What the Machines were made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What the owner wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// What differs, where values do not say it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The rule behind it.
    pub rule: String,
    /// Who wrote it, the last one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writers: Vec<String>,
}

/// What is due by itself.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WhyDue {
    /// When, to the minute.
    pub at: String,
    /// Which Machines.
    pub names: Vec<String>,
    /// Why.
    pub fields: Vec<WhyField>,
}

impl WhyReport {
    /// Hands every text to `change`, so that one place can hide what must not be shown.
    pub fn each_text(&mut self, mut change: impl FnMut(&mut String)) {
        self.unread.iter_mut().chain(&mut self.warnings).for_each(&mut change);
        for owner in &mut self.owners {
            owner.held.iter_mut().chain(&mut owner.remediation).chain(&mut owner.managed_by).for_each(&mut change);
            let due = owner.due.iter_mut().flat_map(|due| &mut due.fields);
            let fields = owner.outdated.iter_mut().flat_map(|machines| &mut machines.fields);
            for field in fields.chain(due).chain(&mut owner.never_matches) {
                change(&mut field.detail);
                field.writers.iter_mut().for_each(&mut change);
            }
        }
    }
}

/// Writes the answer for people.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(report: &WhyReport, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let text = headline(report);
    page.words(out, ("rollgate: ", 10), &text, 2, |line| page.paint.bold(line))?;
    for owner in &report.owners {
        write_owner(owner, page, out)?;
    }
    writeln!(out)?;
    for unread in &report.unread {
        page.words(out, ("not known: ", 11), unread, 4, str::to_owned)?;
    }
    for warning in &report.warnings {
        page.words(out, ("warn ", 5), warning, 4, str::to_owned)?;
    }
    let quiet = plural(report.quiet as u64, "other owner");
    writeln!(out, "{}", page.paint.faint(&format!("read from {}; {quiet} with nothing to say", report.source)))
}

fn headline(report: &WhyReport) -> String {
    let about = report.about.as_ref().map_or_else(String::new, |about| format!(" of {about}"));
    let count = |replaced: bool| -> u64 {
        let machines = report.owners.iter().flat_map(|owner| &owner.outdated);
        machines.filter(|one| one.is_replaced == replaced).map(|one| one.names.len() as u64).sum()
    };
    let due: u64 = report.owners.iter().filter_map(|owner| owner.due.as_ref()).map(|due| due.names.len() as u64).sum();
    let mut parts = Vec::new();
    for (count, what) in [(count(true), "replaced"), (count(false), "out of date"), (due, "due later by itself")] {
        if count > 0 {
            parts.push(format!("{}{about} {what}", plural(count, "Machine")));
        }
    }
    if parts.is_empty() {
        parts.push(format!("no Machine{about} is out of date"));
    }
    if !report.is_whole {
        parts.push("not everything could be read".to_owned());
    }
    parts.join(", ")
}

fn write_owner(owner: &WhyOwner, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let cluster = owner.cluster.as_ref().map_or_else(String::new, |cluster| format!(" of cluster {cluster}"));
    writeln!(out)?;
    let head = format!("{}{cluster}, {}", owner.owner, plural(owner.machines, "Machine"));
    page.words(out, ("", 0), &head, 4, |line| page.paint.bold(line))?;
    for machines in &owner.outdated {
        let what = if machines.is_replaced { "replaced: " } else { "out of date: " };
        page.words(out, (&format!("  {what}"), 2 + what.len()), &machines.names.join(", "), 4, str::to_owned)?;
        machines.fields.iter().try_for_each(|field| write_field(field, page, out))?;
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
        let text = format!("{}, with nobody writing anything: {}", due.at, due.names.join(", "));
        page.words(out, ("  due ", 6), &text, 4, str::to_owned)?;
        due.fields.iter().try_for_each(|field| write_field(field, page, out))?;
    }
    for line in owner.remediation.iter().chain(&owner.managed_by) {
        page.words(out, ("  ", 2), line, 4, str::to_owned)?;
    }
    Ok(())
}

fn write_field(field: &WhyField, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let values = if field.detail.is_empty() || field.before.is_some() {
        let (before, after) = sentence::excerpt(field.before.as_ref(), field.after.as_ref());
        format!("{before} -> {after}")
    } else {
        field.detail.clone()
    };
    page.words(out, ("    ", 4), &format!("{} {values} [{}]", field.path, field.rule), 6, str::to_owned)?;
    field.writers.iter().try_for_each(|writer| {
        page.words(out, ("      ", 6), &format!("written by {writer}"), 8, |line| page.paint.faint(line))
    })
}
