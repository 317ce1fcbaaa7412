//! What the class makes of each part of a Cluster now, against what is in use: the template that an owner names, or the object
//! itself where the topology controller changes it in place. One answer for everything that may wait, whatever let it wait.
//! Read beside `core/reconcilers/topology/cluster/reconcile_state.go` (reconcileReferencedTemplate, reconcileReferencedObject)
//! of Cluster API 1.14.

use std::sync::Arc;

use super::blueprint::{ClassPart, Role, parts};
use super::forecast::{drift, judged, normal_of, normal_spec, superset_of};
use super::left_out;
use super::patches;
use super::referenced::{self, stored};
use super::values;
use super::weight::owner;
use crate::apiserver::fields::FieldSet;
use crate::judge::stage::Stage;
use crate::judge::waiting::side::Side;
use crate::kinds::contract::made_by;
use crate::kinds::fields::{number, target, text};
use crate::kinds::remembered::{Remembered, remembered};
use crate::model::Effect;
use crate::object::Key;
use crate::providers::kind;
use crate::tree::{Value, json};

/// A part that is not as the class makes it now.
pub(super) struct Drift {
    /// `controlPlane`, `machineDeployment`, `machinePool`, or `cluster` for its infrastructure.
    pub(super) word: &'static str,
    /// Name of the group.
    pub(super) name: String,
    /// `bootstrap`, `infrastructure`, or empty for what is changed in place.
    pub(super) slot: &'static str,
    /// What bringing it about does.
    pub(super) effect: Effect,
    /// What is not as it should be, as a clause.
    pub(super) says: String,
    /// Whether an edit of the template alone brought it about, which the controller sees when something makes it look.
    pub(super) is_edit: bool,
}

/// What a part is in use as.
enum InUse {
    /// The template that an owner names, and its spec as the dry run compares it.
    Template(Key, Value),
    /// An object that is changed in place.
    Object(Key, Arc<Value>),
    /// Its owner is not there yet, so that nothing is replaced.
    Nowhere,
    /// It could not be read.
    Unread(Key),
}

/// Every part of a Cluster that is not in use as the class makes it now, of those that are asked for.
pub(super) fn drifts(
    side: Side<'_>,
    key: &Key,
    cluster: &Value,
    class_key: &Key,
    is_asked: &dyn Fn(&ClassPart) -> bool,
) -> Vec<Drift> {
    let stage = side.stage;
    let written = |key: &Key| if side.is_after() { stage.written_after(key) } else { stage.written_before(key) };
    let Some(class) = written(class_key) else {
        let says = format!("{class_key} could not be read, so what it makes of them is not known");
        let (word, name) = ("controlPlane", String::new());
        return vec![Drift { word, name, slot: "", effect: Effect::Unknown, says, is_edit: false }];
    };
    let global = values::of_cluster(cluster, &class);
    let drift = |part: ClassPart| {
        let template_key = part.key(class_key);
        let template = referenced::template(stage, &part, &template_key, side.is_after());
        // One that is not there at all stops the controller.
        if template.is_none() && side.is_missing(&template_key) {
            return None;
        }
        let in_use = in_use(side, key, cluster, &part);
        let found = match (&template, &in_use) {
            (_, InUse::Nowhere) => return None,
            (None, _) => unknown(format!("{template_key} could not be read, so what comes of it is not known")),
            (_, InUse::Unread(used)) => unknown(format!("{used} could not be read, so what waits for it is not known")),
            (Some(template), have) => {
                let values = values::of_group(cluster, &class, &global, &part.group);
                compare(side, &part, &patches::apply(template, &part, &class, &values, &stage.versions), have)?
            }
        };
        // A template that nobody ever edited is as it was when the workers got theirs, unless variables or patches changed.
        let was_edited = template.is_some_and(|template| number(&template, "/metadata/generation") != Some(1));
        let (effect, says) = found;
        let (word, name, slot) = part.id();
        Some(Drift { word, name, slot, effect, says, is_edit: was_edited && effect != Effect::Unknown })
    };
    parts(cluster, &class).into_iter().filter(is_asked).filter_map(drift).collect()
}

/// An answer that nobody can give.
fn unknown(says: String) -> (Effect, String) {
    (Effect::Unknown, says)
}

