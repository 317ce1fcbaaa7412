//! The answer of `rollgate why`: which Machines are out of date, which field says so, who wrote it, and what is due by itself.
//! Values in it are redacted already. `human.rs` beside it writes it for people.

mod human;

pub(crate) use self::human::{headline, write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use crate::object::Key;
use crate::tree::Value;

/// Everything that is answered.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhyReport {
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
    /// How many owners have only rollouts of long ago, which are left out where nothing is asked about by name.
    pub older: usize,
    /// What could not be read, with what to do about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub unread: Vec<String>,
    /// What a person should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub warnings: Vec<String>,
    /// Where it was read.
    pub source: String,
}

/// One owner of Machines.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhyOwner {
    /// What there is to say about it, in one sentence.
    pub headline: String,
    /// The owner.
    pub owner: Key,
    /// Its cluster, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// How many Machines it has, or had.
    pub machines: u64,
    /// Machines that are out of date, or were replaced, each kind of them with its reasons.
    pub outdated: Vec<WhyMachines>,
    /// What was replaced before, as MachineSets and the history of the release tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub rollouts: Vec<WhyRollout>,
    /// What keeps its controller from replacing them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// Why a Machine that it makes is out of date at once, so that it is replaced for ever.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub never_matches: Vec<WhyField>,
    /// What is due with nobody writing anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<WhyDue>,
    /// Remediations that go on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub remediation: Vec<String>,
    /// Who manages the object, as its labels and annotations say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub managed_by: Vec<String>,
    /// Where a topology writes the owner: the revisions that changed the Cluster or its class, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub topology: Vec<WhyRevision>,
    /// What the history of its release does not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub gaps: Vec<String>,
}

/// Machines with the same reasons.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhyMachines {
    /// Their names.
    pub names: Vec<String>,
    /// Whether they were replaced already.
    pub is_replaced: bool,
    /// Why.
    pub fields: Vec<WhyField>,
}

/// A rollout that began before.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhyRollout {
    /// When it began.
    pub since: String,
    /// How many Machines it replaced so far: those made since, without those that were added.
    pub replaced: u64,
    /// The Machines that were made since.
    pub made: Vec<String>,
    /// When the last of them was made.
    pub until: String,
    /// How it is known.
    pub told_by: String,
    /// Why.
    pub fields: Vec<WhyField>,
}

/// A field that says so.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhyField {
    /// Its place in the owner, in the names of the newest API version.
    pub path: String,
    /// That place with the way into documents that stand in strings, to the first place that differs.
    pub place: String,
    /// What the Machines were made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// Whether it is known what was there before; where it is not, `before` is absent and says nothing.
    pub is_before_known: bool,
    /// What the owner wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// What differs, where values do not say it.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub detail: String,
    /// Further places below it that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub further: Vec<WhyMove>,
    /// The rule behind it.
    pub rule: String,
    /// Who wrote it, the last one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub writers: Vec<WhyWriter>,
    /// The revisions of Helm releases that changed it, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub revisions: Vec<WhyRevision>,
    /// What the newest revision has here, where that is not what stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strays: Option<String>,
}

/// Who owns a field, as the managed fields of the object say.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhyWriter {
    /// The field manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// When it last wrote the object; managed fields say no more exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The place that it owns, where the field itself is under another name there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub around: Option<String>,
}

/// A revision of a Helm release.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhyRevision {
    /// The release.
    pub release: String,
    /// Its number.
    pub revision: u64,
    /// The number of the revision that it was compared with.
    pub previous: u64,
    /// Its state, in the words of Helm.
    pub status: String,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// What Helm said about it.
    pub description: String,
    /// The chart before and after, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// What it changed.
    pub changes: Vec<WhyMove>,
    /// How many further changes there are.
    pub more: usize,
}

/// A place that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhyMove {
    /// The object, where it is another one than the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The place, with the way into documents that stand in strings.
    pub place: String,
    /// Before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// After.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// What is due by itself.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhyDue {
    /// When, to the minute.
    pub at: String,
    /// Which Machines.
    pub names: Vec<String>,
    /// Why.
    pub fields: Vec<WhyField>,
}

impl WhyField {
    /// Hands every text that is no value to `change`.
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.detail);
        for writer in &mut self.writers {
            change(&mut writer.manager);
        }
        self.strays.iter_mut().for_each(&mut *change);
        self.revisions.iter_mut().for_each(|revision| change(&mut revision.description));
    }
}

impl WhyReport {
    /// Hands every text to `change`, so that one place can hide what must not be shown.
    pub(crate) fn each_text(&mut self, mut change: impl FnMut(&mut String)) {
        self.unread.iter_mut().chain(&mut self.warnings).for_each(&mut change);
        for owner in &mut self.owners {
            change(&mut owner.headline);
            owner.held.iter_mut().chain(&mut owner.remediation).chain(&mut owner.managed_by).for_each(&mut change);
            owner.topology.iter_mut().for_each(|revision| change(&mut revision.description));
            let due = owner.due.iter_mut().flat_map(|due| &mut due.fields);
            let fields = owner.outdated.iter_mut().flat_map(|machines| &mut machines.fields);
            let past = owner.rollouts.iter_mut().flat_map(|rollout| &mut rollout.fields);
            for field in fields.chain(due).chain(past).chain(&mut owner.never_matches) {
                field.each_text(&mut change);
            }
        }
    }
}
