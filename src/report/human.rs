//! The report for people: the verdict first, then each reason with its next command, then the evidence.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use super::{ChangeReport, LateState, ObjectReport, Reason, Report, dry_run, plural, sentence};
use crate::compare::Action;
use crate::impact::{Rollout, counted};
use crate::model::{Decision, Effect, Touches};
use crate::object::Location;

/// Most lines of a value that are shown.
const LINES: usize = 6;

/// Whether colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(pub bool);

impl Paint {
    fn wrap(self, style: Style, text: &str) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    fn decision(self, decision: Decision) -> String {
        let colour = match decision {
            Decision::Allow => AnsiColor::Green,
            Decision::Warn | Decision::Undecided => AnsiColor::Yellow,
            Decision::Hold => AnsiColor::Red,
        };
        self.wrap(Style::new().bold().fg_color(Some(colour.into())), decision.word())
    }

    fn effect(self, effect: Effect) -> String {
        let colour = match effect {
            Effect::None | Effect::InPlace => AnsiColor::Green,
            Effect::Scale | Effect::Latent => AnsiColor::Yellow,
            _ => AnsiColor::Red,
        };
        self.wrap(Style::new().fg_color(Some(colour.into())), effect.word())
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.wrap(Style::new().bold(), text)
    }

    fn faint(self, text: &str) -> String {
        self.wrap(Style::new().dimmed(), text)
    }

    pub(super) fn removed(self, text: &str) -> String {
        self.wrap(Style::new().fg_color(Some(AnsiColor::Red.into())), text)
    }

    pub(super) fn added(self, text: &str) -> String {
        self.wrap(Style::new().fg_color(Some(AnsiColor::Green.into())), text)
    }
}

/// Writes the whole report.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(report: &Report, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    headline(report, paint, out)?;
    for reason in &report.reasons {
        write_reason(reason, paint, out)?;
    }
    for object in report.objects.iter().filter(|object| !object.is_quiet()) {
        write_object(object, paint, out)?;
    }
    write_rollouts(&report.rollouts, paint, out)?;
    if let Some(answers) = &report.server_dry_run {
        dry_run::write(answers, paint, out)?;
    }
    footer(report, paint, out)
}

fn headline(report: &Report, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "rollgate: {}  {}", paint.decision(report.decision), paint.bold(&summary(report)))
}

/// What happens, in one line that counts Machines.
#[must_use]
pub fn summary(report: &Report) -> String {
    let count = |effect: Effect| -> (u64, bool) {
        let those = counted(&report.rollouts).filter(|rollout| rollout.effect == effect);
        those.fold((0, true), |(sum, known), rollout| {
            (sum + rollout.machines.unwrap_or(0), known && rollout.machines.is_some())
        })
    };
    let mut parts = Vec::new();
    for (effect, verb) in [(Effect::Delete, "destroyed"), (Effect::Rollout, "replaced"), (Effect::Scale, "deleted")] {
        if report.rollouts.iter().any(|rollout| rollout.effect == effect) {
            let (machines, known) = count(effect);
            let at_least = if known { "" } else { "at least " };
            parts.push(format!("{at_least}{} would be {verb}", plural(machines, "Machine")));
        }
    }
    let changed = report.objects.len();
    if parts.is_empty() && changed == 0 {
        parts.push("no compared object changes".to_owned());
    } else if parts.is_empty() {
        parts.push(format!("{} changed, worst effect {}", plural(changed as u64, "object"), report.effect));
    }
    parts.join(", ")
}

fn write_reason(reason: &Reason, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{} {}  {}", paint.decision(reason.decision), reason.gate, reason.message)?;
    match &reason.next {
        Some(next) => writeln!(out, "  {} {next}", paint.faint("next:")),
        None => Ok(()),
    }
}

fn write_object(object: &ObjectReport, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let sign = match object.action {
        Action::Create => "+",
        Action::Delete => "-",
        Action::Update => "~",
        Action::Unchanged => "=",
    };
    let place = object.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
    let renamed = object.renamed_from.as_ref().map_or_else(String::new, |old| format!(" (was {old})"));
    let at = object.location.as_ref().map_or_else(String::new, |location| format!(", {}", place_of(location)));
    let name = format!("{sign} {} {place}{}{renamed}", object.kind, object.name);
    writeln!(out, "\n{}  {}{}", paint.bold(&name), paint.effect(object.effect), paint.faint(&at))?;
    if !object.because.is_empty() {
        writeln!(out, "  {}", paint.faint(&format!("{} [{}]", object.because, object.rule)))?;
    }
    for change in &object.changes {
        write_change(change, paint, out)?;
    }
    Ok(())
}

