//! What a report says as a flat list: one notice a change, an object, a finding or an answer of a gate, the weightiest first.
//! The formats of programs (SARIF, JUnit, Code Quality, workflow commands) are written from it.

use super::{ChangeReport, ObjectReport, Report, hash, human, sentence, several};
use crate::hashed::{HashMap, HashSet};
use crate::model::{DO, Decision, Effect, Finding, OR, Reason};
use crate::object::{Identity, Key, Location};

/// Longest text of a notice, in characters: no service shows more, and some refuse it.
const LONGEST: usize = 1000;
/// Longest name of an object, a field or a file.
pub(super) const LONGEST_NAME: usize = 300;

/// How loudly something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Allowed.
    Note,
    /// Allowed, and somebody should read it.
    Warning,
    /// Held, or undecided.
    Error,
}

impl Level {
    const fn of(decision: Decision) -> Self {
        match decision {
            Decision::Allow => Self::Note,
            Decision::Warn => Self::Warning,
            Decision::Undecided | Decision::Hold => Self::Error,
        }
    }

    /// The word of SARIF.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing that a report says.
#[derive(Debug)]
pub(super) struct Notice<'r> {
    /// The rule, the finding or the gate.
    pub(super) id: String,
    /// What the gates answer to it.
    pub(super) decision: Decision,
    /// How loudly it is said.
    pub(super) level: Level,
    /// What it does to Machines, where it does something.
    pub(super) effect: Option<Effect>,
    /// The object, as people call it; empty where it is about none.
    pub(super) object: String,
    /// The field.
    pub(super) path: String,
    /// One line.
    pub(super) message: String,
    /// Why, in general; empty where the message says it all.
    pub(super) because: &'r str,
    /// Where that behaviour stands.
    pub(super) source: &'r str,
    /// What a person does about it.
    pub(super) remedy: Option<&'r str>,
    /// The next command.
    pub(super) next: Option<&'r str>,
    /// Other commands.
    pub(super) or: &'r [String],
    /// Where it stands.
    pub(super) location: Option<&'r Location>,
    /// Tells it from every other notice, and is the same in the next run as long as the thing itself is.
    pub(super) fingerprint: String,
}

/// Everything that one report has to say, the weightiest first; what has no effect and nobody asks about is left out.
pub(super) fn notices(report: &Report) -> Vec<Notice<'_>> {
    let mut list = List { answers: answers(report), said: Vec::new(), seen: HashMap::default() };
    for object in &report.objects {
        list.object(object);
    }
    let said: HashSet<(String, Option<Effect>)> =
        list.said.iter().map(|notice| (notice.object.clone(), notice.effect)).collect();
    // What the changes of an object say is not said once more, nor what a finding says.
    let is_said = |reason: &Reason| {
        let object = reason.object.as_ref().filter(|_| is_of_effect(reason));
        object.is_some_and(|object| said.contains(&(clip(&called(object), LONGEST_NAME), reason.about.effect)))
    };
    let mut rest: HashMap<&str, &Reason> = report.reasons.iter().map(|one| (one.message.as_str(), one)).collect();
    for finding in &report.findings {
        list.finding(finding, rest.remove(finding.message.as_str()));
    }
    let rest = report.reasons.iter().filter(|reason| rest.contains_key(reason.message.as_str()) && !is_said(reason));
    rest.for_each(|reason| list.reason(reason));
    list.said.sort_by_key(|notice| std::cmp::Reverse((notice.level, notice.decision, notice.effect)));
    list.said
}

/// Everything that the reports of a run have to say, the weightiest first, each with the place of its report. Of several, each names
/// its release.
pub(super) fn all(reports: &[Report]) -> Vec<(Notice<'_>, usize)> {
    let several = reports.len() > 1;
    let mut all = Vec::new();
    for (at, (report, label)) in reports.iter().zip(several::labels(reports)).enumerate() {
        all.extend(notices(report).into_iter().map(|mut notice| {
            if several {
                notice.message = clip(&format!("{label}: {}", notice.message), LONGEST);
                notice.fingerprint = fingerprint(&format!("{label}\n{}", notice.fingerprint));
            }
            (notice, at)
        }));
    }
    all.sort_by_key(|(notice, _)| std::cmp::Reverse((notice.level, notice.decision, notice.effect)));
    all
}

/// What is said of a run beside its notices; of several releases, each names its own.
pub(super) fn warnings(reports: &[Report]) -> Vec<String> {
    let mut all = Vec::new();
    for (report, label) in reports.iter().zip(several::labels(reports)) {
        let name = if reports.len() > 1 { format!("{label}: ") } else { String::new() };
        all.extend(report.warnings.iter().map(|warning| format!("{name}{warning}")));
    }
    all
}

/// What happens, in one line.
pub(super) fn summary(reports: &[Report]) -> String {
    match reports {
        [report] => human::summary(report),
        _ => several::summary(reports),
    }
}

fn fingerprint(identity: &str) -> String {
    hash(identity.as_bytes()).trim_start_matches("sha256:").chars().take(32).collect()
}

