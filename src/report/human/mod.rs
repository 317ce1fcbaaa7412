//! The report for people: the verdict and the next command first and last, between them the reasons, the table of Machines and
//! the evidence. What is equal over clusters and owners is said once.

mod approvals;
mod evidence;
mod page;
mod table;
mod wrap;

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::fold::{self, ClusterName, Folded};
use super::{LateState, LateValueReport, ObjectReport, Report, dry_run, plural, sentence, several};
use crate::impact::counted;
use crate::model::{DO, Decision, Effect, OR, Reason, SET_BACK};
pub(crate) use page::WIDTH;
pub use page::{Page, Paint};

/// Writes the whole report in the usual width.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write(report: &Report, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    write_on(report, Page::of(paint), out)
}

/// Writes the report as a page wants it.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write_on(report: &Report, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let folded = fold::fold(report);
    verdict(report, &folded, page, out)?;
    reasons(&folded, page, out)?;
    approvals::write(&report.approvals, page.paint, out)?;
    table::write(&folded, page, out)?;
    if !page.is_summary {
        evidence::write(&folded, page, out)?;
        table::order(&folded, page, out)?;
        table::together(&report.together, page, out)?;
        if let Some(answers) = &report.server_dry_run {
            dry_run::write(answers, page.paint, out)?;
        }
    }
    footer(report, &folded, page, out)?;
    // With nothing between, the first line is the last one too.
    if report.reasons.is_empty() && folded.objects.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    verdict(report, &folded, page, out)
}

/// Writes the reports of a run: of several the verdict of all first and last, and each below the name of its release.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write_all(reports: &[Report], page: Page, out: &mut dyn Write) -> io::Result<()> {
    if let [report] = reports {
        return write_on(report, page, out);
    }
    let decision = super::decision(reports);
    let head = format!("rollgate: {}  ", page.paint.decision(decision));
    let width = 12 + decision.word().len();
    let whole = |out: &mut dyn Write| {
        page.words(out, (&head, width), &several::summary(reports), 2, |text| page.paint.bold(text))
    };
    whole(out)?;
    for (report, label) in reports.iter().zip(several::labels(reports)) {
        writeln!(out)?;
        page.words(out, ("release ", 8), &label, 2, |text| page.paint.bold(text))?;
        write_on(report, page, out)?;
    }
    writeln!(out)?;
    whole(out)
}

/// The verdict, what happens, and the next command.
fn verdict(report: &Report, folded: &Folded<'_>, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let word = report.decision.word();
    let head = format!("rollgate: {}  ", page.paint.decision(report.decision));
    let mut what = summary(report);
    let clusters: BTreeSet<&ClusterName<'_>> = folded.rows.iter().flat_map(|row| &row.owners.clusters).collect();
    if clusters.len() > 1 {
        what = format!("{what}, in {} clusters", clusters.len());
    }
    page.words(out, (&head, 12 + word.len()), &what, 2, |text| page.paint.bold(text))?;
    let next = folded.reasons.iter().filter(|group| group.first.decision >= report.decision);
    let first = next.map(|group| group.first).find(|reason| reason.steps().next().is_some());
    first
        .into_iter()
        .flat_map(Reason::steps)
        .take_while(|(word, _)| *word != OR)
        .try_for_each(|(word, said)| step(page, word, said, out))
}

/// What can be done, in a line of its own. A command stays one line, so that it can be copied.
fn step(page: Page, word: &str, said: &str, out: &mut dyn Write) -> io::Result<()> {
    let head = format!("  {} ", page.paint.faint(&format!("{word}:")));
    match word == DO {
        true => page.words(out, (&head, 4 + word.len()), said, 6, str::to_owned),
        false => writeln!(out, "{head}{said}"),
    }
}

