//! Makes the report of what was judged. The one place where values are redacted.

use sha2::{Digest as _, Sha256};

use super::{
    ChangeReport, Finding, HostReport, LateValueReport, LiveReport, ObjectReport, PolicyReport, Reason, Report,
};
use crate::compare::{Action, Change, Pair};
use crate::host::canonical;
use crate::kinds::contract::{CLUSTER, CORE};
use crate::kinds::fields;
use crate::model::Classified;
use crate::model::Effect;
use crate::verdict;
use crate::world::World;

/// Everything that a report is made of.
#[derive(Debug)]
pub struct Parts<'a> {
    /// Every object that differs, judged.
    pub pairs: &'a [Pair],
    /// Hash of what affects Machines, made before anything was hidden.
    pub digest: String,
    /// Rollouts, findings and warnings of the classification.
    pub classified: Classified,
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
    /// Rendered objects that were compared and that were not.
    pub counts: (usize, usize),
}

/// Puts the report together.
#[must_use]
pub fn build(parts: Parts<'_>) -> Report {
    let world = parts.world;
    let mut findings = parts.findings;
    findings.extend(parts.classified.findings);
    let mut warnings = parts.warnings;
    warnings.extend(parts.classified.warnings);
    warnings.dedup();
    Report {
        api_version: "rollgate.dev/v1alpha1".to_owned(),
        kind: "Report".to_owned(),
        decision: verdict::decide(&parts.reasons),
        effect: parts.pairs.iter().map(|pair| pair.effect).max().unwrap_or_default(),
        digest: parts.digest,
        reasons: parts.reasons,
        findings,
        warnings,
        objects: parts.pairs.iter().filter(|pair| pair.action != Action::Unchanged).map(object).collect(),
        ignored: Vec::new(),
        rollouts: parts.classified.rollouts,
        server_dry_run: None,
        late_values: parts.late_values,
        policy: parts.policy,
        host: HostReport {
            kind: world.host.kind,
            release: world.host.release.clone(),
            namespace: world.host.namespace.clone(),
        },
        live: LiveReport {
            source: world.source.name.clone(),
            objects: parts.counts.0,
            not_compared: parts.counts.1,
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

/// The cluster that an object says it belongs to; a Cluster is its own.
fn cluster(pair: &Pair) -> Option<String> {
    if pair.key.group == CORE && pair.key.kind == CLUSTER {
        return Some(pair.key.name.clone());
    }
    let tree = pair.predicted.as_ref().or(pair.live.as_ref())?;
    fields::cluster_name(tree).filter(|name| !name.is_empty()).map(str::to_owned)
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

/// Hash of what affects Machines and of nothing else, so that an approval survives an unrelated re-render.
#[must_use]
pub fn digest(pairs: &[Pair]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.effect > Effect::None) {
        if pair.action == Action::Delete {
            lines.push(format!("{}\tdelete", pair.key));
        }
        for change in pair.changes.iter().filter(|change| change.effect > Effect::None) {
            // The order of keys says nothing, and hosts and charts print it as they like.
            let side = |value: &Option<serde_json::Value>| value.as_ref().map(canonical).unwrap_or_default();
            lines.push(format!("{}\t{}\t{}\t{}", pair.key, change.path, side(&change.before), side(&change.after)));
        }
    }
    lines.sort_unstable();
    hash(lines.join("\n").as_bytes())
}

/// `sha256:` and the hash in hexadecimal.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
    }
    text
}