/// An object of a report, and an effect on it or all that touches it.
type Place<'r> = (&'r str, Option<&'r str>, &'r str, Option<Effect>);

/// What the gates answer to an effect on an object, by object and effect; without an effect to what touches infrastructure.
fn answers(report: &Report) -> HashMap<Place<'_>, Decision> {
    let mut answers = HashMap::default();
    for reason in report.reasons.iter().filter(|reason| is_of_effect(reason)) {
        let Some(Identity { kind, namespace, name, .. }) = reason.object.as_deref() else { continue };
        let effect = reason.about.effect.filter(|_| reason.gate != INFRASTRUCTURE);
        let answer = answers.entry((kind.as_str(), namespace.as_deref(), name.as_str(), effect)).or_default();
        *answer = reason.decision.max(*answer);
    }
    answers
}

/// The gate of what moves infrastructure.
const INFRASTRUCTURE: &str = "infrastructure";

/// Whether a reason answers to an effect, so that the changes with it say all that it says.
fn is_of_effect(reason: &Reason) -> bool {
    reason.gate == INFRASTRUCTURE || reason.about.effect.is_some_and(|effect| effect.word() == reason.gate)
}

struct List<'r> {
    answers: HashMap<Place<'r>, Decision>,
    said: Vec<Notice<'r>>,
    /// How often each identity was met: several may be alike.
    seen: HashMap<String, usize>,
}

impl<'r> List<'r> {
    fn answer(&self, object: &'r ObjectReport, effect: Option<Effect>) -> Decision {
        let place = (object.kind.as_str(), object.namespace.as_deref(), object.name.as_str(), effect);
        self.answers.get(&place).copied().unwrap_or_default()
    }

    fn object(&mut self, object: &'r ObjectReport) {
        let changes = object.changes.iter().map(|change| change.effect).max();
        for change in object.changes.iter().filter(|change| change.effect > Effect::None || change.touches.is_some()) {
            self.change(object, change);
        }
        if object.effect > changes.unwrap_or_default() {
            let name = name(&object.kind, object.namespace.as_deref(), &object.name);
            let what = if object.because.is_empty() { object.effect.word() } else { &object.because };
            let notice = Notice {
                id: id(&object.rule, object.effect),
                effect: Some(object.effect),
                message: clip(&format!("{name}: {what}"), LONGEST),
                because: &object.because,
                location: object.location.as_ref(),
                ..Notice::new(self.answer(object, Some(object.effect)), name)
            };
            self.push(notice, "");
        }
    }

    fn change(&mut self, object: &'r ObjectReport, change: &'r ChangeReport) {
        let infrastructure = change.touches.map_or(Decision::Allow, |_| self.answer(object, None));
        let decision = self.answer(object, Some(change.effect)).max(infrastructure);
        let name = name(&object.kind, object.namespace.as_deref(), &object.name);
        let path = sentence::way(&change.path, &change.within);
        let (before, after) = sentence::excerpt(change.before.as_ref(), change.after.as_ref());
        let because = if change.because.is_empty() { String::new() } else { format!(": {}", change.because) };
        let touches = if change.touches.is_some() { ", touches infrastructure" } else { "" };
        let message = format!("{name}: {path} {before} -> {after} ({}{touches}){because}", change.effect);
        // The place of an item in its list is no identity where the item has one.
        let identity = match &change.key {
            Some(key) => format!("{} {key}", unnumbered(&path)),
            None => path.clone(),
        };
        let notice = Notice {
            id: id(&change.rule, change.effect),
            effect: Some(change.effect),
            path: clip(&path, LONGEST_NAME),
            message: clip(&message, LONGEST),
            because: &change.because,
            source: &change.source,
            location: change.location.as_ref().or(object.location.as_ref()),
            ..Notice::new(decision, name)
        };
        self.push(notice, &identity);
    }

    fn finding(&mut self, finding: &'r Finding, reason: Option<&'r Reason>) {
        let decision = reason.map_or(Decision::Warn, |reason| reason.decision.max(Decision::Warn));
        let object = called(&finding.object);
        let message = if finding.message.contains(&object) {
            finding.message.clone()
        } else {
            format!("{object}: {}", finding.message)
        };
        let path = finding.about.path.clone().unwrap_or_default();
        let notice = Notice {
            id: finding.id.clone(),
            effect: finding.about.effect,
            path: clip(&path, LONGEST_NAME),
            message: clip(&message, LONGEST),
            remedy: reason.and_then(|reason| reason.remedy.as_deref()),
            next: reason.and_then(|reason| reason.next.as_deref()),
            or: reason.map_or(&[], |reason| reason.or.as_slice()),
            location: finding.about.location.as_ref(),
            ..Notice::new(decision, object)
        };
        self.push(notice, &path);
    }

