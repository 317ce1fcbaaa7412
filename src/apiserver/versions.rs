//! What a manager owns of an object, said in another version of the object. The API server brings the whole object into the version of
//! each entry of `managedFields` and looks there (structured-merge-diff v6 `merge/update.go`, `prune`, `update`); here the entry is
//! brought into the version that is written.

use super::apply::{Applier, is_mine, sent_fields};
use super::fields::{FieldSet, Ownership, owners};
use super::place::{Merging, Place};
use crate::object::Path;
use crate::schema;
use crate::tree::{List, Map, Value};

/// The version in which something is written, and what is known of the objects in either.
pub(crate) struct Versions<'a> {
    /// What the API server holds, in the version that is written.
    pub(crate) live: &'a Value,
    /// What is written.
    pub(crate) rendered: &'a Value,
    /// What was written last: references of an old version say their own version only there.
    pub(crate) last: Option<&'a Value>,
}

impl Versions<'_> {
    /// An entry with its places as the written version names them; one of a kind of which that is not known keeps its own.
    pub(crate) fn entry(&self, entry: Ownership) -> Ownership {
        let text = |key: &str| self.rendered.get(key).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        if entry.api_version.is_empty() || entry.api_version == version {
            return entry;
        }
        let entry = Ownership { is_converted: converts(&entry, self.rendered), ..entry };
        let place = Place::Root(schema::builtin(&entry.api_version, kind));
        let owned = self.theirs(&entry).and_then(|theirs| part(&theirs, &entry.fields, place));
        let Some(owned) = owned.map(|owned| self.back(&entry, owned)) else { return entry };
        let fields = sent_fields(&owned, Place::Root(schema::builtin(version, kind)));
        Ownership { fields, api_version: version.to_owned(), ..entry }
    }

    /// The maps of which an entry of another version owns parts, none of which is there: what the written version leaves out where it is
    /// empty. The API server keeps such a map, which is null once all else in it goes (structured-merge-diff v6 `merge/update.go`,
    /// `addBackOwnedItemsForVersion`: what is managed is filled up with the maps above it), unless the other version leaves it out too.
    pub(crate) fn hollow(&self, entry: &Ownership) -> Vec<Path> {
        let mut out = Vec::new();
        if converts(entry, self.rendered) {
            let maps = match self.theirs(entry) {
                Some(theirs) => hollow(&theirs, &entry.fields).map(|maps| self.back(entry, maps)),
                // Most fields of a kind of which that is not known stand in the same places.
                None => hollow(self.live, &entry.fields),
            };
            maps.iter().for_each(|maps| empty_maps(maps, &Path::root(), &mut out));
        }
        out
    }

    /// The object in the version of an entry; `None` where that is not known.
    fn theirs(&self, entry: &Ownership) -> Option<Value> {
        let last = self.last.filter(|last| last.get("apiVersion").and_then(Value::as_str) == Some(&entry.api_version));
        let mut theirs = self.live.clone();
        theirs["apiVersion"] = self.rendered.get("apiVersion").cloned().unwrap_or_default();
        schema::reshape(&mut theirs, last.unwrap_or(&self.bare(&entry.api_version))).then_some(theirs)
    }

    /// A part of the object in the version of an entry, brought into the one that is written.
    fn back(&self, entry: &Ownership, mut part: Value) -> Value {
        if let (Some(part), Some(bare)) = (part.as_object_mut(), self.bare(&entry.api_version).as_object()) {
            part.extend(bare.clone());
        }
        schema::reshape(&mut part, self.rendered);
        if let Some(part) = part.as_object_mut() {
            part.shift_remove("apiVersion");
            part.shift_remove("kind");
        }
        part
    }

    /// An object of the kind that says its version and nothing else.
    fn bare(&self, version: &str) -> Value {
        let kind = self.rendered.get("kind").and_then(Value::as_str).unwrap_or_default();
        Value::from_iter([("apiVersion", version), ("kind", kind)])
    }
}

/// Whether an apply that takes fields back goes through another version of the object, whose types do not keep what is null: the API server
/// brings the object into the version of each other manager, and into that in which this one applied before (structured-merge-diff v6
/// `merge/update.go`, `prune`, `addBackOwnedItems`). Where this manager has applied nothing yet, nothing is taken back.
pub(crate) fn goes_through_another(live: &Value, rendered: &Value, applier: Applier<'_>) -> bool {
    let entries = owners(live);
    entries.iter().any(|entry| is_mine(entry, applier)) && entries.iter().any(|entry| converts(entry, rendered))
}

