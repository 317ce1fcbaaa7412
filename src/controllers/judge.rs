//! Judges each change of one updated object: leaf by leaf, the worst leaf counts.
//! Order: what the webhook refuses, what makes Machines out of date, then the packs; a spec field left over is unknown.

use serde_json::Value;

use super::diff;
use super::hub;
use super::kcp_admission::Refusal;
use super::owner::{Assessment, Mirror};
use super::replicas;
use super::stage::Stage;
use super::verdict::Answer;
use crate::compare::{Basis, Change, Pair};
use crate::effect::Effect;
use crate::object::{Key, Path, Segment};
use crate::rules::Asked;

/// What is known about one updated object.
pub(super) struct Subject<'a> {
    /// The shared part of the run.
    pub(super) stage: &'a Stage<'a>,
    /// The object.
    pub(super) key: &'a Key,
    /// Its `apiVersion`.
    pub(super) api_version: &'a str,
    /// The object before the write, in the superset form.
    pub(super) old: &'a Value,
    /// The object after it.
    pub(super) new: &'a Value,
    /// Kinds that refer to it after the write.
    pub(super) used_by: &'a [String],
    /// What its mirror found, where it has one.
    pub(super) assessment: Option<&'a Assessment>,
    /// What its webhook refuses.
    pub(super) refusals: &'a [Refusal],
}

impl Subject<'_> {
    /// The answer about a change.
    #[must_use]
    pub(super) fn answer(&self, change: &Change) -> Answer {
        let mut worst: Option<Answer> = None;
        for (path, before, after) in self.leaves(change) {
            let answer = self.leaf(&path, before, after);
            if worst.as_ref().is_none_or(|worst| answer.outweighs(worst)) {
                worst = Some(answer);
            }
        }
        worst.unwrap_or_else(|| self.leaf(&self.moved(&change.path), change.before.as_ref(), change.after.as_ref()))
    }

    /// The place in the superset form.
    fn moved(&self, path: &Path) -> Path {
        hub::path(&self.key.kind, self.api_version, path)
    }

    /// The places below a change that really differ, moved to the superset form.
    fn leaves<'c>(&self, change: &'c Change) -> Vec<(Path, Option<&'c Value>, Option<&'c Value>)> {
        if !change.within.is_empty() {
            return vec![(self.moved(&change.path), change.before.as_ref(), change.after.as_ref())];
        }
        let (before, after) = (change.before.as_ref(), change.after.as_ref());
        let mut out = Vec::new();
        for place in diff::places(before, after, &Path::root()) {
            let here = |value: Option<&'c Value>| value.and_then(|value| place.get(value));
            let mut below: Vec<Path> = Vec::new();
            for value in [here(before), here(after)].into_iter().flatten() {
                below.extend(diff::leaves(value, &place));
            }
            below.sort();
            below.dedup();
            for leaf in below {
                let whole = |value: Option<&'c Value>| value.and_then(|value| leaf.get(value));
                let mut path = change.path.clone();
                leaf.segments().iter().for_each(|segment| path.push(segment.clone()));
                out.push((self.moved(&path), whole(before), whole(after)));
            }
        }
        out
    }

    /// The answer about one leaf.
    fn leaf(&self, path: &Path, before: Option<&Value>, after: Option<&Value>) -> Answer {
        let rules = self.stage.rules;
        if let Some(refusal) = self.refusals.iter().find(|refusal| diff::touch(&refusal.path, path)) {
            return Answer::known(rules, Effect::Rejected, refusal.rule).saying(refusal.message.clone());
        }
        if let Some(answer) = self.by_replicas(path) {
            return answer;
        }
        if let Some(answer) = self.assessment.and_then(|assessment| self.by_mirror(assessment, path)) {
            return answer;
        }
        let asked = Asked {
            key: self.key,
            path,
            before,
            after,
            old: self.old,
            new: self.new,
            used_by: self.used_by,
            versions: &self.stage.versions,
            gates: self.stage.gates(),
        };
        if let Some(hit) = rules.find(&asked) {
            return hit.into();
        }
        self.assessment
            .and_then(|assessment| self.config_left_over(assessment, path))
            .unwrap_or_else(|| Answer::unknown(&self.key.kind))
    }

    /// The answer about the number of Machines.
    fn by_replicas(&self, path: &Path) -> Option<Answer> {
        let family = match self.key.kind.as_str() {
            "MachineDeployment" => "md",
            "KubeadmControlPlane" => "kcp",
            "RKE2ControlPlane" => "rke2cp",
            "MachineSet" => "ms",
            "MachinePool" => "mp",
            _ => return None,
        };
        (is(path, &["spec", "replicas"]) && !self.counts_elsewhere())
            .then(|| replicas::answer(self.stage.rules, family, self.old, self.new))
    }

    /// Whether something outside of Cluster API manages the number of Machines of a pool.
    fn counts_elsewhere(&self) -> bool {
        self.key.kind == "MachinePool"
            && super::machines::annotation(self.new, "cluster.x-k8s.io/replicas-managed-by").is_some()
    }

    /// The answer of the mirror, where the leaf has to do with it.
    fn by_mirror(&self, assessment: &Assessment, path: &Path) -> Option<Answer> {
        let rules = self.stage.rules;
        let family = assessment.mirror.family();
        if let Some(cause) = assessment.causes().find(|cause| diff::touch(&cause.path, path)) {
            let answer = Answer::known(rules, Effect::Rollout, cause.rule);
            return Some(self.unless_waiting(assessment, answer));
        }
        if assessment.is_released() && releases(path, assessment) {
            return Some(released(rules, assessment));
        }
        let later = assessment.of_specs.iter().any(|cause| diff::touch(&cause.path, path));
        later.then(|| {
            let id = if family == "md" { "md/on-delete" } else { &format!("{family}/later-config") };
            let answer = Answer::known(rules, Effect::Latent, id);
            if family == "md" {
                answer.saying("no Machine that exists is out of date by this; the next new Machine is made with it")
            } else {
                answer
            }
        })
    }

    /// A rollout that waits is latent.
    fn unless_waiting(&self, assessment: &Assessment, answer: Answer) -> Answer {
        let why = if assessment.paused {
            "it is paused, so this lands when it is no longer paused"
        } else if assessment.on_delete {
            "the strategy is OnDelete, so this lands when somebody deletes a Machine"
        } else {
            return answer;
        };
        let because = format!("{}; {why}", answer.because.trim_end_matches('.'));
        Answer { effect: Effect::Latent, because, ..answer }
    }

    /// The answer for a part of the configuration that no rule names and that makes no Machine out of date.
    fn config_left_over(&self, assessment: &Assessment, path: &Path) -> Option<Answer> {
        let below = match path.segments() {
            [Segment::Key(spec), Segment::Key(key), ..] if spec == "spec" => key.as_str(),
            _ => return None,
        };
        let of_config = match assessment.mirror {
            Mirror::Kubeadm => below == "kubeadmConfigSpec",
            Mirror::Rke2 => {
                matches!(
                    below,
                    "agentConfig"
                        | "files"
                        | "preRKE2Commands"
                        | "postRKE2Commands"
                        | "privateRegistriesConfig"
                        | "gzipUserData"
                        | "serverConfig"
                )
            }
            Mirror::Workers => false,
        };
        let id = format!("{}/equal-config", assessment.mirror.family());
        of_config.then(|| Answer::known(self.stage.rules, Effect::None, &id))
    }
}

