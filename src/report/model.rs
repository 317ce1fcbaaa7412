//! The report, versioned. Its JSON Schema is generated from these types into `schemas/`.
//! Values in it are already redacted: nothing that is secret gets this far.

mod late;

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use late::{AttemptReport, LateState, LateValueReport, PlaceReport, SourceState};

use super::DryRunReport;
use crate::approval::ClusterId;
use crate::compare::{Action, Basis, Within};
use crate::host::HostKind;
use crate::model::{self, Decision, Effect, Finding, Reason, Rollout, Together, Touches, Upgrade};
use crate::object::{Key, Location};
use crate::parallel;
use crate::tree::Value;

/// Everything that one run has to say.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Always `rollgate.dev/v1alpha1`.
    pub api_version: String,
    /// Always `Report`.
    pub kind: String,
    /// `allow`, `hold` or `undecided`.
    pub decision: Decision,
    /// The worst effect of all objects.
    pub effect: Effect,
    /// Hash of what affects Machines, and of nothing else: an approval names it.
    pub digest: String,
    /// Which key the marks in that hash were made with, where there are some; `this-run` where nobody has it after the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest_key: Option<String>,
    /// The clusters that the change touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ClusterId>,
    /// Why, the weightiest first.
    pub reasons: Vec<Reason>,
    /// What people have approved, and whether it counts here. Empty where nothing is held, or the policy names no place for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalReport>,
    /// What became of `--break-glass`, where it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<BreakGlassReport>,
    /// What deserves a line of its own.
    pub findings: Vec<Finding>,
    /// What a person should know and nobody is held for.
    pub warnings: Vec<String>,
    /// The compared objects that change.
    pub objects: Vec<ObjectReport>,
    /// What the policy leaves out of `objects`; it was decided about all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<IgnoredReport>,
    /// What happens to Machines, per owner.
    pub rollouts: Vec<Rollout>,
    /// What owners of one cluster that roll at the same time come to together, where several do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<Together>,
    /// What the API server itself answered to the same writes, where it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_dry_run: Option<DryRunReport>,
    /// What an upgrade of providers is known to do, where one was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Upgrade>,
    /// The late values of the policy and their state.
    pub late_values: Vec<LateValueReport>,
    /// Which policy was used.
    pub policy: PolicyReport,
    /// Who writes.
    pub host: HostReport,
    /// What it was compared with.
    pub live: LiveReport,
    /// Provider versions that the rules were chosen by.
    pub providers: BTreeMap<String, String>,
}

/// What became of the wish to let a held install through without an approval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BreakGlassReport {
    /// Whether it let holds through.
    pub opened: bool,
    /// Why, as whoever wished it says.
    pub reason: String,
    /// Who, as the program was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why it opened nothing; empty where it did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The gates whose holds it turned into warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifts: Vec<String>,
    /// Where it is written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The name under which it is written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// How an approval stands to this run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApprovalReport {
    /// Where it lies.
    pub place: String,
    /// Its name; absent where a place could not be read, or what stands there is no approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether it counts, and if not, why.
    pub standing: Standing,
    /// Why it counts or not, in a sentence; empty where it counts and lifts everything that holds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Why it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// By whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Whether one install uses it up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// The gates whose holds it turned into warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifts: Vec<String>,
}

/// Whether an approval counts for a run, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It does.
    Counts,
    /// It was taken back.
    Revoked,
    /// It was for one install, which was.
    Used,
    /// Its time is over.
    Expired,
    /// It is for another release.
    OtherRelease,
    /// It is for another cluster.
    OtherCluster,
    /// It is for another change.
    OtherChange,
    /// The hidden values of its change were marked with another key, so nobody can compare.
    OtherKey,
    /// More Machines would go than it was given for.
    MoreMachines,
    /// The policy does not count approvals of whoever gave it.
    NotBy,
    /// It is good for longer than the policy allows.
    TooLong,
    /// Whoever gave it wrote a part of the change.
    OwnChange,
    /// Nothing proves who gave it: a commit without a good signature.
    Unproven,
    /// What stands there is no approval.
    Malformed,
    /// The place could not be read: nothing is approved there.
    #[default]
    Unread,
}

/// Changes that the policy leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IgnoredReport {
    /// Which, as the policy names them.
    pub path: String,
    /// Why, as the policy says.
    pub reason: String,
    /// How many.
    pub changes: u64,
}

