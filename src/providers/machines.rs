//! The Machines of an owner: those that were read, with their bootstrap configs and infrastructure.
//! Everything is handed on in the superset form, so that mirrors see one shape.

use super::kind;
use crate::kinds::contract::{MACHINE, OF_CONTROL_PLANE};
use crate::kinds::fields::{label, target};
use crate::kinds::versions::Versions;
use crate::kinds::{Role, Typed, superset};
use crate::model::Member;
use crate::object::{Key, Object, View};
use crate::tree::Value;

/// The object in the superset form, whatever version it was read in.
#[must_use]
pub(crate) fn read(object: &Object, versions: &Versions) -> Option<Value> {
    let known = kind(&object.key);
    let read = |value: &Value| superset::value(known, &object.api_version, value, versions);
    match superset::is_of_versions(known) {
        true => object.value().ok().map(|value| read(&value)),
        false => object.form(read).ok(),
    }
}

/// Names of the Machines of an owner, where they were read.
#[must_use]
pub(crate) fn names(live: &dyn View, owner: &Typed<'_>, cluster: &str, versions: &Versions) -> Vec<String> {
    if let Some(names) = owner.known.mirror.and_then(|mirror| mirror.machine_names(live, owner, versions)) {
        return names;
    }
    match owner.known.role {
        Role::Machine => vec![owner.name.clone()],
        Role::Set => {
            let own = live.owned_by(owner).filter(|object| kind(&object.key).role == Role::Machine);
            own.map(|object| object.key.name.clone()).collect()
        }
        _ => of_control_plane(live, owner, cluster, versions).into_iter().map(|member| member.name).collect(),
    }
}

/// The Machines of a control plane.
#[must_use]
pub(crate) fn of_control_plane(live: &dyn View, owner: &Key, cluster: &str, versions: &Versions) -> Vec<Member> {
    let by_label = |object: &&Object| {
        object.value().is_ok_and(|raw| {
            raw.pointer("/metadata/ownerReferences").is_none() && label(&raw, OF_CONTROL_PLANE).is_some()
        })
    };
    let all = live.machines_of_cluster(cluster, owner.namespace.as_deref());
    let labelled = all.filter(|_| !cluster.is_empty()).filter(by_label);
    let ours = live.owned_by(owner).filter(|object| object.key.kind == MACHINE).chain(labelled);
    ours.filter_map(|object| Some(member(live, object, read(object, versions)?, versions))).collect()
}

/// A Machine with what it refers to.
fn member(live: &dyn View, object: &Object, machine: Value, versions: &Versions) -> Member {
    let namespace = object.key.namespace.as_deref();
    let config =
        machine.pointer("/spec/bootstrap/configRef").and_then(|reference| follow(live, reference, namespace, versions));
    let infra =
        machine.pointer("/spec/infrastructureRef").and_then(|reference| follow(live, reference, namespace, versions));
    Member { name: object.key.name.clone(), machine, config, infra }
}

/// The live object behind a reference of either shape.
#[must_use]
pub(crate) fn follow(
    live: &dyn View,
    reference: &Value,
    namespace: Option<&str>,
    versions: &Versions,
) -> Option<Value> {
    let key = target(reference, namespace)?;
    let anywhere = key.in_namespace(None);
    read(live.get(&key).object().or_else(|| live.get(&anywhere).object())?, versions)
}
