//! Makes the report of what was judged. The one place where values are redacted.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{
    ApprovalReport, BreakGlassReport, ChangeReport, Finding, HostReport, LateValueReport, LiveReport, ObjectReport,
    PolicyReport, Reason, Report,
};
use crate::apiserver::fields::canonical;
use crate::approval::ClusterId;
use crate::compare::redact::{self, MarkKey};
use crate::compare::{Action, Change, Pair};
use crate::hashed::{HashMap, HashSet};
use crate::kinds::contract::{CLUSTER, CORE};
use crate::kinds::fields;
use crate::model::{Classified, Effect, Rollout, Together};
use crate::object::Key;
use crate::parallel;
use crate::tree::Value;
use crate::verdict;
use crate::world::World;

/// Everything that a report is made of.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    /// Every object that differs, judged.
    pub pairs: &'a [Pair],
    /// What affects Machines, as a hash.
    pub digest: Digest,
    /// The clusters that the change touches.
    pub clusters: Vec<ClusterId>,
    /// What people have approved.
    pub approvals: Vec<ApprovalReport>,
    /// What became of `--break-glass`.
    pub break_glass: Option<BreakGlassReport>,
    /// Rollouts, findings and warnings of the classification.
    pub classified: Classified,
    /// What owners that roll at the same time come to.
    pub together: Vec<Together>,
    /// Findings of the prediction.
    pub findings: Vec<Finding>,
    /// Warnings of the prediction.
    pub warnings: Vec<String>,
    /// Answers of the gates and of the late values.
    pub reasons: Vec<Reason>,
    /// State of the late values.
    pub late_values: Vec<LateValueReport>,
    /// The policy in force.
    pub policy: PolicyReport,
    /// What was read.
    pub world: &'a World,
    /// Whether nothing is written, and versions of providers are what changes.
    pub is_upgrade: bool,
    /// How many rendered objects were compared.
    pub compared: usize,
    /// Those that were not.
    pub passed: Vec<Key>,
    /// How many of those have no name.
    pub nameless: usize,
}

/// Puts the report together.
#[must_use]
pub(crate) fn build(parts: Parts<'_>) -> Report {
    let world = parts.world;
    // An upgrade writes nothing, and what it does is done to objects that stay as they are.
    let is_shown =
        |pair: &&Pair| parts.is_upgrade || pair.action != Action::Unchanged || pair.effect == Effect::Rejected;
    let mut findings = parts.findings;
    findings.extend(parts.classified.findings);
    let mut warnings = parts.warnings;
    warnings.extend(parts.classified.warnings);
    said_once(&mut warnings);
    Report {
        api_version: "rollgate.dev/v1alpha1".to_owned(),
        kind: "Report".to_owned(),
        decision: verdict::decide(&parts.reasons),
        effect: parts.pairs.iter().map(|pair| pair.effect).max().unwrap_or_default(),
        digest: parts.digest.hash,
        digest_key: parts.digest.key,
        clusters: parts.clusters,
        approvals: parts.approvals,
        break_glass: parts.break_glass,
        reasons: parts.reasons,
        findings,
        warnings,
        objects: parts.pairs.iter().filter(is_shown).map(object).collect(),
        ignored: Vec::new(),
        rollouts: parts.classified.rollouts.into_iter().map(Arc::unwrap_or_clone).collect(),
        together: parts.together,
        server_dry_run: None,
        upgrade: None,
        late_values: parts.late_values,
        policy: parts.policy,
        host: HostReport {
            kind: world.host.kind,
            release: world.host.release.clone(),
            namespace: world.host.namespace.clone(),
            context: None,
        },
        live: LiveReport {
            source: world.source.name.clone(),
            objects: parts.compared,
            taken: world.source.age.map(|_| world.taken.to_string()),
            age_seconds: world.source.age.map(|age| age.as_secs()),
            not_compared: parts.passed.len() + parts.nameless,
            not_compared_objects: parts.passed,
            resource_versions: world.source.resource_versions.clone(),
        },
        providers: world.providers.iter().map(|(name, p)| (name.clone(), p.version.clone())).collect(),
    }
}