/// One compared object that changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ObjectReport {
    /// Its `apiVersion`, as rendered.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The cluster that it says it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Name of the template that it takes the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// What the host does to it.
    pub action: Action,
    /// The worst of its changes.
    pub effect: Effect,
    /// Which comparison was possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Basis>,
    /// Rule that decided about the object as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// One sentence about the object as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// Where it stands in what was rendered; absent for what is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// What changes in it.
    pub changes: Vec<ChangeReport>,
}

/// One place that differs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChangeReport {
    /// Place in the object.
    pub path: String,
    /// Identity of the list item that the path goes through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The way into strings that are documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<Within>,
    /// Value before; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// Value after; absent where it goes away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// What it does to Machines.
    pub effect: Effect,
    /// What it moves besides Machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touches: Option<Touches>,
    /// Rule or mirror cause that decided.
    pub rule: String,
    /// One sentence for a person.
    pub because: String,
    /// Where that behaviour stands.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Where the place stands in what was rendered: at its key, or at the innermost place around it that was rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
}

/// Which policy was used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PolicyReport {
    /// A file, `configmap/NAME`, or `built-in`.
    pub source: String,
    /// Hash of its bytes.
    pub digest: String,
}

impl PolicyReport {
    /// How the policy is called where none was told and none found.
    pub const BUILT_IN: &str = "built-in";

    /// Whether no file was read.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.source == Self::BUILT_IN
    }
}

/// Who writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HostReport {
    /// Which program; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<HostKind>,
    /// Release name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Namespace of the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Context of the kubeconfig, where a list of releases names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// What the stream was compared with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LiveReport {
    /// `cluster`, or a file, or `none`.
    pub source: String,
    /// Rendered objects that were compared.
    pub objects: usize,
    /// When it was taken, where it is a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<String>,
    /// How many seconds ago that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<u64>,
    /// Rendered objects that passed through without a comparison.
    pub not_compared: usize,
    /// Which those are, as far as they have a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_compared_objects: Vec<Key>,
    /// The state of the cluster that each list shows: kind, with the namespace where it is one of several, to resourceVersion.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resource_versions: BTreeMap<String, String>,
}

impl BreakGlassReport {
    /// What every page says first and last.
    #[must_use]
    pub fn shout(&self) -> String {
        let by = self.by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
        format!("BREAK GLASS{by} ({})", self.reason)
    }
}

impl LiveReport {
    /// How old a snapshot is, in words.
    #[must_use]
    pub fn age(&self) -> Option<String> {
        self.age_seconds.map(model::age)
    }
}

impl Report {
    /// Hands every free text to `change`, so that one place can hide what must not be said.
    pub fn each_text(&mut self, change: impl Fn(&mut String) + Send + Sync) {
        parallel::each(&mut self.reasons, |reason| {
            change(&mut reason.message);
            reason.remedy.iter_mut().for_each(&change);
            reason.about.path.iter_mut().for_each(&change);
        });
        for finding in &mut self.findings {
            change(&mut finding.message);
            finding.about.path.iter_mut().for_each(&change);
        }
        for approval in &mut self.approvals {
            change(&mut approval.message);
            approval.reason.iter_mut().for_each(&change);
        }
        if let Some(glass) = &mut self.break_glass {
            [&mut glass.reason, &mut glass.message].into_iter().for_each(&change);
        }
        self.warnings.iter_mut().for_each(&change);
        self.upgrade.iter_mut().for_each(|upgrade| upgrade.each_text(&change));
        parallel::each(&mut self.objects, |object| {
            change(&mut object.because);
            object.changes.iter_mut().for_each(|one| change(&mut one.because));
        });
        let answers = self.server_dry_run.iter_mut().flat_map(|answers| &mut answers.objects);
        answers.for_each(|object| change(&mut object.because));
        self.together.iter_mut().flat_map(|one| &mut one.waits).for_each(&change);
        parallel::each(&mut self.rollouts, |rollout| {
            rollout.course.iter_mut().flat_map(|course| &mut course.stops).for_each(&change);
            rollout.steps.iter_mut().for_each(&change);
        });
    }
}

/// The rule of an object that nobody looked for.
const UNREAD: &str = "create/unread";

impl ObjectReport {
    /// Whether nobody looked for the object, so that nobody knows whether it is new.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        self.action == Action::Create && self.rule == UNREAD
    }

    /// Whether the object is new, on the word of somebody who looked, and not only its name is.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.action == Action::Create && self.renamed_from.is_none() && !self.is_unread()
    }

    /// Whether the object is new or goes away without any effect, so that a person need not read about it.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.effect == Effect::None && self.action != Action::Update && self.renamed_from.is_none()
    }
}
