//! Ways to find objects of one side other than by their key: by kind, by name, and Machines by owner or cluster.
//! Each is made once, when it is first asked for: a fleet has thousands of owners, and each looks for its own.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value;

use super::{Key, Object};

/// Label of everything that belongs to a cluster (Cluster API `api/core/v1beta2`, ClusterNameLabel).
const CLUSTER: &str = "cluster.x-k8s.io/cluster-name";

/// Places in a list of objects.
type Places = Vec<usize>;

/// The indexes of one list of objects; empty until they are asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    kinds: OnceLock<HashMap<String, Places>>,
    names: OnceLock<HashMap<String, Places>>,
    members: OnceLock<Members>,
}

/// Machines and MachineSets by what they say of themselves.
#[derive(Debug, Clone, Default)]
struct Members {
    /// By kind and name of each owner.
    owned: HashMap<(String, String), Places>,
    /// Those that name no owner at all.
    unowned: Places,
    /// Machines by the cluster of their label.
    clusters: HashMap<String, Places>,
}

impl Index {
    /// Places of the objects of a kind, of whatever group.
    pub(super) fn of_kind(&self, objects: &[Object], kind: &str) -> &[usize] {
        places(self.kinds.get_or_init(|| by(objects, |key| &key.kind)), kind)
    }

    /// Places of the objects with a name, of whatever kind.
    pub(super) fn named(&self, objects: &[Object], name: &str) -> &[usize] {
        places(self.names.get_or_init(|| by(objects, |key| &key.name)), name)
    }

    /// Places of the Machines and MachineSets that name this owner, in whatever namespace.
    pub(super) fn owned_by(&self, objects: &[Object], kind: &str, name: &str) -> &[usize] {
        let owned = &self.members(objects).owned;
        owned.get(&(kind.to_owned(), name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Places of the Machines and MachineSets that name no owner.
    pub(super) fn unowned(&self, objects: &[Object]) -> &[usize] {
        &self.members(objects).unowned
    }

    /// Places of the Machines with the label of a cluster, in whatever namespace.
    pub(super) fn of_cluster(&self, objects: &[Object], cluster: &str) -> &[usize] {
        places(&self.members(objects).clusters, cluster)
    }

    fn members(&self, objects: &[Object]) -> &Members {
        self.members.get_or_init(|| Members::of(objects))
    }
}

/// Places under one word.
fn places<'p>(index: &'p HashMap<String, Places>, word: &str) -> &'p [usize] {
    index.get(word).map_or(&[], Vec::as_slice)
}

/// The places of objects by one part of their keys.
fn by(objects: &[Object], part: impl Fn(&Key) -> &String) -> HashMap<String, Places> {
    let mut index: HashMap<String, Places> = HashMap::new();
    for (place, object) in objects.iter().enumerate() {
        let word = part(&object.key);
        match index.get_mut(word) {
            Some(places) => places.push(place),
            None => drop(index.insert(word.clone(), vec![place])),
        }
    }
    index
}

impl Members {
    /// Reads the owners and clusters of all Machines and MachineSets.
    fn of(objects: &[Object]) -> Self {
        let mut members = Self::default();
        for (place, object) in objects.iter().enumerate() {
            let key = &object.key;
            if key.group != "cluster.x-k8s.io" || !matches!(key.kind.as_str(), "Machine" | "MachineSet") {
                continue;
            }
            let Ok(value) = object.value() else { continue };
            let cluster = value.get("metadata").and_then(|metadata| metadata.get("labels")?.get(CLUSTER)?.as_str());
            if let Some(cluster) = cluster.filter(|_| key.kind == "Machine") {
                members.clusters.entry(cluster.to_owned()).or_default().push(place);
            }
            match value.pointer("/metadata/ownerReferences") {
                Some(owners) => members.add(owners, place),
                None => members.unowned.push(place),
            }
        }
        members
    }

    /// Adds an object under each of its owners, once under each.
    fn add(&mut self, owners: &Value, place: usize) {
        for owner in owners.as_array().into_iter().flatten() {
            let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let places = self.owned.entry((text("kind"), text("name"))).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::object::{Inventory, Object};

    fn names<'o>(objects: impl Iterator<Item = &'o Object>) -> Vec<&'o str> {
        objects.map(|object| object.key.name.as_str()).collect()
    }

    fn machine(name: &str, cluster: &str, owners: serde_json::Value) -> Object {
        let mut metadata = json!({"name": name, "labels": {"cluster.x-k8s.io/cluster-name": cluster}});
        if !owners.is_null() {
            metadata["ownerReferences"] = owners;
        }
        let value = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata});
        Object::from_value(value, 0).expect("an object")
    }

    #[test]
    fn machines_are_found_by_owner_and_cluster() {
        let owner = json!([{"kind": "MachineSet", "name": "s"}, {"kind": "Machine", "name": "s"}, {"kind": "MachineSet", "name": "s"}]);
        let mut objects: Inventory =
            vec![machine("a", "c", owner.clone()), machine("b", "c", json!(null)), machine("d", "e", json!([]))].into();
        assert_eq!(names(objects.owned_by("MachineSet", "s")), ["a"]);
        assert_eq!(names(objects.owned_by("Machine", "s")), ["a"]);
        assert_eq!(names(objects.owned_by("", "")), [""; 0]);
        assert_eq!(names(objects.unowned()), ["b"]);
        assert_eq!(names(objects.machines_of_cluster("c")), ["a", "b"]);
        // What is added later is found too.
        objects.push(machine("f", "c", owner));
        assert_eq!(names(objects.owned_by("MachineSet", "s")), ["a", "f"]);
        assert_eq!(names(objects.of_kind("Machine")), ["a", "b", "d", "f"]);
        assert_eq!(names(objects.named("f")), ["f"]);
    }
}
