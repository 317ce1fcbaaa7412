//! Ways to find objects of one side other than by their key: by kind, by name, and Machines by owner or cluster.
//! Each is made when it is first asked for, and kept current as objects come and go: a fleet has thousands of owners.

use std::sync::OnceLock;

use super::{Key, Object};
use crate::contract::{CLUSTER_NAME, CORE, MACHINE, MACHINE_SET};
use crate::hashed::HashMap;
use crate::tree::Value;

/// Positions in a list of objects, in order.
type Positions = Vec<usize>;

/// Puts a place where it belongs.
fn add(places: &mut Positions, place: usize) {
    if let Err(at) = places.binary_search(&place) {
        places.insert(at, place);
    }
}

/// Takes a place out.
fn taken(places: &mut Positions, place: usize) {
    if let Ok(at) = places.binary_search(&place) {
        places.remove(at);
    }
}

/// Puts another place in the place of one.
fn moved(places: &mut Positions, from: usize, to: usize) {
    taken(places, from);
    add(places, to);
}

/// What becomes of one object of the list.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// It came, at the end or in the place of another one.
    Came(usize),
    /// It goes.
    Goes(usize),
    /// It stands elsewhere now.
    Moved(usize, usize),
}

impl Event {
    fn apply(self, places: &mut Positions) {
        match self {
            Self::Came(place) => add(places, place),
            Self::Goes(place) => taken(places, place),
            Self::Moved(from, to) => moved(places, from, to),
        }
    }
}

/// The indexes of one list of objects; empty until they are asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    kinds: OnceLock<HashMap<String, Positions>>,
    names: OnceLock<HashMap<String, Positions>>,
    members: OnceLock<Members>,
}

/// Machines and MachineSets by what they say of themselves.
#[derive(Debug, Clone, Default)]
struct Members {
    /// By kind and name of each owner.
    owned: HashMap<(String, String), Positions>,
    /// Those that name no owner at all.
    unowned: Positions,
    /// Machines by the cluster of their label.
    clusters: HashMap<String, Positions>,
}

impl Index {
    /// Positions of the objects of a kind, of whatever group.
    pub(super) fn of_kind(&self, objects: &[Object], kind: &str) -> &[usize] {
        places(self.kinds.get_or_init(|| by(objects, |key| &key.kind)), kind)
    }

    /// Positions of the objects with a name, of whatever kind.
    pub(super) fn named(&self, objects: &[Object], name: &str) -> &[usize] {
        places(self.names.get_or_init(|| by(objects, |key| &key.name)), name)
    }