/// What brings a part to what the class makes of it; `None` where it is that already.
fn compare(side: Side<'_>, part: &ClassPart, made: &patches::Patched, in_use: &InUse) -> Option<(Effect, String)> {
    let stage = side.stage;
    if let Some((patch, why)) = made.broken.as_ref() {
        return Some(unknown(format!("the patch {patch} fails ({why}), so what comes of it is not known")));
    }
    if let Some((patch, why, _)) = made.opaque.first() {
        return Some(unknown(format!("the patch {patch} {why}, which is not computed, so what waits is not known")));
    }
    let name = text(&part.reference, "/kind").unwrap_or_default();
    match in_use {
        InUse::Template(used, have) => {
            if let Some((place, _)) = drift(stage, part, &made.spec, have) {
                let says = format!("{name} of the class differs from the one in use ({place})");
                return Some((Effect::Rollout, says));
            }
            let version = text(&part.reference, "/apiVersion").unwrap_or_default();
            let mut spec = stored(stage.written_before(used)?, version)?.get("spec")?.clone();
            let place = left_out::take(&mut spec, &owned(stage, used, version)?, &made.spec).into_iter().next()?;
            let says = format!("{name} of the class no longer says what the one in use does ({place})");
            Some((Effect::Rollout, says))
        }
        InUse::Object(key, live) => {
            // It is in the superset form already, whichever version it says, so that nothing moves in it any more.
            let version = format!("{}/v1beta2", key.group);
            let have =
                normal_spec(stage, (name, &version), part.role, &json!({"template": {"spec": live.get("spec")}}));
            let mut new = Value::clone(live);
            let drift = drift(stage, part, &made.spec, &have);
            if let Some((_, wanted)) = &drift {
                overlay(&mut new["spec"], wanted.pointer("/template/spec").unwrap_or(&Value::Null));
            }
            let named = text(&part.reference, "/apiVersion").unwrap_or_default();
            let said = superset_of(stage, (name, named), &made.spec);
            let said = said.pointer("/spec/template/spec").unwrap_or(&Value::Null);
            let gone =
                owned(stage, key, &version).map(|owned| left_out::take(&mut new["spec"], &of_template(owned), said));
            let says = match (gone.iter().flatten().next(), drift) {
                (Some(place), _) => format!("{name} of the class no longer says what {key} does ({place})"),
                (None, Some((place, _))) => format!("{name} of the class differs from {key} ({place})"),
                (None, None) => return None,
            };
            if let Some(mirror) = kind(key).mirror {
                mirror.fill_in(&mut new, &stage.versions);
            }
            let (answer, _) = judged(stage, key, (live, &new));
            match answer.effect {
                Effect::None => None,
                // What is refused here is a write of the topology controller, which then stops.
                Effect::Rejected => Some(unknown(format!("{says}: {}", answer.because))),
                effect => Some((effect, format!("{says}: {}", answer.because.trim_end_matches('.')))),
            }
        }
        InUse::Nowhere | InUse::Unread(_) => None,
    }
}

/// What the topology controller owns in the spec of what is in use for a part, as a version names it.
fn owned(stage: &Stage<'_>, used: &Key, version: &str) -> Option<FieldSet> {
    let object = stage.scene.view.get(used).object()?.value().ok()?;
    left_out::owned(&*stored(object, version)?)
}

/// Without what the controller writes beside what the template says (`exp/topology/desiredstate/desired_state.go`, computeControlPlane).
fn of_template(mut owned: FieldSet) -> FieldSet {
    owned.below.retain(|step, _| {
        !step
            .field()
            .is_some_and(|key| ["replicas", "version", "machineTemplate", "rollout", "rolloutAfter"].contains(&key))
    });
    owned
}

/// Where an owner names the template of a part.
fn place_of(part: &ClassPart) -> &'static str {
    match (part.group.word, part.slot) {
        ("controlPlane", _) => "/spec/machineTemplate/spec/infrastructureRef",
        (_, "bootstrap") => "/spec/template/spec/bootstrap/configRef",
        _ => "/spec/template/spec/infrastructureRef",
    }
}