fn object(pair: &Pair) -> ObjectReport {
    ObjectReport {
        api_version: pair.api_version.clone(),
        kind: pair.key.kind.clone(),
        namespace: pair.key.namespace.clone(),
        name: pair.key.name.clone(),
        cluster: cluster(pair),
        renamed_from: pair.renamed_from.clone(),
        action: pair.action,
        effect: pair.effect,
        comparison: pair.basis,
        rule: pair.rule.clone(),
        because: pair.because.clone(),
        location: pair.at.clone(),
        changes: pair.changes.iter().map(change).collect(),
    }
}

/// The cluster that an object says it belongs to, as it is live where it is; a Cluster is its own.
#[must_use]
pub(crate) fn cluster(pair: &Pair) -> Option<String> {
    if pair.key.group == CORE && pair.key.kind == CLUSTER {
        return Some(pair.key.name.clone());
    }
    let said =
        |side: &Option<Value>| fields::cluster_name(side.as_ref()?).filter(|name| !name.is_empty()).map(str::to_owned);
    said(&pair.live).or_else(|| said(&pair.predicted))
}

fn change(change: &Change) -> ChangeReport {
    ChangeReport {
        path: change.path.to_string(),
        key: change.item.clone(),
        within: change.within.clone(),
        before: change.before.clone(),
        after: change.after.clone(),
        effect: change.effect,
        touches: change.touches,
        rule: change.rule.clone(),
        because: change.because.clone(),
        source: change.source.clone(),
        location: change.at.clone(),
    }
}

/// What affects Machines, as a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digest {
    /// `sha256:` and the hash.
    pub hash: String,
    /// Which key the marks in it were made with, where there are some.
    pub key: Option<String>,
}

/// What a digest is made with beside the change.
#[derive(Clone, Copy)]
pub(crate) struct Marks<'a> {
    /// The key of this run's marks.
    pub key: &'a MarkKey,
    /// How that key is called: its id, or that it ends with the run.
    pub name: &'a str,
    /// Marks that a snapshot has in the place of what it hides: marks of marks already.
    pub recorded: &'a HashSet<String>,
    /// Whether a mark was made in this run. Another one was rendered, and is no hidden value.
    pub is_own: &'a dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for Marks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Marks").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Hash of what affects Machines and of nothing else, so that an approval survives an unrelated re-render: where, before, after and
