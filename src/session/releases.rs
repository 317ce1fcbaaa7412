//! Whose history is asked for: the releases that owners of Machines, their Clusters and their classes say they belong to.

use std::collections::{BTreeMap, BTreeSet};

use super::{Setup, Stop, is_called, runtime};
use crate::cluster::{Cluster, Recorded};
use crate::host::detect::release_of;
use crate::kinds::Role;
use crate::kinds::contract::{CLUSTER_NAME, MACHINE};
use crate::kinds::fields::{label, text};
use crate::object::Object;
use crate::providers::kind;
use crate::tree::Value;
use crate::world::World;

/// Label of Flux: where the HelmRelease is, and its record where nothing else is said.
const OF_FLUX: &str = "helm.toolkit.fluxcd.io/namespace";

/// A Cluster by its namespace and name.
pub(crate) type ClusterId = (Option<String>, String);

/// Reads the histories of the releases that have to do with what is asked about, or of all, into a World.
///
/// # Errors
/// When there is no runtime to read with; what the cluster does not answer is a doubt of the history.
pub(crate) fn histories(world: &mut World, cluster: &Cluster, about: Option<&str>, setup: &Setup) -> Result<(), Stop> {
    let releases = of(world, about, setup.storage_namespace.as_deref());
    world.histories = runtime()?.block_on(cluster.histories(&releases, setup.deadline));
    Ok(())
}

/// The releases of the owners of Machines in a World that have to do with what is asked about, those of the Cluster with the
/// newest Machine first.
fn of(world: &World, about: Option<&str>, told: Option<&str>) -> Vec<Recorded> {
    let mut newest: BTreeMap<ClusterId, String> = BTreeMap::new();
    for machine in world.live.of_kind(MACHINE) {
        let Ok(value) = machine.value() else { continue };
        let (Some(place), Some(made)) = (place(machine, &value), text(&value, "/metadata/creationTimestamp")) else {
            continue;
        };
        let time = newest.entry(place).or_default();
        if time.as_str() < made {
            made.clone_into(time);
        }
    }
    let asked: Option<BTreeSet<ClusterId>> = about.map(|about| {
        let called = world.live.objects().iter().filter(|object| is_called(&object.key, about));
        called.filter_map(|object| place(object, object.value().ok()?.as_ref())).collect()
    });
    let mut found: Vec<(bool, std::cmp::Reverse<String>, Recorded)> = Vec::new();
    for object in world.live.objects() {
        let role = kind(&object.key).role;
        let Ok(value) = object.value() else { continue };
        let of = place(object, &value);
        let is_asked =
            asked.as_ref().is_none_or(|asked| role == Role::Class || of.as_ref().is_some_and(|of| asked.contains(of)));
        let is_owner = role.owns_machines() || matches!(role, Role::Cluster | Role::Class);
        if let Some(name) = release_of(&value).filter(|_| is_owner && is_asked) {
            let places = [told, Some(name.namespace.as_str()), label(&value, OF_FLUX)];
            let mut all: Vec<String> = Vec::new();
            for namespace in places.into_iter().flatten().map(str::to_owned) {
                if !all.contains(&namespace) {
                    all.push(namespace);
                }
            }
            let time = of.and_then(|of| newest.get(&of).cloned()).unwrap_or_default();
            found.push((role == Role::Class, std::cmp::Reverse(time), Recorded { name, places: all }));
        }
    }
    found.sort();
    let mut out: Vec<Recorded> = Vec::new();
    for (_, _, release) in found {
        match out.iter_mut().find(|one| one.name == release.name) {
            // Not every object of a release says where Flux keeps its record.
            Some(known) => release.places.into_iter().for_each(|place| {
                if !known.places.contains(&place) {
                    known.places.push(place);
                }
            }),
            None => out.push(release),
        }
    }
    out
}

/// The Cluster that an object is or belongs to.
#[must_use]
pub(crate) fn place(object: &Object, value: &Value) -> Option<ClusterId> {
    let name = match kind(&object.key).role {
        Role::Cluster => Some(object.key.name.as_str()),
        _ => label(value, CLUSTER_NAME).or_else(|| text(value, "/spec/clusterName")),
    };
    let owner = || {
        let mut all = value.pointer("/metadata/ownerReferences")?.as_array()?.iter();
        all.find(|one| one.get("kind").and_then(Value::as_str).is_some_and(is_cluster))?.get("name")?.as_str()
    };
    Some((object.key.namespace.clone(), name.or_else(owner)?.to_owned()))
}

fn is_cluster(kind: &str) -> bool {
    kind == crate::kinds::contract::CLUSTER
}