/// What happens, in one line that counts Machines.
#[must_use]
pub(crate) fn summary(report: &Report) -> String {
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
            let so_many = match (known, machines) {
                (true, _) => plural(machines, "Machine"),
                (false, 0) => "an unknown number of Machines".to_owned(),
                (false, _) => format!("at least {}", plural(machines, "Machine")),
            };
            parts.push(format!("{so_many} would be {verb}"));
        }
    }
    let back = report.findings.iter().filter(|finding| finding.id == SET_BACK).count() as u64;
    let mut what = match parts.is_empty() {
        true => held(report).unwrap_or_else(|| objects_of(report)),
        false => parts.join(", ") + sick(report).unwrap_or_default(),
    };
    if let Some(upgrade) = &report.upgrade {
        let steps: Vec<String> = upgrade.providers.iter().map(ToString::to_string).collect();
        what = format!("{}: {what}", steps.join(", "));
    }
    if back > 0 {
        what = format!("{what}; {} set back", plural(back, "field"));
    }
    match report.break_glass.as_ref().filter(|glass| glass.opened) {
        Some(glass) => format!("{}: {what}", glass.shout()),
        None => what,
    }
}

/// Why it is held where no Machine goes, in short; nothing where what the effect does says it.
fn held(report: &Report) -> Option<String> {
    let first = report.reasons.iter().find(|reason| reason.decision == Decision::Hold);
    let reason = first.filter(|_| report.decision == Decision::Hold)?;
    match reason.gate.as_str() {
        "rollout" | "rejected" | "unknown" => None,
        "infrastructure" => Some("infrastructure would change".to_owned()),
        "paused" => because(report, reason).and_then(sentence::of_waiting),
        _ => Some(sentence::start(&reason.message)),
    }
}

/// What is said of the change that a reason is about, or of the whole object.
fn because<'r>(report: &'r Report, reason: &Reason) -> Option<&'r str> {
    let object = report.objects.iter().find(|object| Some(&object.key()) == reason.object.as_ref())?;
    let path = reason.about.path.as_deref();
    let change = object.changes.iter().find(|change| Some(change.path.as_str()) == path);
    Some(change.map_or(object.because.as_str(), |change| change.because.as_str()))
}

/// What is said of a cluster whose Machines go while it is not well.
fn sick(report: &Report) -> Option<&'static str> {
    let held = report.reasons.iter().filter(|reason| reason.decision == Decision::Hold);
    held.filter_map(|reason| match reason.gate.as_str() {
        "health.etcd" => Some("; etcd could lose its quorum"),
        "health.machines" => Some("; Machines are missing or not healthy"),
        "health.remediation" => Some("; a remediation is under way"),
        "health.bootstrap" => Some("; the control plane was never complete"),
        "health.inProgress" => Some("; another rollout or scaling is under way"),
        _ => None,
    })
    .next()
}

/// What happens where no Machine goes, in one line that counts objects.
fn objects_of(report: &Report) -> String {
    let all = report.objects.len() as u64;
    let is_idle = report.effect == Effect::None;
    let each = |is: fn(&ObjectReport) -> bool| report.objects.iter().all(is);
    match all {
        0 if report.upgrade.is_some() && report.decision != Decision::Undecided => "no Machine is replaced".to_owned(),
        0 if report.upgrade.is_some() => "no Machine is known to be replaced, but not everything is known".to_owned(),
        all if report.upgrade.is_some() => format!("Machines of {} are out of date", plural(all, "owner")),
        0 if report.decision == Decision::Undecided => "no change was found, but not everything is known".to_owned(),
        0 => "no compared object changes".to_owned(),
        all if is_idle && each(ObjectReport::is_new) => format!("{} would be created", plural(all, "object")),
        all if is_idle && each(ObjectReport::is_unread) => {
            format!("{} compared with nothing: the cluster was not asked for them", plural(all, "object"))
        }
        all => by_effect(report, all),
    }
}

/// The worst effect of so many objects in words, where no Machine of an owner is counted.
fn by_effect(report: &Report, all: u64) -> String {
    let those = report.objects.iter().filter(|object| object.effect == report.effect).count() as u64;
    let so_many = match those == all {
        true => plural(all, "object"),
        false => format!("{those} of {}", plural(all, "object")),
    };
    let what = match report.effect {
        Effect::Rejected if those > 0 => return format!("{so_many} would be refused"),
        Effect::Unknown if those == 1 => return format!("{so_many} is not known to be safe"),
        Effect::Unknown if those > 1 => return format!("{so_many} are not known to be safe"),
        Effect::None if report.decision == Decision::Undecided => {
            "no effect on Machines was found, but not everything is known"
        }
        Effect::None => "no existing Machine is affected",
        Effect::InPlace => "propagated without replacing Machines",
        Effect::Scale => "no Machine is replaced, but their number changes",
        Effect::Latent => "no healthy Machine is replaced now",
        Effect::Rollout => "an unknown number of Machines would be replaced",
        effect => return format!("{} changed, worst effect {effect}", plural(all, "object")),
    };
    format!("{} changed, {what}", plural(all, "object"))
}