    fn reason(&mut self, reason: &'r Reason) {
        let object = reason.object.as_ref().map(called).unwrap_or_default();
        let path = reason.about.path.clone().unwrap_or_default();
        // Counts and times of a sentence move; what it is about does not.
        let identity = match object.is_empty() {
            true => reason.message.chars().filter(|c| !c.is_ascii_digit()).collect(),
            false => path.clone(),
        };
        let notice = Notice {
            id: format!("gate/{}", reason.gate),
            effect: reason.about.effect,
            path: clip(&path, LONGEST_NAME),
            message: clip(&reason.message, LONGEST),
            remedy: reason.remedy.as_deref(),
            next: reason.next.as_deref(),
            or: &reason.or,
            location: reason.about.location.as_ref(),
            ..Notice::new(reason.decision, object)
        };
        self.push(notice, &identity);
    }

    fn push(&mut self, mut notice: Notice<'r>, identity: &str) {
        notice.id = clip(&notice.id, LONGEST_NAME);
        let identity = format!("{}\n{}\n{identity}", notice.id, notice.object);
        let count = self.seen.entry(identity.clone()).or_default();
        *count += 1;
        let text = if *count == 1 { identity } else { format!("{identity}\n{count}") };
        notice.fingerprint = fingerprint(&text);
        // Its whole name was needed for the identity only.
        notice.object = clip(&notice.object, LONGEST_NAME);
        self.said.push(notice);
    }
}

impl Notice<'_> {
    fn new(decision: Decision, object: String) -> Self {
        Self {
            id: String::new(),
            decision,
            level: Level::of(decision),
            effect: None,
            object,
            path: String::new(),
            message: String::new(),
            because: "",
            source: "",
            remedy: None,
            next: None,
            or: &[],
            location: None,
            fingerprint: String::new(),
        }
    }

    /// What can be done, each with the word that stands before it.
    pub(super) fn steps(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = self.remedy.map(|step| (DO, step)).into_iter().chain(self.next.map(|step| ("next", step)));
        all.chain(self.or.iter().map(|step| (OR, step.as_str())))
    }
}

/// The rule that decided; where none did, the effect stands for it.
fn id(rule: &str, effect: Effect) -> String {
    if rule.is_empty() { format!("effect/{effect}") } else { rule.to_owned() }
}

/// An object as people call it.
pub(super) fn name(kind: &str, namespace: Option<&str>, name: &str) -> String {
    let place = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
    format!("{kind} {place}{name}")
}

/// The object of a key as people call it.
pub(super) fn called(key: &Key) -> String {
    name(&key.kind, key.namespace.as_deref(), &key.name)
}

/// A path without the numbers of the items in it.
fn unnumbered(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        out.push('[');
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out.push_str(rest);
    out
}

/// A text of at most so many characters; what is cut off is counted.
pub(super) fn clip(text: &str, most: usize) -> String {
    // Bytes are never fewer than characters.
    if text.len() <= most {
        return text.to_owned();
    }
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let short: String = text.chars().take(most).collect();
    format!("{short}… ({} characters more)", count - most)
}

/// Where a notice stands for those who want a path and a line in any case.
pub(super) struct Spot {
    /// A file as it was given, without `./`; else the template; else the first file of the report.
    pub(super) path: String,
    /// Line in it; `None` where the place is not in that file.
    pub(super) line: Option<usize>,
    /// Column in it.
    pub(super) column: Option<usize>,
}

/// Says where notices stand.
pub(super) struct Spots<'r> {
    first: &'r str,
}

impl<'r> Spots<'r> {
    /// The spots of a report.
    pub(super) fn of(report: &'r Report) -> Self {
        let objects = report.objects.iter().filter_map(|object| object.location.as_ref());
        let reasons = report.reasons.iter().filter_map(|reason| reason.about.location.as_ref());
        let places: Vec<&Location> = objects.chain(reasons).collect();
        let file = places.iter().find_map(|place| named(place.file.as_deref()));
        let template = || places.iter().find_map(|place| named(place.template.as_deref()));
        Self { first: file.or_else(template).unwrap_or("rendered.yaml") }
    }

    /// Where a notice stands; what was not rendered stands in the first file.
    pub(super) fn spot(&self, location: Option<&Location>) -> Spot {
        let file = location.and_then(|location| named(location.file.as_deref()));
        match (file, location) {
            (Some(file), Some(location)) => {
                Spot { path: file.to_owned(), line: Some(location.line), column: Some(location.column) }
            }
            (_, location) => {
                let template = location.and_then(|location| named(location.template.as_deref()));
                Spot { path: template.unwrap_or(self.first).to_owned(), line: None, column: None }
            }
        }
    }
}

/// The name of a file as it can be told: a pipe is none, and nobody has one that long.
fn named(name: Option<&str>) -> Option<&str> {
    let name = name?.trim_start_matches("./");
    (!name.is_empty() && name != "<stdin>" && name.len() <= 1024).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_counted() {
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("ééé", 3), "ééé");
        assert_eq!(clip("abcdé", 3), "abc… (2 characters more)");
    }

    #[test]
    fn the_place_in_a_list_is_no_identity() {
        assert_eq!(unnumbered("spec.files[12].content[a]"), "spec.files[].content[a]");
        assert_eq!(unnumbered("spec.version"), "spec.version");
    }
}
