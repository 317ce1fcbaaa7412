//! Markdown for a comment on a merge request and for a step summary: the verdict first, the evidence folded, within the size that
//! the service takes, and what is left out counted. The marker in the first line finds the comment again, to update it in place.

use std::io::{self, Write};

use super::differ::{self, Room};
use super::fold::Count;
use super::notice::{called, clip, name};
use super::{LateState, ObjectReport, Report, fold, hash, human, plural, sentence, several};
use crate::compare::Action;
use crate::model::{DO, Decision, Rollout};
use crate::object::Location;

/// Most bytes of a comment on GitHub (65,536 characters).
pub const GITHUB: usize = 65_536;
/// Most bytes of a comment on GitLab (1,000,000 characters).
pub(crate) const GITLAB: usize = 1_000_000;
/// Most bytes of a step summary on GitHub (1 MiB).
pub(crate) const SUMMARY: usize = 1_048_576;

/// How much of a change is shown.
const SIDE: Room = Room { lines: 20, line: 400 };
/// Longest sentence, in characters.
const LONGEST: usize = 1000;
/// Longest name.
const LONGEST_NAME: usize = 200;
/// Most bytes of the head, and of the foot.
const ENDS: usize = 6_000;
/// Most names, causes or steps of one owner.
const MOST: usize = 10;
/// Most changes of one object.
const CHANGES: usize = 50;

/// Writes the reports of a run in at most so many bytes.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write_all(reports: &[Report], limit: usize, out: &mut dyn Write) -> io::Result<()> {
    let [report] = reports else { return releases(reports, limit, out) };
    out.write_all(format!("{}\n{}", marker(report), head(report)).as_bytes())?;
    body(report, limit, out)
}

/// Several releases: a table of all, then each folded, the worst with the room that it needs.
fn releases(reports: &[Report], limit: usize, out: &mut dyn Write) -> io::Result<()> {
    let decision = super::decision(reports);
    let summary = plain(&super::notice::summary(reports));
    write!(out, "{RELEASES}\n### {} rollgate: {decision} — {summary}\n", sign(decision))?;
    let mut all: Vec<(&Report, String)> = reports.iter().zip(several::labels(reports)).collect();
    all.sort_by_key(|(report, _)| std::cmp::Reverse((report.decision, report.effect)));
    let rows = all.iter().map(|(report, label)| {
        format!("| **{}** | {} | {} |\n", report.decision, code(label), plain(&human::summary(report)))
    });
    let mut left = Vec::new();
    let table =
        Part::new("\n| | release | what happens |\n|---|---|---|\n", rows).within(limit / 3, "release", &mut left);
    out.write_all(table.as_bytes())?;
    let mut room = limit.saturating_sub(table.len() + ENDS);
    for (at, (report, label)) in all.iter().enumerate() {
        let mut text = Vec::new();
        // What the others do not need is there for the next one; the worst come first, and none gets less than it can use.
        let share = (room / (all.len() - at)).max(2 * ENDS + LEAST);
        if share > room {
            left.push(("report", (all.len() - at) as u64));
            break;
        }
        writeln!(text, "\n<details><summary>{} <b>{}</b></summary>\n", code(label), report.decision)?;
        write!(text, "{}", head(report))?;
        body(report, share - LEAST, &mut text)?;
        writeln!(text, "\n</details>")?;
        room -= text.len().min(room);
        out.write_all(&text)?;
    }
    out.write_all(left_out(&left).as_bytes())
}

/// The least room in which a report says something; names and tags around it fit into it too.
const LEAST: usize = 1_500;
/// The marker of a comment about several releases.
const RELEASES: &str = "<!-- rollgate:releases -->";

/// What stands below the head.
fn body(report: &Report, limit: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut room = limit.saturating_sub(2 * ENDS);
    let mut left = Vec::new();
    // The verdict and the Machines come first where not all fits; a part never takes more than its share.
    let reasons = Part::new(REASONS, report.reasons.iter().map(reason_row)).within(room / 2, "reason", &mut left);
    room -= reasons.len();
    let machines = Part::new(MACHINES, report.rollouts.iter().map(rollout_row)).within(room / 3, "owner", &mut left);
    room -= machines.len();
    let together = fold::together(&report.together).into_iter().map(|(one, clusters)| {
        let waits: String = one.waits.iter().map(|wait| format!("  - {}\n", plain(wait))).collect();
        format!("- {}\n{waits}", plain(&sentence::of_together(one, clusters)))
    });
    let together = Part::new("\n", together).within(room / 4, "cluster", &mut left);
    room -= together.len();
    let findings = report.findings.iter().map(|finding| {
        let object = called(&finding.object);
        let about = if finding.message.contains(&object) { String::new() } else { format!("{} ", code(&object)) };
        format!(
            "- **{}** {about}{}{}\n",
            plain(&finding.id),
            plain(&finding.message),
            at(finding.about.location.as_ref())
        )
    });
    let findings = Part::new("\n#### Findings\n\n", findings).within(room / 3, "finding", &mut left);
    room -= findings.len();
    let warnings = report.warnings.iter().map(|warning| format!("- {}\n", plain(warning)));
    let warnings = Part::new("\n#### Warnings\n\n", warnings).within(room / 4, "warning", &mut left);
    room -= warnings.len();
    let late = report.late_values.iter().filter(|late| late.state != LateState::Unused).map(|late| {
        let state = crate::tree::to_value(late.state).unwrap_or_default();
        let value = late.value.as_ref().map_or_else(String::new, |value| format!(", {}", code(value)));
        let source = late.source.as_ref().map_or_else(String::new, |source| format!(" from {}", plain(source)));
        let (state, places) = (state.as_str().unwrap_or_default(), plural(late.places as u64, "place"));
        format!("- {}: {state}{value}{source}, {places}\n", code(&late.name))
    });
    let late = Part::new("\n#### Late values\n\n", late).within(room / 4, "late value", &mut left);
    room -= late.len();
    let objects = report.objects.iter().filter(|object| !object.is_quiet()).map(object);
    let objects = Part::new("\n#### Objects\n\n", objects).within(room, "object", &mut left);
    for part in [reasons, machines, together, objects, findings, warnings, late, foot(report, &left)] {
        out.write_all(part.as_bytes())?;
    }
    Ok(())
}