/// Whether this manager applied last in another version of the object than it does now: what is merged goes into that version, loses what is
/// no longer applied, and comes back as the result (structured-merge-diff v6 `merge/update.go`, `prune`, `addBackDanglingItems`), so that it is
/// what comes back from there (`host/stored.rs`). What others own in an older version is looked up there as a set alone and leaves the order as it is;
/// seen with Kubernetes 1.34.
///
/// Updates that the host makes its own before it applies keep their version, that of the first one (client-go `util/csaupgrade`,
/// `upgradeManagedFields`); those of kubectl become its own only after the first apply.
pub(crate) fn comes_from_another(live: &Value, rendered: &Value, applier: Applier<'_>) -> bool {
    let own = |entry: &&Ownership| entry.manager == applier.manager && entry.subresource.is_empty();
    let entries = owners(live);
    let mut mine = entries.iter().filter(own);
    let applied = mine.clone().find(|entry| entry.operation == "Apply");
    applied.or_else(|| mine.next().filter(|_| applier.adopts_updates)).is_some_and(|entry| converts(entry, rendered))
}

/// Whether an object is converted between the version of an entry and the one that is written: by a webhook, which nobody can do without where
/// the versions have other fields.
fn converts(entry: &Ownership, rendered: &Value) -> bool {
    let text = |key: &str| rendered.get(key).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let bare = |version: &str| Value::from_iter([("apiVersion", version), ("kind", kind)]);
    !entry.api_version.is_empty()
        && (schema::reshape(&mut bare(&entry.api_version), &bare(version))
            || schema::differ(&entry.api_version, version, kind))
}

/// The maps of which a set owns parts, none of which is there, each without what is in it; `None` where there is none.
fn hollow(value: &Value, owned: &FieldSet) -> Option<Value> {
    let map = value.as_object()?;
    let mut maps = Map::new();
    let mut is_there = owned.below.is_empty();
    for (step, owned) in &owned.below {
        let Some((key, inner)) = step.field().and_then(|key| Some((key, map.get(key)?))) else { continue };
        is_there = true;
        if let Some(below) = hollow(inner, owned) {
            maps.insert(key, below);
        }
    }
    (!maps.is_empty() || !is_there && !map.is_empty()).then_some(Value::Object(maps))
}

/// Where maps without anything in them stand.
fn empty_maps(value: &Value, at: &Path, out: &mut Vec<Path>) {
    let Some(map) = value.as_object() else { return };
    if map.is_empty() {
        out.push(at.clone());
    }
    map.iter().for_each(|(key, below)| empty_maps(below, &at.key(key.as_str()), out));
}

