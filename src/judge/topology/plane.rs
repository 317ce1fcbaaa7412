//! A control plane that was read, as the topology controller changes it: its own controller compares each Machine with what stands in it,
//! not with what the class says.
//! Read beside `core/reconcilers/topology/cluster/reconcile_state.go` (reconcileControlPlane) of Cluster API 1.14.

use super::blueprint::ClassPart;
use super::forecast::{PLANE_REPLICAS, normal_spec};
use super::weight::owner;
use crate::apiserver::admission::Sides;
use crate::judge::stage::Stage;
use crate::kinds::contract::made_by;
use crate::kinds::diff;
use crate::kinds::fields::{number, text};
use crate::object::{Key, Path, Segment};
use crate::providers::kind;
use crate::tree::{Value, json};

/// The control plane of a Cluster before and after what its class makes of it becomes something else. `None` where it was not read, or
/// holds something else than the class said: then nobody knows what the controller leaves of that.
pub(super) fn in_use(
    stage: &Stage<'_>,
    (cluster_key, cluster, new_cluster): (&Key, &Value, &Value),
    part: &ClassPart,
    (before, after): (&Value, &Value),
) -> Option<(Key, Sides)> {
    let key = owner(stage, cluster_key, cluster, part.group.word, &part.group.name);
    let template = text(&part.reference, "/kind")?;
    let mut old = Value::clone(&*stage.before(&key)?);
    if key.kind != made_by(template) {
        return None;
    }
    if let Some(mirror) = kind(&key).mirror {
        mirror.fill_in(&mut old, &stage.versions);
    }
    // It is in the superset form already.
    let version = format!("{}/v1beta2", key.group);
    let have = normal_spec(stage, (template, &version), part.role, &json!({"template": {"spec": old.get("spec")}}));
    let mut new = old.clone();
    for place in diff::places(Some(before), Some(after), &Path::root()).iter().map(diff::above_lists) {
        let said = place.get(after);
        if place.get(&have) != place.get(before) || said.is_some_and(|said| said.to_string().contains("builtin:")) {
            return None;
        }
        put(&mut new, &below_template(&place)?, said)?;
    }
    // Both are written in one patch.
    let replicas = number(new_cluster, PLANE_REPLICAS).filter(|is| number(cluster, PLANE_REPLICAS) != Some(*is));
    if let Some(replicas) = replicas {
        put(&mut new, &Path::root().key("spec").key("replicas"), Some(&json!(replicas)))?;
    }
    Some((key, Sides { old, new }))
}

/// A place in the spec of a template of control planes, as it stands in what is made of that.
fn below_template(place: &Path) -> Option<Path> {
    match place.segments() {
        [Segment::Key(template), rest @ ..] if template == "template" && !rest.is_empty() => {
            Some(Path::from(rest.to_vec()))
        }
        _ => None,
    }
}

/// Puts a value at a place of keys, or takes away what stands there; `None` where something else than a map is in its way.
fn put(value: &mut Value, place: &Path, said: Option<&Value>) -> Option<()> {
    let (Segment::Key(last), around) = place.segments().split_last()? else { return None };
    let mut at = value;
    for segment in around {
        let Segment::Key(key) = segment else { return None };
        at = at.as_object_mut()?.entry(key.clone()).or_insert_with(|| json!({}));
    }
    let map = at.as_object_mut()?;
    match said {
        Some(said) => drop(map.insert(last.clone(), said.clone())),
        None => drop(map.shift_remove(last)),
    }
    Some(())
}
