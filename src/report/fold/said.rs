//! Sentences that say the same of several objects, said once.

use std::collections::BTreeSet;

use super::names::{ClusterName, Crowd, Names, Own};
use super::{by_effect, by_role};
use crate::hashed::{HashMap, HashSet};
use crate::model::{Decision, Effect, Finding};
use crate::object::Key;
use crate::report::{Reason, Report, plural};

/// What stands for the number of Machines of each object.
const MACHINES: &str = "<machines>";
/// Most values in else equal sentences before they are one.
const VALUES: usize = 3;

/// Reasons that say the same of several objects.
#[derive(Debug)]
pub(crate) struct ReasonGroup<'r> {
    /// The first of them.
    pub first: &'r Reason,
    /// The objects, where each is about one.
    pub crowd: Option<Crowd<'r>>,
    /// What they say, without the objects.
    pub text: String,
}

/// Findings or warnings that say the same of several objects.
#[derive(Debug)]
pub(crate) struct SaidGroup<'r> {
    /// Id of the finding; empty for warnings.
    pub id: &'r str,
    /// The objects, where it is about any.
    pub crowd: Option<Crowd<'r>>,
    /// What is said, without the objects.
    pub text: String,
}

impl ReasonGroup<'_> {
    /// The sentence.
    #[must_use]
    pub(crate) fn message(&self, all: &BTreeSet<ClusterName<'_>>) -> String {
        sentence(self.crowd.as_ref(), &self.text, all)
    }
}

impl SaidGroup<'_> {
    /// The sentence.
    #[must_use]
    pub(crate) fn message(&self, all: &BTreeSet<ClusterName<'_>>) -> String {
        sentence(self.crowd.as_ref(), &self.text, all)
    }
}

fn sentence(crowd: Option<&Crowd<'_>>, text: &str, all: &BTreeSet<ClusterName<'_>>) -> String {
    crowd.map_or_else(|| text.to_owned(), |crowd| format!("{}{text}", crowd.label(all)))
}

/// One sentence, with the object that it begins with.
struct Sentence<'r> {
    own: Option<Own<'r>>,
    /// The rest, as it is compared.
    pattern: String,
    /// `pattern` without the values of the change that it names, which may be each object's own.
    loose: String,
    /// Machines that it counts.
    machines: u64,
}

impl<'r> Sentence<'r> {
    /// One that begins with no object.
    fn plain(text: &str) -> Self {
        Self { own: None, pattern: text.to_owned(), loose: text.to_owned(), machines: 0 }
    }

    /// One about an object.
    fn of(own: Own<'r>, pattern: String) -> Self {
        Self { own: Some(own), loose: pattern.clone(), pattern, machines: 0 }
    }
}

/// Sentences that are equal.
struct Group<'r, T> {
    /// At least one, with what it was made of.
    sentences: Vec<(T, Sentence<'r>)>,
}

/// Groups by an id and by what is said, in the order of the first of each. What differs in values only is one group where the
/// values are many.
fn grouped<'r, T: Copy, K: std::hash::Hash + Eq>(all: impl Iterator<Item = (T, K, Sentence<'r>)>) -> Vec<Group<'r, T>> {
    let mut places: HashMap<(K, String, String), usize> = HashMap::default();
    let mut wide: Vec<Group<'r, T>> = Vec::new();
    for (first, id, sentence) in all {
        let kind = sentence.own.as_ref().map(|own| own.key.kind.clone()).unwrap_or_default();
        let place = *places.entry((id, kind, sentence.loose.clone())).or_insert(wide.len());
        match wide.get_mut(place) {
            Some(group) => group.sentences.push((first, sentence)),
            None => wide.push(Group { sentences: vec![(first, sentence)] }),
        }
    }
    wide.into_iter().flat_map(Group::split).collect()
}