/// the effect; and of what waits and is let go, how the owner stands. `pending` gives that, as it may be shown. `beside` is what else
/// counts: providers that come in another version, and new objects that what changes leads to.
///
/// What is hidden counts by its mark. A snapshot shows a mark of the mark, so that is what counts in every run: with one key a read and
/// its replay give one digest, another hidden value gives another one, and without the key nobody can try a guess.
#[must_use]
pub(crate) fn digest(
    pairs: &[Pair],
    rollouts: &[Arc<Rollout>],
    beside: &[(&str, String)],
    pending: &(dyn Fn(&Key) -> Option<Value> + Sync),
    marks: Marks<'_>,
) -> Digest {
    let later = |effect: Option<Effect>| effect.map_or("", Effect::word);
    // As JSON, so that no name can look like two parts of a line.
    let line = |parts: &[&str]| Value::from(parts).to_string();
    let mut lines: Vec<String> = beside.iter().map(|(what, told)| line(&[what, told])).collect();
    let mut changed: HashMap<&Key, Vec<String>> = HashMap::default();
    let counts = |change: &&Change| change.effect > Effect::None || change.touches.is_some();
    for pair in pairs.iter().filter(|pair| pair.effect > Effect::None || pair.changes.iter().any(|one| counts(&one))) {
        if pair.action == Action::Delete {
            lines.push(line(&[&pair.key.to_string(), "delete"]));
        }
        if pair.effect > Effect::None && pair.changes.iter().all(|change| change.effect < pair.effect) {
            lines.push(line(&[&pair.key.to_string(), pair.effect.word(), later(pair.waits), &pair.rule]));
        }
        for change in pair.changes.iter().filter(counts) {
            // The order of keys says nothing, and hosts and charts print it as they like.
            let side = |value: &Option<Value>| value.as_ref().map(canonical).unwrap_or_default();
            let (before, after) = (side(&change.before), side(&change.after));
            let (key, path) = (pair.key.to_string(), change.path.to_string());
            // One place of a list or of a document inside a text is not another one, though all of them stand at one path.
            let inside = change.within.iter().map(|step| format!("{} {}", step.decode, step.path));
            let inside: Vec<String> = change.item.iter().cloned().chain(inside).collect();
            let mut parts: Vec<&str> = vec![&key, change.effect.word(), later(change.waits), &path, &before, &after];
            parts.extend(inside.iter().map(String::as_str));
            lines.push(line(&parts));
            changed.entry(&pair.key).or_default().push(path);
        }
    }
    let waiting = parallel::map(rollouts, |rollout| {
        let known = changed.get(&rollout.owner).map(Vec::as_slice).unwrap_or_default();
        let own: HashSet<&str> = known.iter().map(String::as_str).collect();
        let over: HashSet<&str> = known.iter().flat_map(|path| leading(path)).collect();
        let waits = |cause: &&String| !over.contains(cause.as_str()) && !leading(cause).any(|path| own.contains(path));
        let causes: BTreeSet<&String> = rollout.causes.iter().filter(waits).collect();
        (!causes.is_empty()).then(|| {
            let stands = pending(&rollout.owner).map(|value| canonical(&value)).unwrap_or_default();
            let (owner, causes) = (rollout.owner.to_string(), format!("{causes:?}"));
            line(&[&owner, rollout.effect.word(), "waits", &causes, &stands])
        })
    });
    lines.extend(waiting.into_iter().flatten());
    lines.sort_unstable();
    let derived = marks.key.derived();
    let text = lines.join("\n");
    // What is hidden stands there again and again, before a change and after it.
    let made: RefCell<HashMap<String, String>> = RefCell::default();
    let remark = |mark: &str| match (marks.recorded.contains(mark), (marks.is_own)(mark)) {
        (true, _) => mark.to_owned(),
        (false, true) => derived.mark(mark),
        (false, false) => format!("rendered {}", derived.mark(mark)),
    };
    let text = redact::remarked(&text, |mark| {
        made.borrow_mut().entry(mark.to_owned()).or_insert_with(|| remark(mark)).clone()
    });
    Digest { hash: hash(text.as_bytes()), key: (!made.borrow().is_empty()).then(|| marks.name.to_owned()) }
}

/// Whether a path is another one, or leads to it.
#[must_use]
pub(crate) fn leads_to(from: &str, to: &str) -> bool {
    to.strip_prefix(from).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// A path, and those that lead to it, as [`leads_to`] knows them.
fn leading(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.char_indices().filter(|(_, sign)| matches!(sign, '.' | '[')).map(|(at, _)| at);
    ends.chain([path.len()]).map(|at| &path[..at])
}

/// Whether one of two paths leads to the other.
#[must_use]
pub(crate) fn is_along(one: &str, other: &str) -> bool {
    leads_to(one, other) || leads_to(other, one)
}

/// `sha256:` and the hash in hexadecimal.
#[must_use]
pub(crate) fn hash(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
    }
    text
}

/// Takes out what stands a second time: several parts of a run may warn of the same.
pub(crate) fn said_once(warnings: &mut Vec<String>) {
    let mut said = HashSet::default();
    warnings.retain(|warning| said.insert(warning.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_a_path_are_its_own_beginnings() {
        let path = "spec.files[0].content[\"a.b/c\"]";
        for at in 0..=path.len() {
            let start = &path[..at];
            assert_eq!(leading(path).any(|one| one == start), at > 0 && leads_to(start, path), "{start}");
        }
    }
}