/// What a part is in use as.
fn in_use(side: Side<'_>, key: &Key, cluster: &Value, part: &ClassPart) -> InUse {
    let stage = side.stage;
    let reference_kind = text(&part.reference, "/kind").unwrap_or_default();
    let of_infrastructure = || target(cluster.pointer("/spec/infrastructureRef")?, key.namespace.as_deref());
    let owner = match part.role {
        Role::Infrastructure => of_infrastructure(),
        _ => Some(owner(stage, key, cluster, part.group.word, &part.group.name)),
    };
    let Some(owner) = owner else { return InUse::Nowhere };
    let Some(live) = stage.before(&owner) else {
        // The workers of a Cluster were listed; its control plane has a name.
        let is_unread =
            part.group.word == "controlPlane" && part.role != Role::Infrastructure && !side.is_missing(&owner);
        return if is_unread { InUse::Unread(owner) } else { InUse::Nowhere };
    };
    if part.role != Role::Rotated {
        let mut live = live;
        if let Some(mirror) = kind(&owner).mirror {
            mirror.fill_in(Arc::make_mut(&mut live), &stage.versions);
        }
        return if owner.kind == made_by(reference_kind) { InUse::Object(owner, live) } else { InUse::Nowhere };
    }
    let Some(used) = live.pointer(place_of(part)).and_then(|used| target(used, owner.namespace.as_deref())) else {
        return InUse::Nowhere;
    };
    let version = text(&part.reference, "/apiVersion").unwrap_or_default();
    let Some(written) = stage.written_before(&used).and_then(|used| stored(used, version)) else {
        return InUse::Unread(used);
    };
    // A pool names what was made of a template, which is compared as if it still stood in one.
    let (kind, spec) = match part.group.word {
        "machinePool" => (made_by(reference_kind), json!({"template": {"spec": written.get("spec")}})),
        _ => (reference_kind, written.get("spec").cloned().unwrap_or_default()),
    };
    if used.kind != kind {
        // Another kind is always another content.
        return InUse::Template(used, Value::Null);
    }
    let made = json!({"apiVersion": written.get("apiVersion"), "kind": reference_kind, "spec": spec});
    let normal = normal_of(stage, &made);
    InUse::Template(used, normal)
}

/// Whether workers are in use as they would come out of a template, so that nothing is made anew, whatever that said in between: nobody
/// made the controller look at it. What was read through a version that hides the order of its lists proves nothing.
pub(super) fn is_as_made(
    stage: &Stage<'_>,
    (key, cluster): (&Key, &Value),
    (part, template_key): (&ClassPart, &Key),
    made: &Value,
) -> bool {
    let owner = owner(stage, key, cluster, part.group.word, &part.group.name);
    let used = stage.before(&owner).and_then(|live| target(live.pointer(place_of(part))?, owner.namespace.as_deref()));
    let Some(used) = used.and_then(|used| stage.written_before(&used)) else { return false };
    let word = |place| text(&part.reference, place).unwrap_or_default();
    let hides_order = |object: &Value| {
        let is_old = version(object).ends_with("/v1beta1") && kind(template_key).config_place().is_some();
        is_old && !matches!(remembered(object, word("/apiVersion")), Remembered::Spec(_))
    };
    let (Some(template), Some(written)) =
        (referenced::template(stage, part, template_key, true), stage.written_after(template_key))
    else {
        return false;
    };
    // A patch speaks of the version of the reference: not every template can be brought there, and on its way to an older one it loses
    // something.
    let is_patched = || patches::spec_of(&template) != *made;
    let (named, now) = (word("/apiVersion"), version(&template));
    let may_differ = now != named || version(&written) != named && now.ends_with("/v1beta1");
    if part.group.word == "machinePool" || may_differ && is_patched() || hides_order(&used) {
        return false;
    }
    let have = in_use(Side::before(stage), key, cluster, part);
    let made = normal_spec(stage, (word("/kind"), now), part.role, made);
    matches!(have, InUse::Template(_, have) if have == made)
}

/// The `apiVersion` of an object.
fn version(object: &Value) -> &str {
    text(object, "/apiVersion").unwrap_or_default()
}

/// Puts what a class says over what is there; names that only the controller knows are left as they are.
fn overlay(have: &mut Value, said: &Value) {
    match (have, said) {
        (Value::Object(have), Value::Object(said)) => {
            for (key, said) in said {
                match have.get_mut(key) {
                    Some(have) => overlay(have, said),
                    None if is_named_later(said) => {}
                    None => drop(have.insert(key.clone(), said.clone())),
                }
            }
        }
        (_, said) if is_named_later(said) => {}
        (have, said) => *have = said.clone(),
    }
}

/// Whether a value holds a name that only the controller knows.
fn is_named_later(value: &Value) -> bool {
    value.to_string().contains("builtin:")
}
