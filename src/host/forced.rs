//! What Flux does to an object whose write the API server refuses, where it is told to force: it deletes the object, waits until it is gone
//! and makes it anew (fluxcd/pkg `ssa/manager_apply.go`, `ApplyAll` and `shouldForceApply`, and `ssa/errors/immutable.go`: every answer that
//! the object is not valid counts; kustomize-controller `internal/controller/kustomization_controller.go`, `apply`, v1.9.4).

use std::collections::BTreeSet;

use super::HostKind;
use super::kustomized::{GROUP, applied_by, is_forced};
use super::pairs::{blank, trimmed};
use crate::compare::{Action, Pair};
use crate::kinds::Role;
use crate::kinds::references::references;
use crate::model::{Classified, Effect, Finding, RuleId};
use crate::object::{Inventory, Key, Object};
use crate::providers::kind;
use crate::tree::Value;
use crate::world::World;

/// Who is told to force, of what one run writes.
pub(crate) struct Forced<'a> {
    /// Objects of a Kustomization that is told so, as far as the change itself shows it.
    told: &'a BTreeSet<Key>,
    /// Kustomizations that are told so, by namespace and name.
    kustomizations: BTreeSet<(String, String)>,
    rendered: &'a Inventory,
}

impl<'a> Forced<'a> {
    /// Who is told to force; `None` where kustomize-controller does not write, or nobody is told so.
    pub(crate) fn of(world: &World, rendered: &'a Inventory, told: &'a BTreeSet<Key>, pairs: &[Pair]) -> Option<Self> {
        if world.host.kind != Some(HostKind::Flux) || world.host.release.is_some() {
            return None;
        }
        let of_cluster = world.live.objects().iter().filter(|object| object.key.group == GROUP);
        let forces = |value: &Value| value.pointer("/spec/force") == Some(&Value::Bool(true));
        let forcing = of_cluster.filter(|object| object.value().is_ok_and(|value| forces(&value)));
        let name = |key: &Key| Some((key.namespace.clone()?, key.name.clone()));
        let kustomizations = forcing.filter_map(|object| name(&object.key)).collect();
        let forced = Self { told, kustomizations, rendered };
        pairs.iter().any(|pair| forced.by(pair).is_some()).then_some(forced)
    }

    /// Who tells Flux to force the write of a pair.
    fn by(&self, pair: &Pair) -> Option<String> {
        let sides = || [&pair.live, &pair.predicted].into_iter().flatten();
        if pair.action != Action::Update {
            return None;
        }
        if sides().any(is_forced) {
            return Some("kustomize.toolkit.fluxcd.io/force".to_owned());
        }
        let applied = sides().find_map(|side| {
            let (namespace, name) = applied_by(side)?;
            self.kustomizations.get(&(namespace.to_owned(), name.to_owned()))
        });
        let by_cluster = applied.map(|(namespace, name)| format!("spec.force of Kustomization {namespace}/{name}"));
        by_cluster.or_else(|| self.told.contains(&pair.key).then(|| "spec.force of its Kustomization".to_owned()))
    }

    /// The pairs as Flux writes them once the API server has answered: `judged` are the same pairs with what that said. Each object that is
    /// refused goes and comes anew. `None` where none is.
    pub(crate) fn after(&self, pairs: &[Pair], judged: &[Pair]) -> Option<(Vec<Pair>, Vec<Finding>)> {
        let (mut out, mut findings) = (Vec::with_capacity(pairs.len()), Vec::new());
        for pair in pairs {
            let answer = judged.iter().find(|other| other.key == pair.key && other.action == pair.action);
            let refused = answer.filter(|answer| answer.effect == Effect::Rejected && is_invalid(answer));
            let Some((answer, by)) = refused.zip(self.by(pair)) else {
                out.push(pair.clone());
                continue;
            };
            let message = format!(
                "{}: the API server refuses the change ({}), and Flux is told to force ({by}): it deletes the object with all that it owns, waits \
                 until it is gone, and makes it anew",
                pair.key,
                why(answer)
            );
            findings.push(Finding::new("recreated", pair.key.clone(), message));
            out.extend(self.anew(pair));
        }
        (!findings.is_empty()).then_some((out, findings))
    }

    /// Takes a template that comes anew at once for one that changes: Machines that run are not compared with what it holds, and the next ones are
    /// made from it. One of a class is left as it was judged, as its clusters are made anew from what it holds.
    pub(crate) fn settle(&self, pairs: &mut [Pair], classified: &mut Classified) {
        let made: BTreeSet<Key> = pairs
            .iter()
            .filter(|pair| pair.action == Action::Create && pair.effect != Effect::Rejected)
            .map(|pair| pair.key.clone())
            .collect();
        for pair in pairs.iter_mut().filter(|pair| pair.action == Action::Delete && made.contains(&pair.key)) {
            let is_of_class = || self.rendered.objects().iter().any(|object| is_class_of(object, &pair.key));
            if kind(&pair.key).role != Role::Template || pair.effect != Effect::Unknown || is_of_class() {
                continue;
            }
            classified.findings.retain(|finding| finding.id != "removed-in-use" || finding.object != pair.key);
            pair.effect = Effect::Latent;
            pair.rule = RuleId::of("host/recreated-template").into();
            pair.because = "Flux deletes the template and makes it anew at once: Machines that run are untouched, and every Machine that is made \
                            later is made from what it holds then"
                .to_owned();
        }
    }

    /// An object that goes and comes anew.
    fn anew(&self, pair: &Pair) -> [Pair; 2] {
        let mut gone = blank(pair.key.clone(), pair.api_version.clone(), Action::Delete, 0);
        gone.live.clone_from(&pair.live);
        let rendered =
            self.rendered.get(&pair.key).and_then(|object| object.value().ok()).map(|value| value.into_owned());
        let mut made = blank(pair.key.clone(), pair.api_version.clone(), Action::Create, pair.line);
        made.predicted = rendered.map(trimmed).or_else(|| pair.predicted.clone());
        [gone, made]
    }
}

/// Whether a refusal says that the object is not valid: what a host cannot read, or what nobody can convert, is another answer.
fn is_invalid(pair: &Pair) -> bool {
    !["host/", "schema/unknown-field"].iter().any(|other| pair.rule.starts_with(other))
}

/// Why a pair is refused.
fn why(pair: &Pair) -> &str {
    let of_change = pair.changes.iter().find(|change| change.effect == Effect::Rejected);
    of_change.map_or(pair.because.as_str(), |change| change.because.as_str())
}

/// Whether an object is a class that names a template.
fn is_class_of(object: &Object, template: &Key) -> bool {
    let names = |value: &Value| {
        references(value).iter().any(|reference| reference.kind == template.kind && reference.name == template.name)
    };
    kind(&object.key).role == Role::Class && object.value().map_or(true, |value| names(&value))
}