impl<'r, T: Copy> Group<'r, T> {
    /// A group for each value; itself where these are many.
    fn split(mut self) -> Vec<Self> {
        let patterns: HashSet<&str> = self.sentences.iter().map(|(_, one)| one.pattern.as_str()).collect();
        if patterns.len() > VALUES {
            self.sentences.iter_mut().for_each(|(_, one)| one.pattern.clone_from(&one.loose));
            return vec![self];
        }
        let mut out: Vec<Self> = Vec::new();
        for (first, sentence) in self.sentences {
            let same =
                |group: &&mut Self| group.sentences.first().is_some_and(|(_, one)| one.pattern == sentence.pattern);
            match out.iter_mut().find(same) {
                Some(group) => group.sentences.push((first, sentence)),
                None => out.push(Self { sentences: vec![(first, sentence)] }),
            }
        }
        out
    }
}

impl<'r, T> Group<'r, T> {
    /// The objects and what is said of them.
    fn said(&self) -> (Option<Crowd<'r>>, String) {
        let owns: Option<Vec<Own<'r>>> = self.sentences.iter().map(|(_, sentence)| sentence.own.clone()).collect();
        let pattern = self.sentences.first().map(|(_, sentence)| sentence.pattern.as_str()).unwrap_or_default();
        let total = self.sentences.iter().map(|(_, sentence)| sentence.machines).sum();
        let pattern = pattern.replace(MACHINES, &plural(total, "Machine"));
        match owns.map(|owns| Crowd::of(&owns)) {
            Some(crowd) => {
                let text = crowd.shown(&pattern);
                (Some(crowd), text)
            }
            None => (None, pattern),
        }
    }
}

