//! What the API server refuses of the objects that the topology controller makes of a class: it stops there, and makes nothing more.
//! Read beside `core/reconcilers/topology/cluster/reconcile_state.go` (reconcileControlPlane, reconcileReferencedTemplate) of Cluster API
//! 1.14.

use super::blueprint::{ClassPart, Role, class_of};
use super::forecast::{Made, PLANE_REPLICAS, Side, make};
use super::patches::Patched;
use super::values::list;
use crate::apiserver::admission::{Sides, admit};
use crate::apiserver::keep::Past;
use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::kinds::around::{Around, LookedUp};
use crate::kinds::contract::{INFRASTRUCTURE, made_by};
use crate::kinds::fields::{map_at, text};
use crate::kinds::superset;
use crate::kinds::webhook::Refusal;
use crate::model::{Action, Effect, Pair, RuleId};
use crate::object::{ApiVersion, Key, Path, Segment};
use crate::providers::kind;
use crate::tree::{Map, Value, json};

/// What the schema of a kind refuses.
const BY_SCHEMA: RuleId = RuleId::of("schema/refused");

/// What only the topology controller says of a control plane; not all of them have it where it is put here.
const ONLY_ITS_OWN: [&str; 2] = ["infrastructureRef", "infrastructureTemplate"];

/// Looks nothing up: what a webhook asks of other objects is asked when the object is there.
struct Nobody;

impl Around for Nobody {
    fn look_up(&self, _: &str, _: &str, _: &dyn Fn(&Key, &Value) -> bool) -> LookedUp {
        LookedUp::Unread
    }
}

/// The answer about a new Cluster of whose class not everything can be made.
pub(crate) fn of_new(stage: &Stage<'_>, key: &Key, cluster: &Value) -> Option<Answer> {
    let class_key = class_of(key, cluster)?;
    let class = stage.written_after(&class_key)?;
    let discovers = |patch: &Value| text(patch, "/external/discoverVariablesExtension").is_some();
    if list(&class, "/spec/patches").any(discovers) {
        // The webhook fills in the variables of extensions too, which nobody knows here.
        return None;
    }
    let side = Side { cluster, class_key: &class_key, class: &class, after: true };
    let answer = |rule, because: String| Answer::known(stage.rules, Effect::Unknown, rule).saying(because);
    make(stage, side).values().find_map(|(part, made)| {
        let Made::Known(made) = made else { return None };
        if let Some((patch, why)) = &made.broken {
            let because = format!("the patch {patch} of its class fails ({why}), so nothing of the cluster is made");
            return Some(answer(RuleId::of("topology/patch-fails"), because));
        }
        // A patch that is not computed may mend what the others leave.
        let refusals = if made.opaque.is_empty() { created(stage, (key, cluster), part, &made.spec) } else { Vec::new() };
        let refusal = refusals.into_iter().next()?;
        let object = kind_of(part);
        let because = format!(
            "{}; the topology controller makes this {object} of the class {} and stops there, so the cluster is not made",
            refusal.message, class_key.name
        );
        Some(answer(RuleId::of("topology/stuck"), because))
    })
}

/// What is said where the API server refuses what a part comes out as, and took what it was.
pub(super) fn refused_anew(
    stage: &Stage<'_>,
    cluster: (&Key, &Value),
    part: &ClassPart,
    (old, new): (&Patched, &Patched),
    differs: bool,
) -> Option<Answer> {
    if !new.opaque.is_empty() || !old.opaque.is_empty() {
        return None;
    }
    let refusals = if part.role == Role::Rotated {
        let mut found = created(stage, cluster, part, &new.spec);
        if !differs && !found.is_empty() {
            // The controller compares by a dry run, which lets through what was there.
            let known = created(stage, cluster, part, &old.spec);
            found.retain(|refusal| !known.contains(refusal));
        }
        found
    } else {
        changed(stage, cluster, part, (&old.spec, &new.spec))
    };
    let because = format!(
        "{}; the topology controller makes this {} of the class and stops there: nothing is replaced, and the topology stands still until it is \
         mended",
        refusals.first()?.message,
        kind_of(part)
    );
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("topology/stuck")).saying(because))
}

/// What is refused of an object that the topology controller makes anew of the spec of a template.
fn created(stage: &Stage<'_>, (cluster_key, cluster): (&Key, &Value), part: &ClassPart, spec: &Value) -> Vec<Refusal> {
    let object = object(cluster_key, cluster, part, spec);
    let pair = Pair { predicted: Some(object), ..Pair::of(key(cluster_key, part), api_version(part), Action::Create) };
    refused(stage, part, &pair, |_| true)
}