/// The part of a value that a set owns; `None` where that is nothing.
fn part(value: &Value, owned: &FieldSet, place: Place<'_>) -> Option<Value> {
    match value {
        // Who owns a map or a list as such, which `.` says, owns nothing in it, unless it is one thing with all that is in it.
        _ if owned.below.is_empty() => owned.owned.then(|| match place.merging(value) {
            Merging::Granular => Value::Object(Map::new()),
            Merging::Items(_) => Value::Array(List::default()),
            Merging::Whole => value.clone(),
        }),
        Value::Object(map) => {
            let mut parts = Map::new();
            for (step, owned) in &owned.below {
                if let Some(key) = step.field()
                    && let Some(part) = map.get(key).and_then(|value| part(value, owned, place.field(key)))
                {
                    parts.insert(key, part);
                }
            }
            (owned.owned || !parts.is_empty()).then_some(Value::Object(parts))
        }
        Value::Array(items) => {
            let Merging::Items(how) = place.merging(&Value::Array(List::default())) else {
                return owned.owned.then(|| value.clone());
            };
            let items = items.iter().filter_map(|item| {
                let step = place.step_to(&how, item);
                owned.below.get(&step).and_then(|owned| part(item, owned, place.item()))
            });
            let items: Vec<Value> = items.collect();
            (owned.owned || !items.is_empty()).then(|| Value::Array(items.into()))
        }
        _ => owned.owned.then(|| value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn what_is_owned_is_named_as_the_written_version_names_it() {
        let live = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
            "metadata": {"name": "md", "managedFields": [{"manager": "helm", "operation": "Apply",
                "apiVersion": "cluster.x-k8s.io/v1beta1", "fieldsV1": {"f:spec": {"f:replicas": {}, "f:strategy": {"f:type": {}}}}}]},
            "spec": {"replicas": 2, "rollout": {"strategy": {"type": "OnDelete"}}}});
        let rendered = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "spec": {}});
        let versions = Versions { live: &live, rendered: &rendered, last: None };
        let entry = versions.entry(owners(&live).remove(0));
        let meant = json!({"f:spec": {"f:replicas": {}, "f:rollout": {"f:strategy": {"f:type": {}}}}});
        assert_eq!((entry.fields, entry.api_version.as_str()), (FieldSet::read(&meant), "cluster.x-k8s.io/v1beta2"));
    }

    #[test]
    fn versions_with_other_fields_are_converted_and_equal_ones_are_not() {
        let differ = |group: &str, kind: &str, one: &str, other: &str| {
            schema::differ(&format!("{group}/{one}"), &format!("{group}/{other}"), kind)
        };
        assert!(differ("infrastructure.cluster.x-k8s.io", "DevMachineTemplate", "v1beta1", "v1beta2"));
        assert!(differ("addons.cluster.x-k8s.io", "ClusterResourceSet", "v1beta1", "v1beta2"));
        assert!(!differ("infrastructure.cluster.x-k8s.io", "AzureASOManagedCluster", "v1alpha1", "v1beta1"));
        assert!(!differ("infrastructure.cluster.x-k8s.io", "DevMachineTemplate", "v1beta2", "v1beta2"));
        assert!(!differ("infrastructure.cluster.x-k8s.io", "AcmeMachine", "v1beta1", "v1beta2"));
    }

    #[test]
    fn who_owns_a_map_as_such_owns_nothing_in_it() {
        let live = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
            "metadata": {"name": "md", "annotations": {"team": "red"}, "managedFields": [{"manager": "kubectl-edit", "operation": "Update",
                "apiVersion": "cluster.x-k8s.io/v1beta1", "fieldsV1": {"f:metadata": {"f:annotations": {".": {}}}, "f:spec": {"f:strategy": {".": {}}}}}]},
            "spec": {"replicas": 2, "rollout": {"strategy": {"type": "OnDelete"}}}});
        let versions = Versions { live: &live, rendered: &live, last: None };
        let entry = versions.entry(owners(&live).remove(0));
        let meant =
            json!({"f:metadata": {"f:annotations": {".": {}}}, "f:spec": {"f:rollout": {"f:strategy": {".": {}}}}});
        assert_eq!((entry.fields, entry.api_version.as_str()), (FieldSet::read(&meant), "cluster.x-k8s.io/v1beta2"));
    }

    #[test]
    fn a_map_of_which_somebody_owns_what_is_left_out_is_hollow() {
        let live = |balancer: Value| {
            json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevCluster",
            "metadata": {"managedFields": [{"manager": "kubectl-replace", "operation": "Update",
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
                "fieldsV1": {"f:spec": {"f:backend": {"f:docker": {"f:loadBalancer": {"f:imageTag": {}}}}}}}]},
            "spec": {"backend": {"docker": {"loadBalancer": balancer}}}})
        };
        let rendered = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevCluster"});
        let hollow = |live: &Value| {
            let versions = Versions { live, rendered: &rendered, last: None };
            versions.hollow(&owners(live)[0]).iter().map(Path::to_string).collect::<Vec<_>>()
        };
        assert_eq!(hollow(&live(json!({"imageRepository": "a"}))), ["spec.backend.docker.loadBalancer"]);
        assert_eq!(hollow(&live(json!({"imageRepository": "a", "imageTag": "b"}))), [""; 0]);
        assert_eq!(hollow(&live(json!({}))), [""; 0], "what has nothing in it loses nothing");
        let mut same = live(json!({"imageRepository": "a"}));
        *same.pointer_mut("/metadata/managedFields/0/apiVersion").expect("a version") = rendered["apiVersion"].clone();
        assert_eq!(hollow(&same), [""; 0], "nothing is converted");
    }

    #[test]
    fn the_same_version_and_kinds_that_nobody_knows_keep_their_names() {
        let live = json!({"apiVersion": "example.org/v2", "kind": "X", "metadata": {"managedFields": [
            {"manager": "helm", "operation": "Apply", "apiVersion": "example.org/v1", "fieldsV1": {"f:spec": {"f:a": {}}}}]}});
        let versions = Versions { live: &live, rendered: &live, last: None };
        let entry = owners(&live).remove(0);
        let same = versions.entry(entry.clone());
        assert_eq!((same.fields, same.is_converted), (entry.fields, false));
    }
}
