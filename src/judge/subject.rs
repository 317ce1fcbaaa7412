//! Judges each change of one updated object: leaf by leaf, the worst leaf counts. `leaf` lists the questions in their order.

use crate::apiserver::{admission, is_in_no_part};
use crate::compare::{Change, Pair};
use crate::judge::owner::Assessment;
use crate::judge::stage::Stage;
use crate::judge::topology;
use crate::judge::verdict::Answer;
use crate::judge::{bounds, claimed, deselected, indifferent, no_duration, taken_key};
use crate::kinds::contract::CLUSTER_CLASS;
use crate::kinds::gates::Open;
use crate::kinds::webhook::Refusal;
use crate::kinds::{Role, Typed, diff, superset};
use crate::model::Effect;
use crate::model::RuleId;
use crate::object::{Path, Segment};
use crate::rules::ChangedLeaf;
use crate::schema;
use crate::tree::Value;

/// The answer about a field that the kind does not have, where nobody said who writes.
pub(super) fn refused_by_some(stage: &Stage<'_>, path: &Path) -> Answer {
    let because = format!(
        "{path}: the kind has no such field, and how it is written is unknown: where it is applied on the server (Helm 4, Flux) or checked \
         (kubectl, Argo CD) the API server refuses the write, else (Helm 3, a HelmRelease that is patched) it drops the field; pass --host, and \
         --method for Flux"
    );
    Answer::known(stage.rules, Effect::Unknown, RuleId::of("schema/unknown-field-refused")).saying(because)
}

/// What is known about one updated object.
pub(crate) struct Subject<'a> {
    /// The shared part of the run.
    pub(crate) stage: &'a Stage<'a>,
    /// The object.
    pub(crate) key: &'a Typed<'a>,
    /// Its `apiVersion`.
    pub(crate) api_version: &'a str,
    /// The object before the write, in the superset form.
    pub(crate) old: &'a Value,
    /// The object after it.
    pub(crate) new: &'a Value,
    /// Kinds that refer to it after the write.
    pub(crate) used_by: &'a [String],
    /// What its mirror found, where it has one.
    pub(crate) assessment: Option<&'a Assessment>,
    /// What its webhook refuses.
    pub(crate) refusals: &'a [Refusal],
    /// What its webhook may refuse, because nobody said whether its feature gate is on.
    pub(crate) open: &'a [Open],
    /// Whether both sides are the same to a webhook that compares whole contents.
    pub(crate) same: bool,
    /// Whether both sides are as Go's types hold them.
    pub(crate) as_go: bool,
    /// Fields of the write that the kind does not have, as rendered.
    pub(crate) dropped: &'a [Path],
    /// Whether it is asked about an item of a list that goes: at its place the new side has another one, if any.
    pub(crate) is_gone: bool,
}

impl<'a> Subject<'a> {
    /// A pair that no mirror and no webhook looks at, with both sides in the superset form.
    pub(crate) fn of(
        stage: &'a Stage<'a>,
        (key, pair): (&'a Typed<'a>, &'a Pair),
        (old, new): (&'a Value, &'a Value),
        used_by: &'a [String],
    ) -> Self {
        let api_version = pair.api_version.as_str();
        let (assessment, refusals, open, same, as_go, dropped) = (None, &[][..], &[][..], false, false, &[][..]);
        Self {
            stage,
            key,
            api_version,
            old,
            new,
            used_by,
            assessment,
            refusals,
            open,
            same,
            as_go,
            dropped,
            is_gone: false,
        }
    }
}

impl Subject<'_> {
    /// The answer about a change.
    #[must_use]
    pub(crate) fn answer(&self, change: &Change) -> Answer {
        let mut worst: Option<Answer> = None;
        let elsewhere = self.by_looking_elsewhere(change);
        for leaf in self.leaves(change) {
            let answer = match self.unknown_to_schema(&leaf.rendered) {
                Some(answer) => answer,
                None => self.leaf(&leaf.path, leaf.before, leaf.after),
            };
            let answer = elsewhere.clone().filter(|elsewhere| elsewhere.outweighs(&answer)).unwrap_or(answer);
            let answer = self.by_user(&leaf, answer);
            if worst.as_ref().is_none_or(|worst| answer.outweighs(worst)) {
                worst = Some(answer);
            }
        }
        worst.unwrap_or_else(|| self.leaf(&self.moved(&change.path), change.before.as_ref(), change.after.as_ref()))
    }