fn reasons(folded: &Folded<'_>, page: Page, out: &mut dyn Write) -> io::Result<()> {
    if !folded.reasons.is_empty() {
        writeln!(out)?;
    }
    let mut said = None;
    for group in &folded.reasons {
        let reason = group.first;
        let width = reason.decision.word().len() + wrap::columns(&reason.gate) + 3;
        let head = format!("{} {}  ", page.paint.decision(reason.decision), reason.gate);
        page.words(out, (&head, width), &group.message(&folded.clusters), 4, str::to_owned)?;
        // What is to be done about several that follow one another is said once.
        let is_new = |(word, step): &(&str, &str)| *word != DO || said != Some(*step);
        reason.steps().filter(is_new).try_for_each(|(word, step)| self::step(page, word, step, out))?;
        said = reason.remedy.as_deref();
    }
    Ok(())
}

fn footer(report: &Report, folded: &Folded<'_>, page: Page, out: &mut dyn Write) -> io::Result<()> {
    let paint = page.paint;
    writeln!(out)?;
    if !page.is_summary {
        for (head, kinds) in [("creates ", &folded.created), ("not looked for: ", &folded.unread)] {
            let kinds: Vec<String> = kinds.iter().map(|(kind, count)| plural(*count as u64, kind)).collect();
            if !kinds.is_empty() {
                page.words(out, (head, head.len()), &kinds.join(", "), 4, str::to_owned)?;
            }
        }
        for finding in &folded.findings {
            let head = format!("{} ", paint.bold(finding.id));
            let width = wrap::columns(finding.id) + 1;
            page.words(out, (&head, width), &finding.message(&folded.clusters), 4, str::to_owned)?;
        }
    }
    for warning in &folded.warnings {
        let head = format!("{} ", paint.decision(Decision::Warn));
        page.words(out, (&head, 5), &warning.message(&folded.clusters), 4, str::to_owned)?;
    }
    for ignored in &report.ignored {
        let changes = plural(ignored.changes, "change");
        let text = format!("not shown: {changes} at {} ({})", ignored.path, ignored.reason);
        page.words(out, ("", 0), &text, 4, str::to_owned)?;
    }
    for late in report.late_values.iter().filter(|late| late.state != LateState::Unused) {
        page.words(out, ("", 0), &late_value(late), 4, str::to_owned)?;
    }
    page.words(out, ("", 0), &compared(report), 4, |text| paint.faint(text))
}

/// A late value in one line.
fn late_value(late: &LateValueReport) -> String {
    let source = late.source.as_deref().unwrap_or("no source");
    let state = crate::tree::to_value(late.state).unwrap_or_default();
    let (state, places) = (state.as_str().unwrap_or_default(), plural(late.places as u64, "place"));
    let there = matches!(late.state, LateState::Resolved | LateState::Pinned | LateState::Differs);
    match &late.value {
        Some(value) => format!("late value {}: {state}, {value} from {source}, {places}", late.name),
        None if there => format!("late value {}: {state}, a secret from {source}, {places}", late.name),
        None => format!("late value {}: {state} in {source}", late.name),
    }
}

/// What was compared with what, under which policy.
fn compared(report: &Report) -> String {
    let live = &report.live;
    let unchanged = report.objects.iter().filter(|object| object.is_quiet()).count();
    let quiet = match unchanged {
        0 => String::new(),
        1 => "; 1 without effect is not shown".to_owned(),
        many => format!("; {many} without effect are not shown"),
    };
    let objects = plural(live.objects as u64, "object");
    let (age, rest) = (sentence::of_age(live), sentence::not_compared(live));
    format!("compared {objects} with {}{age}, policy {}{quiet}{rest}", live.source, report.policy.source)
}
