//! What several releases of one run come to: the worst decision and effect, a name for each that no other has, and one line.

use std::borrow::Cow;
use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Report, plural};
use crate::model::{Decision, Effect};

/// The reports of several releases that were judged in one run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReportList<'r> {
    /// Always `rollgate.dev/v1alpha1`.
    pub api_version: Cow<'r, str>,
    /// Always `ReportList`.
    pub kind: Cow<'r, str>,
    /// The worst of all: `allow`, `undecided` or `hold`.
    pub decision: Decision,
    /// The worst effect of all.
    pub effect: Effect,
    /// One report a release, in the order of the policy.
    pub items: Cow<'r, [Report]>,
}

impl<'r> ReportList<'r> {
    /// The list of some reports.
    #[must_use]
    pub(crate) fn of(reports: &'r [Report]) -> Self {
        Self {
            api_version: Cow::Borrowed("rollgate.dev/v1alpha1"),
            kind: Cow::Borrowed("ReportList"),
            decision: decision(reports),
            effect: effect(reports),
            items: Cow::Borrowed(reports),
        }
    }
}

/// The decision of a run: the worst of its releases.
#[must_use]
pub(crate) fn decision(reports: &[Report]) -> Decision {
    reports.iter().map(|report| report.decision).max().unwrap_or_default()
}

/// The worst effect of all.
#[must_use]
pub(crate) fn effect(reports: &[Report]) -> Effect {
    reports.iter().map(|report| report.effect).max().unwrap_or_default()
}

/// Namespace and name of a release, as far as they are known.
pub(super) fn release(report: &Report) -> Option<String> {
    let host = &report.host;
    let parts: Vec<&str> = [host.namespace.as_deref(), host.release.as_deref()].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// What each release is called, in a way that tells it from the others.
pub(super) fn labels(reports: &[Report]) -> Vec<String> {
    let mut labels: Vec<String> =
        reports.iter().map(|one| release(one).unwrap_or_else(|| "stream".to_owned())).collect();
    for more in [|report: &Report| report.host.context.clone(), |report: &Report| Some(report.live.source.clone())] {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        labels.iter().for_each(|label| *counts.entry(label.clone()).or_default() += 1);
        for (label, report) in labels.iter_mut().zip(reports) {
            if let Some(more) = more(report).filter(|_| counts.get(label).is_some_and(|count| *count > 1)) {
                *label = format!("{label} ({more})");
            }
        }
    }
    // What nothing tells apart is counted.
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for label in &mut labels {
        let count = seen.entry(label.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *label = format!("{label} #{count}");
        }
    }
    labels
}

/// What happens, in one line that counts releases.
pub(super) fn summary(reports: &[Report]) -> String {
    let count = |wanted: Decision| reports.iter().filter(|report| report.decision == wanted).count();
    let parts: Vec<String> = [Decision::Hold, Decision::Undecided, Decision::Allow]
        .into_iter()
        .filter(|wanted| count(*wanted) > 0)
        .map(|wanted| format!("{} {wanted}", count(wanted)))
        .collect();
    format!("{}: {}", plural(reports.len() as u64, "release"), parts.join(", "))
}