/// Longest name of a file or template that is shown, in characters; the report in JSON has it whole.
const LONGEST_NAME: usize = 60;

/// Where an object stands, in a few words: file and line, and the template that made it.
fn place_of(location: &Location) -> String {
    let short = |name: &&String| name.chars().count() <= LONGEST_NAME;
    let line = match location.file.as_ref().filter(short) {
        Some(file) => format!("{file}:{}", location.line),
        None => format!("line {}", location.line),
    };
    match location.template.as_ref().filter(short) {
        Some(template) => format!("{line}, from {template}"),
        None => line,
    }
}

fn write_change(change: &ChangeReport, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let place = sentence::way(&change.path, &change.within);
    let touches = match change.touches {
        Some(Touches::Infrastructure) => ", touches infrastructure",
        None => "",
    };
    let line = change.location.as_ref().map_or_else(String::new, |location| format!(", line {}", location.line));
    writeln!(out, "  {place}  {}{touches}{}", paint.effect(change.effect), paint.faint(&line))?;
    let (before, after) = sides(change.before.as_ref(), change.after.as_ref());
    for line in before {
        writeln!(out, "    {}", paint.removed(&format!("- {line}")))?;
    }
    for line in after {
        writeln!(out, "    {}", paint.added(&format!("+ {line}")))?;
    }
    if !change.because.is_empty() {
        writeln!(out, "    {}", paint.faint(&format!("{} [{}]", change.because, change.rule)))?;
    }
    Ok(())
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

fn write_rollouts(rollouts: &[Rollout], paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    if rollouts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint.bold("Machines"))?;
    for rollout in rollouts {
        let machines = rollout.machines.map_or_else(|| "?".to_owned(), |machines| machines.to_string());
        let replicas = rollout.replicas.map_or_else(|| "?".to_owned(), |replicas| replicas.to_string());
        let owner = &rollout.owner;
        let fewer = rollout.machines.zip(rollout.replicas).is_some_and(|(machines, replicas)| machines > replicas);
        match rollout.effect {
            Effect::Delete => writeln!(out, "  {owner}: {machines} destroyed")?,
            Effect::Scale => writeln!(out, "  {owner}: {machines} deleted, {replicas} stay")?,
            _ if fewer => writeln!(out, "  {owner}: {machines} replaced by {replicas}")?,
            _ => writeln!(out, "  {owner}: {machines} of {replicas} replaced")?,
        }
        for name in &rollout.machine_names {
            writeln!(out, "    {name}")?;
        }
        for step in &rollout.steps {
            writeln!(out, "    {}", paint.faint(step))?;
        }
    }
    Ok(())
}

fn footer(report: &Report, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    for finding in &report.findings {
        writeln!(out, "{} {}: {}", paint.bold(&finding.id), finding.object, finding.message)?;
    }
    for warning in &report.warnings {
        writeln!(out, "{} {warning}", paint.decision(Decision::Warn))?;
    }
    for ignored in &report.ignored {
        let changes = plural(ignored.changes, "change");
        writeln!(out, "not shown: {changes} at {} ({})", ignored.path, ignored.reason)?;
    }
    for late in report.late_values.iter().filter(|late| late.state != LateState::Unused) {
        let source = late.source.as_deref().unwrap_or("no source");
        let state = serde_json::to_value(late.state).unwrap_or_default();
        let (state, places) = (state.as_str().unwrap_or_default(), plural(late.places as u64, "place"));
        let there = matches!(late.state, LateState::Resolved | LateState::Pinned | LateState::Differs);
        match &late.value {
            Some(value) => writeln!(out, "late value {}: {state}, {value} from {source}, {places}", late.name)?,
            None if there => writeln!(out, "late value {}: {state}, a secret from {source}, {places}", late.name)?,
            None => writeln!(out, "late value {}: {state} in {source}", late.name)?,
        }
    }
    let LiveLine(live) = LiveLine::of(report);
    writeln!(out, "{}", paint.faint(&live))
}

/// The last line: what was compared with what, under which policy.
struct LiveLine(String);

impl LiveLine {
    fn of(report: &Report) -> Self {
        let live = &report.live;
        let unchanged = report.objects.iter().filter(|object| object.is_quiet()).count();
        let quiet = if unchanged > 0 { format!(", {unchanged} without effect not shown") } else { String::new() };
        Self(format!(
            "compared {} with {}{quiet}; {} not compared; policy {}",
            plural(live.objects as u64, "object"),
            live.source,
            live.not_compared,
            report.policy.source,
        ))
    }
}