    /// Positions of the Machines and MachineSets that name this owner, in whatever namespace.
    pub(super) fn owned_by(&self, objects: &[Object], kind: &str, name: &str) -> &[usize] {
        let owned = &self.members(objects).owned;
        owned.get(&(kind.to_owned(), name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Positions of the Machines and MachineSets that name no owner.
    pub(super) fn unowned(&self, objects: &[Object]) -> &[usize] {
        &self.members(objects).unowned
    }

    /// Positions of the Machines with the label of a cluster, in whatever namespace.
    pub(super) fn of_cluster(&self, objects: &[Object], cluster: &str) -> &[usize] {
        places(&self.members(objects).clusters, cluster)
    }

    fn members(&self, objects: &[Object]) -> &Members {
        self.members.get_or_init(|| Members::of(objects))
    }

    /// Takes over what becomes of an object, as far as the indexes are made.
    pub(super) fn note(&mut self, object: &Object, event: Event) {
        if let Some(kinds) = self.kinds.get_mut() {
            at(kinds, object.key.kind.clone(), event);
        }
        if let Some(names) = self.names.get_mut() {
            at(names, object.key.name.clone(), event);
        }
        if let Some(members) = self.members.get_mut() {
            members.note(object, event);
        }
    }
}

/// Changes the places under one word; a word without any place is forgotten.
fn at<K: std::hash::Hash + Eq>(index: &mut HashMap<K, Positions>, word: K, event: Event) {
    let mut places = index.remove(&word).unwrap_or_default();
    event.apply(&mut places);
    if !places.is_empty() {
        index.insert(word, places);
    }
}

/// Positions under one word.
fn places<'p>(index: &'p HashMap<String, Positions>, word: &str) -> &'p [usize] {
    index.get(word).map_or(&[], Vec::as_slice)
}

/// The places of objects by one part of their keys.
fn by(objects: &[Object], part: impl Fn(&Key) -> &String) -> HashMap<String, Positions> {
    let mut index: HashMap<String, Positions> = HashMap::default();
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
            members.note(object, Event::Came(place));
        }
        members
    }

    /// Takes over what becomes of an object: under each of its owners, and under its cluster.
    fn note(&mut self, object: &Object, event: Event) {
        let key = &object.key;
        if key.group != CORE || !matches!(key.kind.as_str(), MACHINE | MACHINE_SET) {
            return;
        }
        let Ok(value) = object.value() else { return };
        let cluster = value.get("metadata").and_then(|metadata| metadata.get("labels")?.get(CLUSTER_NAME)?.as_str());
        if let Some(cluster) = cluster.filter(|_| key.kind == MACHINE) {
            at(&mut self.clusters, cluster.to_owned(), event);
        }
        let Some(owners) = value.pointer("/metadata/ownerReferences") else {
            return event.apply(&mut self.unowned);
        };
        for owner in owners.as_array().into_iter().flatten() {
            let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            at(&mut self.owned, (text("kind"), text("name")), event);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::object::{Inventory, Object};
    use crate::tree::json;

    fn names<'o>(objects: impl Iterator<Item = &'o Object>) -> Vec<&'o str> {
        objects.map(|object| object.key.name.as_str()).collect()
    }

    fn machine(name: &str, cluster: &str, owners: crate::tree::Value) -> Object {
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

    /// What happens to an inventory.
    type Step = Box<dyn Fn(&mut Inventory)>;

    /// Everything that an inventory answers, as text.
    fn answers(objects: &Inventory) -> Vec<String> {
        let sorted = |found: Vec<&str>| {
            let mut found: Vec<&str> = found;
            found.sort_unstable();
            found.join(" ")
        };
        let mut out = vec![sorted(names(objects.unowned()))];
        for word in ["s", "t", "c", "e"] {
            out.push(sorted(names(objects.owned_by("MachineSet", word))));
            out.push(sorted(names(objects.machines_of_cluster(word))));
        }
        for kind in ["Machine", "Cluster", "MachineDeployment"] {
            out.push(sorted(names(objects.of_kind(kind))));
        }
        out
    }

    fn cluster(name: &str, class: &str) -> Object {
        let spec = json!({"topology": {"class": class}, "controlPlaneRef": {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane", "name": "cp"}});
        let value = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": name}, "spec": spec});
        Object::from_value(value, 0).expect("an object")
    }

    fn workers(name: &str, cluster: &str, template: &str) -> Object {
        let reference = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DockerMachineTemplate", "name": template});
        let spec = json!({"clusterName": cluster, "template": {"spec": {"infrastructureRef": reference}}});
        let value = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": {"name": name}, "spec": spec});
        Object::from_value(value, 0).expect("an object")
    }

    #[test]
    fn an_inventory_that_lives_on_answers_as_one_that_is_made_anew() {
        fn owner(name: &str) -> crate::tree::Value {
            json!([{"kind": "MachineSet", "name": name}])
        }
        let mut kept = Inventory::default();
        // Every index is made while nothing is there.
        answers(&kept);
        let steps: [Step; 12] = [
            Box::new(|all| drop(all.insert(machine("a", "c", owner("s"))))),
            Box::new(|all| drop(all.insert(machine("b", "c", json!(null))))),
            Box::new(|all| drop(all.insert(cluster("one", "k")))),
            Box::new(|all| drop(all.insert(workers("md", "c", "t")))),
            Box::new(|all| drop(all.insert(machine("a", "e", owner("t"))))),
            Box::new(|all| drop(all.insert(workers("md", "e", "s")))),
            Box::new(|all| drop(all.insert(workers("md-2", "e", "t")))),
            Box::new(|all| drop(all.remove(&machine("a", "e", json!(null)).key))),
            Box::new(|all| drop(all.insert(cluster("two", "k")))),
            Box::new(|all| drop(all.insert(cluster("one", "e")))),
            Box::new(|all| drop(all.remove(&workers("md", "e", "s").key))),
            Box::new(|all| assert!(all.remove(&workers("gone", "e", "s").key).is_none())),
        ];
        for step in steps {
            step(&mut kept);
            let fresh = Inventory::from(kept.objects().to_vec());
            assert_eq!(answers(&kept), answers(&fresh));
            assert!(kept.objects().iter().all(|object| kept.get(&object.key).is_some()));
        }
        assert_eq!(kept.len(), 4);
    }
}
