//! What a write in another `apiVersion` than the old side's may lose, where nothing is known of how the provider converts the kind: fields
//! that one of the two versions does not have go without a change that anybody sees.

use std::borrow::Cow;

use super::HostKind;
use super::pairs::{blank, trimmed};
use super::predict::Run;
use crate::apiserver::apply::{is_mine, noted};
use crate::apiserver::fields::{FieldSet, Ownership, Step, owners};
use crate::apiserver::merge;
use crate::compare::{Action, changes};
use crate::kinds::shapes::Shape;
use crate::model::{Effect, RuleId};
use crate::object::{Key, Object, Path};
use crate::providers::kind;
use crate::tree::Value;
use crate::world::WriteMethod;

/// An object that is written in another `apiVersion` than it was read or rendered in.
pub(super) struct Reversioned<'v> {
    /// As it was read, in its own version.
    pub(super) was: &'v Value,
    /// As it is rendered.
    pub(super) rendered: &'v Value,
    /// The object in the last manifest, where that is known.
    pub(super) last: Option<&'v Object>,
    /// How the host writes it; `None` between two renders.
    pub(super) way: Option<WriteMethod>,
}

impl Run<'_> {
    /// Whether the host sends only what differs between two renders (Helm 3, `pkg/kube/client.go`, `createPatch`: a merge patch from one
    /// manifest to the other).
    pub(super) fn sends_what_differs(&self) -> bool {
        self.way.is_none() && self.world.host.kind == Some(HostKind::Helm3) && !self.world.host.replace
    }

    /// The new side between two renders. Of another version only what differs between the texts is sent, to the object as the API server
    /// has converted it: what neither text says stays.
    pub(super) fn after_render(&self, was: &Value, converted: &Value, rendered: Value) -> Value {
        if !self.sends_what_differs() || was.get("apiVersion") == rendered.get("apiVersion") {
            return rendered;
        }
        let mut after = converted.clone();
        merge::apply(&mut after, merge::diff(was, &rendered));
        after
    }

    /// Doubts a write by which a field may be lost or refused though no compared field differs.
    pub(super) fn doubt_lost(&mut self, object: &Object, key: &Key, sides: &Reversioned<'_>, predicted: &Value) {
        let Some(because) = self.lost(object, key, sides) else { return };
        let known = self.out.pairs.iter().rposition(|pair| pair.key == *key);
        let place = known.unwrap_or_else(|| {
            let mut pair = blank(key.clone(), object.api_version.clone(), Action::Update, object.line);
            pair.live = Some(trimmed(sides.was.clone()));
            pair.predicted = Some(trimmed(predicted.clone()));
            self.out.pairs.push(pair);
            self.out.pairs.len() - 1
        });
        if let Some(pair) = self.out.pairs.get_mut(place).filter(|pair| pair.effect != Effect::Rejected) {
            pair.effect = Effect::Unknown;
            pair.rule = RuleId::of("schema/unconverted").into();
            pair.because = because;
        }
    }

    /// Why a field may be lost; `None` where none is, or the versions are converted here.
    fn lost(&self, object: &Object, key: &Key, sides: &Reversioned<'_>) -> Option<String> {
        let was = sides.was.get("apiVersion")?.as_str()?;
        let new = object.api_version.as_str();
        if was == new || kind(key).superset.is_some() {
            return None;
        }
        let versions = self.versions();
        let shape = |api_version: &str| Shape::of(&key.kind, api_version, &versions);
        let (path, of) = match sides.way {
            None if self.sends_what_differs() => return None,
            None => {
                let shape = shape(new)?;
                (lacks(shape, sides.was).or_else(|| lacks(shape, sides.rendered))?, new)
            }
            // What is sent takes the place of all that the version has no field for.
            Some(WriteMethod::Replace | WriteMethod::Recreate) => (lacks(shape(new)?, sides.was)?, new),
            // What leaves the manifest leaves the object, under whatever name the version has it in which it was read.
            Some(way) => {
                let since = |last: &Value| lost_since(shape(was)?, last, sides.rendered);
                let sent = match way {
                    WriteMethod::LastApplied => noted(sides.was),
                    _ => sides.last.and_then(|last| last.value().ok()).map(Cow::into_owned),
                };
                let owned = || (way == WriteMethod::ServerSideApply).then(|| self.owned_no_more(sides)).flatten();
                (sent.as_ref().and_then(since).or_else(owned)?, was)
            }
        };
        Some(format!(
            "{path} does not fit {of}, and how {was} becomes {new} is not known here: the field may be lost or set back, or the write refused; \
             write it as {new} has it, or compare with the cluster (--live cluster)"
        ))
    }

    /// The first place that the host applied in another version than the object was read in, that it no longer applies, and that nobody
    /// finds in the object: there it has another name.
    fn owned_no_more(&self, sides: &Reversioned<'_>) -> Option<Path> {
        let read_in = sides.was.get("apiVersion")?.as_str()?;
        let applier = self.applier(Some(sides.was));
        let mine =
            owners(sides.was).into_iter().filter(|entry| is_mine(entry, applier) && entry.api_version != read_in);
        let spec = Step::Field("spec".to_owned());
        let found = |entry: Ownership| {
            let (live, rendered) = (sides.was.get("spec")?, sides.rendered.get("spec"));
            gone(entry.fields.below.get(&spec)?, live, rendered, &Path::root().key("spec"))
        };
        mine.into_iter().find_map(found)
    }
}

/// The first field of a set that neither side has. What lies in items of lists is not looked for.
fn gone(fields: &FieldSet, live: &Value, rendered: Option<&Value>, at: &Path) -> Option<Path> {
    fields.below.iter().find_map(|(step, below)| {
        let key = step.field()?;
        let sent = rendered.and_then(|rendered| rendered.get(key));
        match live.get(key) {
            Some(live) => gone(below, live, sent, &at.key(key)),
            None => sent.is_none().then(|| at.key(key)),
        }
    })
}

/// The first place of a spec that a version has no field for, or that is no value of it.
fn lacks(shape: Shape, object: &Value) -> Option<Path> {
    let at = Path::root().key("spec");
    let mut spec = object.get("spec")?.clone();
    let dropped = shape.prune(&mut spec, &at).into_iter().next();
    dropped.or_else(|| {
        shape.faults(&spec, None, &at).into_iter().find(|(path, _)| path.get(object).is_some()).map(|(path, _)| path)
    })
}

/// The first place that differs between two manifests and that a version has no field for.
fn lost_since(shape: Shape, last: &Value, rendered: &Value) -> Option<Path> {
    let at = Path::root().key("spec");
    let unknown: Vec<Path> = [last, rendered]
        .into_iter()
        .filter_map(|side| side.get("spec").cloned())
        .flat_map(|mut spec| shape.prune(&mut spec, &at))
        .collect();
    let differ = changes(last, rendered);
    unknown.into_iter().find(|path| differ.iter().any(|change| path.covers(&change.path) || change.path.covers(path)))
}
