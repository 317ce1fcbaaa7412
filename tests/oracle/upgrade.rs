//! An upgrade against two recordings: both versions of the controllers were asked about the same Machines and the same owner, so the
//! difference of their answers is what an upgrade from the one to the other does to objects that nobody writes.

use std::collections::{BTreeMap, BTreeSet};

use rollgate::facade::compare::changes;
use rollgate::facade::judge::Scene;
use rollgate::facade::judge::upgrade::{Foresight, Wanted, foresee};
use rollgate::facade::kinds::{Versions, fields, superset};
use rollgate::facade::model::Effect;
use rollgate::facade::object::{Inventory, Object};
use rollgate::facade::providers::kind;
use rollgate::facade::rules::Rules;
use rollgate::facade::tree::Value;

use super::patch::apply;
use super::replay::{Case, Recording};

/// Two recordings of one provider.
pub(crate) struct Way<'r> {
    pub(crate) old: &'r Recording,
    pub(crate) new: &'r Recording,
}

/// What came of one way.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Questions that both versions answered.
    pub(crate) cases: usize,
    /// Those of which the answers differ: Machines that only the new version calls out of date.
    pub(crate) newly: usize,
    /// Machines that only the old version calls out of date.
    pub(crate) no_more: usize,
    /// Where the upgrade says something else than the difference.
    pub(crate) faults: Vec<String>,
}