/// The head of the table of reasons.
const REASONS: &str = "\n| | gate | why |\n|---|---|---|\n";
/// The head of the table of Machines.
const MACHINES: &str = "\n#### Machines\n\n| owner | cluster | Machines | how |\n|---|---|---|---|\n";

/// A heading or the head of a table, and what stands below it.
struct Part<I> {
    head: &'static str,
    entries: I,
}

impl<I: Iterator<Item = String>> Part<I> {
    const fn new(head: &'static str, entries: I) -> Self {
        Self { head, entries }
    }

    /// As much of it as fits, whole entries only; the others are counted.
    fn within(self, limit: usize, noun: &'static str, left: &mut Vec<(&'static str, u64)>) -> String {
        let mut out = String::new();
        let mut more = 0;
        for entry in self.entries {
            let head = if out.is_empty() { self.head.len() } else { 0 };
            if more > 0 || out.len() + head + entry.len() > limit {
                more += 1;
                continue;
            }
            if out.is_empty() {
                out.push_str(self.head);
            }
            out.push_str(&entry);
        }
        if more > 0 {
            left.push((noun, more));
        }
        out
    }
}

/// The line by which a comment is found again: one for each release of a repository.
#[must_use]
pub(crate) fn marker(report: &Report) -> String {
    let id =
        several::release(report).map_or_else(|| "stream".to_owned(), |name| hash(name.as_bytes())[7..23].to_owned());
    format!("<!-- rollgate:{id} -->")
}

fn head(report: &Report) -> String {
    let host = &report.host;
    let release = host.release.as_ref().map_or_else(String::new, |release| {
        format!(" · release {}", code(&format!("{}/{release}", host.namespace.as_deref().unwrap_or_default())))
    });
    let (sign, summary) = (sign(report.decision), plain(&human::summary(report)));
    format!("### {sign} rollgate: {} — {summary}{release}\n", report.decision.word())
}

const fn sign(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow | Decision::Warn => "✅",
        Decision::Undecided => "❔",
        Decision::Hold => "⛔",
    }
}

fn reason_row(reason: &crate::model::Reason) -> String {
    let step = |word: &str, step: &str| if word == DO { plain(step) } else { code(step) };
    let next: String = reason.steps().map(|(word, said)| format!("<br>{word}: {}", step(word, said))).collect();
    let place = at(reason.about.location.as_ref());
    format!("| **{}** | {} | {}{place}{next} |\n", reason.decision, plain(&reason.gate), plain(&reason.message))
}

fn rollout_row(rollout: &Rollout) -> String {
    let number = |count: Option<u64>| count.map(Count::from);
    let count = sentence::of_count(rollout.effect, number(rollout.machines), number(rollout.replicas), " replaced");
    let list = |texts: &[String], show: fn(&str) -> String, separator: &str| {
        let more = texts.len().saturating_sub(MOST);
        let mut shown: Vec<String> = texts.iter().take(MOST).map(|text| show(text)).collect();
        if more > 0 {
            shown.push(format!("{more} more"));
        }
        shown.join(separator)
    };
    let causes = match rollout.causes.is_empty() {
        true => String::new(),
        false => format!("why: {}<br>", list(&rollout.causes, code, ", ")),
    };
    let names = match rollout.machine_names.is_empty() {
        true => String::new(),
        false => format!(": {}", list(&rollout.machine_names, code, ", ")),
    };
    let steps = list(&rollout.steps, plain, "<br>");
    let owner = code(&called(&rollout.owner));
    format!("| {owner} | {} | {count}{names} | {causes}{steps} |\n", code(&rollout.cluster))
}