/// The reasons: the weightiest decision first, in it what is lost first, control planes before workers.
pub(super) fn reasons<'r>(report: &'r Report, names: &Names<'r>) -> Vec<ReasonGroup<'r>> {
    let all: Vec<(&Reason, Option<(Own<'r>, &str)>)> =
        report.reasons.iter().map(|reason| (reason, names.subject(&reason.message))).collect();
    let spoken: HashSet<(&str, Decision, &Key)> = all
        .iter()
        .filter_map(|(reason, subject)| Some((reason.gate.as_str(), reason.decision, &subject.as_ref()?.0.key)))
        .collect();
    // What a template of a new name does is done by the owner that moves to it, which has a reason of its own.
    let mut templates: HashMap<(&str, Decision, Key), (&Key, String)> = HashMap::default();
    let mut kept = Vec::new();
    for (reason, subject) in &all {
        let owner = subject.as_ref().and_then(|(own, _)| names.owner_of(&own.key)).map(|owner| owner.key());
        match (owner, subject) {
            (Some(owner), Some((own, rest))) if spoken.contains(&(reason.gate.as_str(), reason.decision, &owner)) => {
                let what = without_verb(rest.trim_start_matches(": "));
                let what = own.pattern(&format!("; in the new {}: {what}", own.key.kind));
                templates.insert((reason.gate.as_str(), reason.decision, owner), (&own.key, what));
            }
            _ => kept.push((*reason, subject)),
        }
    }
    let sentences = kept.into_iter().map(|(reason, subject)| {
        let id = (reason.gate.as_str(), reason.decision, reason.next.as_deref(), reason.remedy.as_deref());
        let Some((own, rest)) = subject else {
            return (reason, id, Sentence::plain(&reason.message));
        };
        let (rest, count) = uncounted(rest);
        let of_template = templates.get(&(reason.gate.as_str(), reason.decision, own.key.clone()));
        let of_template = of_template.filter(|(template, _)| names.is_about_rename(template, &rest));
        let of_template = of_template.map_or("", |(_, what)| what.as_str());
        let pattern = format!("{}{of_template}", own.pattern(&rest));
        let loose = format!("{}{of_template}", own.pattern(&names.without_values(&own.key, &rest)));
        (reason, id, Sentence { own: Some(own.clone()), pattern, loose, machines: count })
    });
    let mut groups: Vec<(u8, ReasonGroup<'r>)> = grouped(sentences).iter().filter_map(reason_group).collect();
    groups.sort_by_key(|(role, group)| {
        let rank = by_gate(&group.first.gate);
        (std::cmp::Reverse(group.first.decision), rank, if rank < OTHER { *role } else { 0 })
    });
    groups.into_iter().map(|(_, group)| group).collect()
}

fn reason_group<'r>(group: &Group<'r, &'r Reason>) -> Option<(u8, ReasonGroup<'r>)> {
    let (first, sentence) = group.sentences.first()?;
    let role = sentence.own.as_ref().map_or(u8::MAX, |own| by_role(&own.key));
    let (crowd, text) = group.said();
    Some((role, ReasonGroup { first, crowd, text }))
}

/// The place of the gates that answer for no effect: behind the others, in the order in which they were asked.
const OTHER: u8 = u8::MAX;

/// What is lost comes first among reasons of one weight.
fn by_gate(gate: &str) -> u8 {
    let effects = [Effect::Delete, Effect::Unknown, Effect::Rejected, Effect::Rollout];
    effects.into_iter().find(|effect| effect.word() == gate).map_or(OTHER, by_effect)
}

/// What a sentence about Machines that go ends with; several changes have a verb of their own.
const VERBS: [&str; 4] = [" replaces ", " destroys ", " replace ", " destroy "];

/// A sentence with a mark for the number of Machines that it ends with.
fn uncounted(text: &str) -> (String, u64) {
    let counted = VERBS.iter().find_map(|verb| {
        let (start, what) = text.rsplit_once(verb)?;
        let count: u64 = what.split_once(' ')?.0.parse().ok()?;
        (what == plural(count, "Machine")).then(|| (format!("{start}{verb}{MACHINES}"), count))
    });
    counted.unwrap_or_else(|| (text.to_owned(), 0))
}

/// A sentence without what it says at its end of Machines that it does not count.
fn without_verb(text: &str) -> &str {
    let bare = |verb: &&str| {
        text.strip_suffix("Machines")
            .map(|text| text.trim_end_matches("its "))
            .and_then(|text| text.strip_suffix(*verb))
    };
    VERBS.iter().find_map(bare).unwrap_or(text)
}

/// The findings, in the report's order.
pub(super) fn findings<'r>(report: &'r Report, names: &Names<'r>) -> Vec<SaidGroup<'r>> {
    // What a refusal says stands in its reason.
    let is_said = |finding: &&Finding| {
        let says = |reason: &Reason| {
            reason.object.as_ref() == Some(&finding.object) && reason.message.ends_with(&finding.message)
        };
        finding.id == "write-refused" && report.reasons.iter().any(says)
    };
    let sentences = report.findings.iter().filter(|finding| !is_said(finding)).map(|finding| {
        let own = names.own(&finding.object);
        // Some begin with the object that they are about.
        let rest = finding.message.strip_prefix(finding.object.to_string().as_str());
        let rest = rest.filter(|rest| rest.starts_with([':', ' ']));
        let pattern = own.pattern(&rest.map_or_else(|| format!(": {}", finding.message), str::to_owned));
        (finding.id.as_str(), finding.id.as_str(), Sentence::of(own, pattern))
    });
    grouped(sentences).into_iter().map(|group| group.into_said()).collect()
}

/// The warnings, in the report's order.
pub(super) fn warnings<'r>(report: &'r Report, names: &Names<'r>) -> Vec<SaidGroup<'r>> {
    let sentences = report.warnings.iter().map(|warning| {
        let sentence = match names.named(warning) {
            Some((own, rest)) => Sentence::of(own.clone(), own.pattern(rest)),
            None => Sentence::plain(warning),
        };
        ("", "", sentence)
    });
    grouped(sentences).into_iter().map(|group| group.into_said()).collect()
}

impl<'r> Group<'r, &'r str> {
    fn into_said(self) -> SaidGroup<'r> {
        let (crowd, text) = self.said();
        SaidGroup { id: self.sentences.first().map(|(id, _)| *id).unwrap_or_default(), crowd, text }
    }
}