/// What the schema refuses of an object that the topology controller changes in place.
fn changed(
    stage: &Stage<'_>,
    (cluster_key, cluster): (&Key, &Value),
    part: &ClassPart,
    (before, after): (&Value, &Value),
) -> Vec<Refusal> {
    let object = |spec: &Value| Some(object(cluster_key, cluster, part, spec));
    let key = key(cluster_key, part);
    let (live, predicted) = (object(before), object(after));
    let pair = Pair { live, predicted, ..Pair::of(key, api_version(part), Action::Update) };
    // Webhooks see the object that is there, which has more in it.
    refused(stage, part, &pair, |refusal| refusal.rule == BY_SCHEMA)
}

/// What the API server refuses of a write of the topology controller, of what counts.
fn refused(stage: &Stage<'_>, part: &ClassPart, pair: &Pair, counts: fn(&Refusal) -> bool) -> Vec<Refusal> {
    let find = || {
        let mut found = all_refused(stage, part, pair);
        found.retain(counts);
        found
    };
    // A name is the cluster's own, and nothing that is asked here reads it.
    let spec = |side: &Option<Value>| side.as_ref().map(|side| side["spec"].to_string()).unwrap_or_default();
    let (before, after) = (spec(&pair.live), spec(&pair.predicted));
    let written = format!("{} {} {:?} {before} {after}", pair.api_version, pair.key.kind, part.role);
    if stage.takes(&written, || find().is_empty()) { Vec::new() } else { find() }
}

fn all_refused(stage: &Stage<'_>, part: &ClassPart, pair: &Pair) -> Vec<Refusal> {
    let kind = kind(&pair.key);
    let form = |side: &Value| superset::value(kind, &pair.api_version, side, &stage.versions);
    let moved = |old: &Value, new: &Value| Sides { old: form(old), new: form(new) };
    let state = |gate: &str| stage.gate(gate);
    let admitted = admit(pair, kind, &stage.versions, &moved, &state, &Nobody, Past::Taken);
    let Some((sides, admission)) = admitted else { return Vec::new() };
    let is_own = |path: &Path| {
        let named = |segment: &Segment| matches!(segment, Segment::Key(key) if ONLY_ITS_OWN.contains(&key.as_str()));
        part.role == Role::ControlPlane && path.segments().iter().any(named)
    };
    // A name that only the controller knows stands for itself.
    let is_name = |path: &Path| path.get(&sides.new).is_some_and(|value| value.to_string().contains("builtin:"));
    admission.refusals.into_iter().filter(|refusal| !is_own(&refusal.path) && !is_name(&refusal.path)).collect()
}

/// The object of a part: a template stays one, the others are made of theirs.
fn object(cluster_key: &Key, cluster: &Value, part: &ClassPart, spec: &Value) -> Value {
    let spec = match part.role {
        Role::Rotated => spec.clone(),
        _ => spec.pointer("/template/spec").cloned().unwrap_or_else(|| json!({})),
    };
    let key = key(cluster_key, part);
    let mut object = json!({
        "apiVersion": api_version(part), "kind": key.kind,
        "metadata": {"name": key.name, "namespace": key.namespace}, "spec": spec,
    });
    if part.role == Role::ControlPlane
        && let Some(map) = object.get_mut("spec").and_then(Value::as_object_mut)
    {
        for (field, at) in [("version", "/spec/topology/version"), ("replicas", PLANE_REPLICAS)] {
            if let Some(value) = cluster.pointer(at).filter(|value| !value.is_null()) {
                map.insert(field.to_owned(), value.clone());
            }
        }
        put_machines(map, api_version(part).ends_with("/v1beta1"));
    }
    object
}

/// Puts in what a control plane makes its Machines of, under a name that stands for the controller's own in each cluster.
fn put_machines(spec: &mut Map, is_old: bool) {
    let Some(template) = spec.entry("machineTemplate").or_insert_with(|| json!({})).as_object_mut() else { return };
    let holder = if is_old { Some(template) } else { map_at(template, "spec") };
    if let Some(holder) = holder {
        let mut reference = json!({"kind": "MachineTemplate", "name": "machines"});
        let (field, value) = if is_old {
            ("apiVersion", format!("{INFRASTRUCTURE}/v1beta1"))
        } else {
            ("apiGroup", INFRASTRUCTURE.to_owned())
        };
        reference[field] = Value::from(value);
        holder.insert("infrastructureRef".to_owned(), reference);
    }
}

/// The key of the object of a part, whose name only the controller knows.
fn key(cluster: &Key, part: &ClassPart) -> Key {
    let api_version = api_version(part);
    Key::of(ApiVersion::parse(&api_version).group, kind_of(part), cluster.namespace.clone(), cluster.name.clone())
}

/// The kind of the object of a part.
fn kind_of(part: &ClassPart) -> String {
    let template = text(&part.reference, "/kind").unwrap_or_default();
    if part.role == Role::Rotated { template.to_owned() } else { made_by(template).to_owned() }
}

fn api_version(part: &ClassPart) -> String {
    text(&part.reference, "/apiVersion").unwrap_or_default().to_owned()
}