    /// The worst answer about everything that differs between both sides, which are in the superset form already.
    #[must_use]
    pub(crate) fn worst(&self) -> Answer {
        let mut worst: Option<Answer> = None;
        for path in diff::differing_leaves(self.old, self.new) {
            let answer = self.leaf(&path, path.get(self.old), path.get(self.new));
            if worst.as_ref().is_none_or(|worst| answer.outweighs(worst)) {
                worst = Some(answer);
            }
        }
        worst.unwrap_or_else(|| Answer::known(self.stage.rules, Effect::None, RuleId::of("schema/same-value")))
    }

    /// The place in the superset form.
    pub(super) fn moved(&self, path: &Path) -> Path {
        superset::path(self.key.known, self.api_version, path, &self.stage.versions)
    }

    /// The places below a change that really differ, moved to the superset form.
    fn leaves<'c>(&self, change: &'c Change) -> Vec<Leaf<'c>> {
        let leaf = |rendered: Path, before, after| Leaf { path: self.moved(&rendered), rendered, before, after };
        if !change.within.is_empty() {
            return vec![leaf(change.path.clone(), change.before.as_ref(), change.after.as_ref())];
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
            for place in below {
                let whole = |value: Option<&'c Value>| value.and_then(|value| place.get(value));
                let mut path = change.path.clone();
                place.segments().iter().for_each(|segment| path.push(segment.clone()));
                out.push(leaf(path, whole(before), whole(after)));
            }
        }
        out
    }

    /// The answer about a field that the kind does not have.
    fn unknown_to_schema(&self, rendered: &Path) -> Option<Answer> {
        let is_lost = is_in_no_part(rendered) && schema::has(&self.key.group, &self.key.kind);
        if !is_lost && !admission::lies_in(rendered, self.dropped) {
            return None;
        }
        let rules = self.stage.rules;
        Some(if self.stage.is_strict() {
            Answer::known(rules, Effect::Rejected, RuleId::of("schema/unknown-field-refused"))
        } else if is_lost && self.stage.is_of_nobody() {
            refused_by_some(self.stage, rendered)
        } else {
            Answer {
                finding: Some("silent-no-op".to_owned()),
                ..Answer::known(rules, Effect::None, RuleId::of("schema/unknown-field"))
            }
        })
    }

    /// The answer about one leaf. The first question that has an answer decides:
    /// 1. the webhook refuses it, or a feature gate that nobody read decides;
    /// 2. fixed content, where the old side is a render that cannot show what is set there;
    /// 3. the value is the same for the API server, or the content is fixed;
    /// 4. a number of Machines: one that the cloud refuses, a pool that is handed back, `replicas`, a cloud's own scaling that ends;
    /// 5. the selector of workers;
    /// 6. the mirror: which Machines are out of date;
    /// 7. a text that is no length of time; empty and absent are one;
    /// 8. the topology; a key that goes from a Secret or ConfigMap from which something takes it; a Secret that another object has;
    /// 9. a label of a Cluster by which add-ons select it; what the provider of a pool takes for the same;
    /// 10. the packs, beside what reaches Machines of pools and what a class reads of its Cluster: the worse one counts;
    /// 11. what the mirror leaves over of a config. Everything else is unknown.
    fn leaf(&self, path: &Path, before: Option<&Value>, after: Option<&Value>) -> Answer {
        let rules = self.stage.rules;
        if let Some(refusal) = self.refusals.iter().find(|refusal| diff::touch(&refusal.path, path)) {
            return Answer::known(rules, Effect::Rejected, refusal.rule).saying(refusal.message.clone());
        }
        if let Some(open) = self.open.iter().find(|open| diff::touch(&open.path, path)) {
            return Answer::known(rules, Effect::Unknown, RuleId::of("gate/open")).saying(open.because());
        }
        let fixed = self.key.known.fixed.filter(|fixed| self.same && fixed.covers(path));
        let is_taken_once = fixed.is_some_and(|fixed| fixed.is_taken_once(path, self.old));
        if is_taken_once && fixed.is_some_and(|fixed| fixed.makes_once) && self.stage.is_of_renders() {
            return Answer::known(rules, Effect::Unknown, RuleId::of("template/set-unseen"));
        }
        if self.has_same_value(path) {
            return Answer::known(rules, Effect::None, RuleId::of("schema/same-value"));
        }
        if fixed.is_some() {
            return match is_taken_once {
                true => Answer::known(rules, Effect::Latent, RuleId::of("template/set-once")),
                false => Answer::known(rules, Effect::None, RuleId::of("schema/same-value")),
            };
        }
        if let Some(answer) = bounds::answer(self.stage, self.key, (self.old, self.new), path) {
            return answer;
        }
        let by_number = || self.by_replicas(path).or_else(|| self.by_switching_off(path));
        if let Some(answer) = self.by_handing_back(path).or_else(by_number) {
            return answer;
        }
        if path.starts_with(&["spec", "selector"])
            && let Some(answer) = crate::judge::selector::answer(self.stage, self.key, self.old, self.new)
        {
            return answer;
        }
        if let Some(answer) = self.assessment.and_then(|assessment| self.by_mirror(assessment, path)) {
            return answer;
        }
        if let Some(answer) = no_duration::answer(self.stage, path, after) {
            return answer;
        }
        // A template that cannot change compares more strictly; that is its rule's own affair. Of a kind that is not known,
        // nobody can say whether its webhook tells an empty field from an absent one.
        let is_switch = path.segments().len() > 2
            && self.key.known.switches.iter().any(|field| path.starts_with(&["spec", *field]));
        let may_differ = is_switch
            || self.as_go
            || self.key.known.role == Role::Template
            || self.is_kept_as_written(path)
            || !rules.knows(self.key);
        if is_empty(before) && is_empty(after) && !may_differ && !rules.empty_counts(self.key, path) {
            return Answer::known(rules, Effect::None, RuleId::of("schema/same-value"));
        }
        let by_key = || taken_key::answer(self.stage, self.key, path, self.new, after);
        let by_claim = || claimed::answer(self.stage, self.key, self.new, path);
        if let Some(answer) = self.by_topology(path).or_else(by_key).or_else(by_claim) {
            return answer;
        }
        if let Some(answer) = deselected::answer(self.stage, self.key, (self.old, self.new), path) {
            return answer;
        }
        if let Some(answer) = indifferent::answer(self.stage, self.key, (self.old, self.new), path) {
            return answer;
        }
        let by_pools = super::reached::answer(self.stage, self.key, (self.old, self.new), path);
        let is_cluster = self.key.known.role == Role::Cluster;
        let by_builtins = || topology::by_builtins(self.stage, self.key, self.old, self.new, path);
        let read = is_cluster.then(by_builtins).flatten();
        if let Some(hit) = rules.find(&self.asked(path, before, after)) {
            if let Some(answer) = by_pools.filter(|answer| answer.effect > hit.effect) {
                return Answer { touches: hit.touches, ..answer };
            }
            let own = match self.key.known.role {
                Role::Cluster => topology::held(self.stage, self.key, (self.old, self.new), path, hit.into()),
                Role::InfraPool => self.unless_managed(self.unless_paused(hit.into())),
                Role::Pool | Role::ControlPlane => self.unless_paused(hit.into()),
                _ => hit.into(),
            };
            return match read {
                Some(read) if !own.outweighs(&read) => read,
                _ => own,
            };
        }
        if read.is_some() {
            return read.unwrap_or_else(|| Answer::unknown(&self.key.kind));
        }
        self.assessment
            .and_then(|assessment| self.config_left_over(assessment, path))
            .unwrap_or_else(|| Answer::unknown(&self.key.kind))
    }

    /// What the packs are asked about a leaf.
    fn asked<'b>(&'b self, path: &'b Path, before: Option<&'b Value>, after: Option<&'b Value>) -> ChangedLeaf<'b> {
        ChangedLeaf {
            key: self.key,
            path,
            before,
            after,
            old: self.old,
            new: self.new,
            used_by: self.used_by,
            versions: &self.stage.versions,
            live: !self.stage.is_of_renders(),
            gates: self.stage,
        }
    }

    /// The answer of the topology controller, where the object is a Cluster with a class, a class, or a template of one.
    fn by_topology(&self, path: &Path) -> Option<Answer> {
        let in_spec = path.starts_with(&["spec"]);
        match self.key.known.role {
            Role::Cluster => topology::of_cluster(self.stage, self.key, self.old, self.new, path),
            Role::Class if in_spec && is_computed(path) => topology::of_class(self.stage, self.key),
            Role::Class if topology::same_workers(self.old, self.new, path) => {
                Some(Answer::known(self.stage.rules, Effect::None, RuleId::of("class/workers-order")))
            }
            // Patches may read the labels of a class, and drive another template with them.
            Role::Class if in_spec && is_metadata(path) => {
                topology::of_class(self.stage, self.key).filter(Answer::may_reach_machines)
            }
            // A Cluster that does not say a variable gets its default anew each time it is looked at.
            Role::Class if path.starts_with(&["spec", "variables"]) => {
                let is_words =
                    self.stage.rules.find(&self.asked(path, None, None)).is_some_and(|hit| hit.effect == Effect::None);
                topology::of_class(self.stage, self.key).filter(|answer| answer.may_reach_machines() && !is_words)
            }
            Role::Template if in_spec && self.used_by.iter().any(|name| name == CLUSTER_CLASS) => {
                let fixed = self.stage.rules.find(&self.asked(path, None, None));
                if fixed.is_some_and(|hit| hit.effect == Effect::Rejected) {
                    return None;
                }
                topology::of_class(self.stage, self.key)
            }
            Role::Template if in_spec && self.used_by.iter().any(|name| name == "nobody") => {
                let fixed = self.stage.rules.find(&self.asked(path, None, None));
                let is_fixed = fixed.is_some_and(|hit| hit.effect == Effect::Rejected);
                topology::unread::template(self.stage, self.key).filter(|_| !is_fixed)
            }
            _ => None,
        }
    }

    /// The answer of a user's rule, where it counts against what was decided. A user may name a field as it is rendered, or
    /// as the packs do.
    fn by_user(&self, leaf: &Leaf<'_>, decided: Answer) -> Answer {
        let hit = |path| self.stage.rules.by_user(&self.asked(path, leaf.before, leaf.after), &decided.clone().into());
        match hit(&leaf.path).or_else(|| hit(&leaf.rendered)) {
            Some(hit) => hit.into(),
            None => decided,
        }
    }

    /// The answer about a change that was decided elsewhere, after the rules of the user were asked.
    pub(crate) fn heard(&self, change: &Change, decided: Answer) -> Answer {
        self.leaves(change).iter().fold(decided, |decided, leaf| self.by_user(leaf, decided))
    }

    /// Whether a place lies in what a Cluster or a class holds as it was written: values of variables and patches, which Go does not read.
    fn is_kept_as_written(&self, path: &Path) -> bool {
        let is_free =
            |segment: &Segment| matches!(segment, Segment::Key(key) if key == "variables" || key == "jsonPatches");
        matches!(self.key.known.role, Role::Cluster | Role::Class) && path.segments().iter().any(is_free)
    }

    /// Whether a field has the same value on both sides once defaults are filled in.
    fn has_same_value(&self, path: &Path) -> bool {
        match (path.get(self.old), path.get(self.new).filter(|_| !self.is_gone)) {
            // What Go leaves out in a block that both sides have.
            (None, None) => self.as_go && self.has_block_around(path),
            (old, new) => old == new,
        }
    }

    /// Whether the innermost block around a place that either side has is one of both.
    fn has_block_around(&self, path: &Path) -> bool {
        let segments = path.segments();
        let around = (0..segments.len()).rev().map(|length| Path::from(segments[..length].to_vec()));
        let mut sides = around.map(|block| (block.get(self.old).is_some(), block.get(self.new).is_some()));
        sides.find(|(old, new)| *old || *new) == Some((true, true))
    }
}

/// One place that differs.
struct Leaf<'c> {
    /// Place as rendered.
    rendered: Path,
    /// Place in the superset form.
    path: Path,
    before: Option<&'c Value>,
    after: Option<&'c Value>,
}

/// Whether there is nothing: no value, or an empty list or map.
fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        Some(_) => false,
    }
}

/// Whether a place of a class is one that its clusters' templates are computed from.
fn is_computed(path: &Path) -> bool {
    const MADE_FROM: [&str; 6] =
        ["templateRef", "ref", "infrastructure", "bootstrap", "failureDomain", "failureDomains"];
    path.starts_with(&["spec", "patches"])
        || path.segments().iter().any(|step| matches!(step, Segment::Key(key) if MADE_FROM.contains(&key.as_str())))
}

/// Whether a path of a class lies in the labels and annotations that it gives.
fn is_metadata(path: &Path) -> bool {
    path.segments().iter().any(|step| matches!(step, Segment::Key(key) if key == "metadata"))
}