impl Way<'_> {
    /// Asks about every question that both recordings hold, where the Machines stand as the old version made them.
    pub(crate) fn compare(&self, is_asked: impl Fn(&str) -> bool) -> Compared {
        let theirs: BTreeMap<&str, &Case> = self.new.cases.iter().map(|case| (case.id.as_str(), case)).collect();
        let mut out = Compared::default();
        for case in self.old.cases.iter().filter(|case| is_asked(&case.id)) {
            let Some(other) = theirs.get(case.id.as_str()).filter(|other| other.patch == case.patch) else { continue };
            // What the API server drops of a write is not stored, and the World holds what is.
            let is_whole = !case.id.ends_with("+join") && !case.id.contains("#pair:unknown");
            let is_answered = |one: &Case| one.answer.accepted && one.answer.error.is_empty() && is_whole;
            if !self.old.is_observed(case) || !is_answered(case) || !is_answered(other) {
                continue;
            }
            if self.is_kept(case) {
                continue;
            }
            out.cases += 1;
            self.ask(case, other, &mut out);
        }
        out
    }

    /// Whether a write takes away the timeout of a discovery where the new version has it in the annotation of its conversion too: there
    /// the write does nothing, and no object that the old version stored has that annotation.
    fn is_kept(&self, case: &Case) -> bool {
        let has_stored = |recording: &Recording| {
            let object = recording.bases.get(&case.base).map(|base| &base.object);
            object.is_some_and(|object| fields::annotation(object, "cluster.x-k8s.io/conversion-data").is_some())
        };
        let takes_away = [":remove", ":null", ":zero"].iter().any(|what| case.id.ends_with(what));
        takes_away
            && case.id.contains("#spec/kubeadmConfigSpec/joinConfiguration/discovery")
            && has_stored(self.new)
            && !has_stored(self.old)
    }

    fn ask(&self, case: &Case, other: &Case, out: &mut Compared) {
        let set = |case: &Case| case.answer.outdated.iter().cloned().collect::<BTreeSet<String>>();
        let (was, is) = (set(case), set(other));
        let newly: BTreeSet<String> = is.difference(&was).cloned().collect();
        let no_more: BTreeSet<String> = was.difference(&is).cloned().collect();
        out.newly += usize::from(!newly.is_empty());
        out.no_more += usize::from(!no_more.is_empty());
        let after = self.after(case);
        let found = self.foresee(case, after);
        let rolls = |pair: &rollgate::facade::compare::Pair| {
            pair.effect == Effect::Rollout || pair.changes.iter().any(|change| change.waits == Some(Effect::Rollout))
        };
        let rolls = found.pairs.iter().any(rolls);
        let says = |id: &str| found.classified.findings.iter().any(|finding| finding.id == id);
        let names: BTreeSet<String> =
            found.classified.rollouts.iter().flat_map(|rollout| rollout.machine_names.clone()).collect();
        let is_named =
            names.is_empty() || !case.id.starts_with("Kubeadm") && !case.id.starts_with("RKE2") || names == newly;
        let agrees = rolls != newly.is_empty()
            && is_named
            && (says("cancelled-rollout") || no_more.is_empty())
            && (says("pending-rollout") || was.intersection(&is).next().is_none());
        let is_explained = newly.is_empty() || found.upgrade.behaviours.iter().any(|one| one.machines > 0);
        if !agrees || !is_explained {
            out.faults.push(format!(
                "{} {} -> {}: {was:?} -> {is:?}; the upgrade says {names:?}, {:?}, {:?}",
                case.id,
                self.old.name,
                self.new.name,
                found.classified.findings.iter().map(|finding| &finding.message).collect::<Vec<_>>(),
                found.pairs.iter().flat_map(|pair| &pair.changes).map(|change| &change.because).collect::<Vec<_>>(),
            ));
        }
    }

    /// The owner of a case after its write.
    fn after(&self, case: &Case) -> Value {
        let mut after = self.old.bases[&case.base].object.clone();
        case.patch.iter().for_each(|operation| apply(&mut after, operation));
        after
    }

    /// The upgrade of the World of a case, with the owner as it is.
    fn foresee(&self, case: &Case, owner: Value) -> Foresight {
        let mut world = self.old.world(&self.old.bases[&case.base]);
        let owner = Object::from_value(owner, 0).expect("a case is an object");
        let mut live = Inventory::default();
        world
            .live
            .objects()
            .iter()
            .filter(|object| object.key != owner.key)
            .for_each(|object| live.push(object.clone()));
        live.push(owner);
        world.live = live;
        let wanted: Wanted = [(self.old.provider.clone(), self.new.version.clone())].into();
        let rendered = Inventory::default();
        let scene =
            Scene { world: &world, view: &world.view(), rendered: &rendered, once: &Default::default(), way: None };
        foresee(&scene, Rules::built_in(), &wanted)
    }

    /// Fields of which a change replaces Machines in the new version and not in the old one, and which the upgrade does not name.
    pub(crate) fn unnamed(&self) -> BTreeSet<String> {
        let theirs: BTreeMap<&str, &Case> = self.new.cases.iter().map(|case| (case.id.as_str(), case)).collect();
        let mut out = BTreeSet::new();
        for case in self.old.cases.iter().filter(|case| !case.id.contains("#pair:") && case.answer.accepted) {
            let Some(other) = theirs.get(case.id.as_str()).filter(|other| other.patch == case.patch) else { continue };
            if !case.answer.outdated.is_empty() || !other.answer.accepted || other.answer.outdated.is_empty() {
                continue;
            }
            let base = &self.old.bases[&case.base];
            let versions = Versions::told(&self.new.provider, &self.new.version);
            let found = self.foresee(case, base.object.clone());
            let object = Object::from_value(base.object.clone(), 0).expect("a base is an object");
            let is_named = |path: &rollgate::facade::object::Path| {
                let moved = superset::path(kind(&object.key), &object.api_version, path, &versions);
                found.upgrade.next_writes.iter().any(|next| {
                    let known = [path, &moved].map(ToString::to_string);
                    next.kind == case.kind && known.iter().any(|known| known.starts_with(&next.path))
                })
            };
            let changed = changes(&base.object, &self.after(case));
            if !changed.iter().any(|change| is_named(&change.path)) {
                out.insert(case.id.clone());
            }
        }
        out
    }
}