fn object(object: &ObjectReport) -> String {
    let sign = match object.action {
        Action::Create => "+",
        Action::Delete => "-",
        Action::Update => "~",
        Action::Unchanged => "=",
    };
    let called = name(&object.kind, object.namespace.as_deref(), &object.name);
    let was = object.renamed_from.as_ref().map_or_else(String::new, |old| format!(" (was {})", code(old)));
    let place = at(object.location.as_ref());
    let mut out =
        format!("<details><summary>{sign} {}{was} <b>{}</b>{place}</summary>\n\n", code(&called), object.effect.word());
    if !object.because.is_empty() {
        out.extend([format!("{} ({})\n\n", plain(&object.because), code(&object.rule))]);
    }
    for change in object.changes.iter().take(CHANGES) {
        let touches = if change.touches.is_some() { ", touches infrastructure" } else { "" };
        let place = at(change.location.as_ref());
        let path = sentence::way(&change.path, &change.within);
        out.extend([format!("{} **{}**{touches}{place}\n\n", code(&path), change.effect)]);
        out.push_str(&fenced(&differ::lines(change.before.as_ref(), change.after.as_ref(), SIDE)));
        if !change.because.is_empty() {
            out.extend([format!("{} ({})\n\n", plain(&change.because), code(&change.rule))]);
        }
    }
    if object.changes.len() > CHANGES {
        out.extend([format!("and {}\n\n", plural((object.changes.len() - CHANGES) as u64, "more change"))]);
    }
    out.push_str("</details>\n\n");
    out
}

/// Signed lines in a block that nothing in them can end.
fn fenced(lines: &[differ::Line]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let longest = lines.iter().flat_map(|line| line.text.split(|c| c != '`')).map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let text: String = lines.iter().map(|line| format!("{} {}\n", line.sign, line.text)).collect();
    format!("{fence}diff\n{text}{fence}\n\n")
}

/// What was compared with what, under which policy, and what is left out.
fn foot(report: &Report, left: &[(&'static str, u64)]) -> String {
    let live = &report.live;
    let mut out = format!(
        "\n<sub>compared {} with {}{}, policy {}{}; {}</sub>\n",
        plural(live.objects as u64, "object"),
        code(&live.source),
        sentence::of_age(live),
        code(&report.policy.source),
        sentence::not_compared(live),
        code(&report.digest),
    );
    if !report.ignored.is_empty() {
        let changes = report.ignored.iter().map(|ignored| ignored.changes).sum();
        out.extend([format!("\n{} left out by the policy (ignore).\n", plural(changes, "change"))]);
    }
    out.push_str(&left_out(left));
    out
}

/// What did not fit, counted; nothing where all did.
fn left_out(left: &[(&'static str, u64)]) -> String {
    if left.is_empty() {
        return String::new();
    }
    let list: Vec<String> = left.iter().map(|(noun, count)| plural(*count, noun)).collect();
    format!(
        "\n**Left out, as a comment may not be longer:** {}. The whole report is in `-o json=FILE` and `-o html=FILE`.\n",
        list.join(", ")
    )
}

/// Where something stands, in a few words; nothing where that is not known.
fn at(location: Option<&Location>) -> String {
    let Some(location) = location else { return String::new() };
    let file = location.file.as_deref().or(location.template.as_deref());
    match (file, &location.file) {
        (Some(file), Some(_)) => format!(" · {}", code(&format!("{file}:{}", location.line))),
        (Some(template), None) => format!(" · {}", code(template)),
        _ => format!(" · line {}", location.line),
    }
}

/// A name or a value: literally, and nothing in it is markup, a link or a mention.
fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("<code>{}</code>", escaped(&clip(text, LONGEST_NAME), |_| true))
}

/// A sentence: literally. What a service would take for a mention, a reference or a link stands as code.
fn plain(text: &str) -> String {
    escaped(&clip(text, LONGEST), |c| !matches!(c, '(' | ')' | ';' | '"' | '\'' | '?' | '=' | '+'))
}

/// Every sign of markup as a character reference: those are text to a reader of Markdown, wherever they stand (CommonMark 2.5).
fn escaped(text: &str, is_markup: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let is_code = is_markup('(');
    let mut before = ['\0'; 3];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let then = chars.peek().copied().unwrap_or(' ');
        let reference = || format!("&#{};", u32::from(c));
        match c {
            // An address without a scheme is made a link too.
            '.' if before.iter().all(|c| matches!(c, 'w' | 'W')) => out.push_str(&reference()),
            c if c.is_alphanumeric() || !c.is_ascii() || matches!(c, ' ' | '.' | ',' | '-' | '/') => out.push(c),
            '\n' | '\t' => out.push(' '),
            // Services look for these in the text that was made of the references, but not in code.
            '@' | '#' | '!' | '~' | '$' | '^' | '%' | '&' if !is_code && (then.is_alphanumeric() || then == '"') => {
                out.extend([format!("<code>{}</code>", reference())]);
            }
            ':' if !is_code && then == '/' => out.extend([format!("<code>{}</code>", reference())]),
            c if is_markup(c) => out.push_str(&reference()),
            c => out.push(c),
        }
        before = [before[1], before[2], c];
    }
    out
}