/// Whether a path is exactly these keys.
fn is(path: &Path, keys: &[&str]) -> bool {
    path.segments().len() == keys.len()
        && path.segments().iter().zip(keys).all(|(segment, key)| matches!(segment, Segment::Key(have) if have == key))
}

/// Whether a leaf is what let the waiting Machines go.
fn releases(path: &Path, assessment: &Assessment) -> bool {
    is(path, &["spec", "paused"])
        || is(path, &["metadata", "annotations", "cluster.x-k8s.io/paused"])
        || (assessment.was_on_delete && is(path, &["spec", "rollout", "strategy", "type"]))
}

/// The answer about a write that lets waiting Machines go.
fn released(rules: &crate::rules::Rules, assessment: &Assessment) -> Answer {
    let id = if assessment.was_on_delete { "md/leaving-on-delete" } else { "md/unpaused" };
    let waiting: u64 = assessment.pending().chain(assessment.newly()).map(|unit| unit.count).sum();
    match (assessment.basis, waiting) {
        (Basis::Machines, 0) => Answer::known(rules, Effect::None, id)
            .saying("it is let go, and no Machine is out of date, so none is replaced"),
        (Basis::Machines, count) => Answer::known(rules, Effect::Rollout, id)
            .saying(format!("it is let go, and {count} Machines that are out of date are replaced")),
        (Basis::Specs, _) => Answer::known(rules, Effect::Rollout, id)
            .saying("it is let go; whether Machines are out of date depends on the Machines, which could not be read"),
    }
}

/// Judges every change of an updated pair; the findings of rules are handed back with the answers.
#[must_use]
pub(super) fn changes(subject: &Subject<'_>, pair: &Pair) -> Vec<Answer> {
    pair.changes.iter().map(|change| subject.answer(change)).collect()
}
