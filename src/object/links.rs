//! What one object says of others, by kind and name: what it refers to, its cluster, its control plane, its class. An
//! inventory that lives on keeps account of it as objects come and go; nobody reads them all again for one that changed.

use std::collections::HashMap;

use serde_json::Value;

use super::index::{Event, Places, at};
use super::{Key, Object};

/// Kinds that own Machines or stand between an owner and its Machines.
const REFERRERS: &[&str] = &[
    "Cluster",
    "ClusterClass",
    "ClusterResourceSet",
    "KubeadmConfigTemplate",
    "KubeadmControlPlane",
    "KubeadmControlPlaneTemplate",
    "MachineDeployment",
    "MachineHealthCheck",
    "MachinePool",
    "MachineSet",
    "Metal3MachineTemplate",
    "RKE2ConfigTemplate",
    "RKE2ControlPlane",
    "RKE2ControlPlaneTemplate",
];

/// Whether objects of a key's kind can refer to something that matters to Machines.
#[must_use]
pub fn can_refer(key: &Key) -> bool {
    REFERRERS.contains(&key.kind.as_str())
        || (key.group == "infrastructure.cluster.x-k8s.io" && !key.kind.ends_with("Machine"))
        || key.group == "controlplane.cluster.x-k8s.io"
}

/// Whether objects of a key's kind own Machines.
#[must_use]
pub fn owns_machines(key: &Key) -> bool {
    matches!(key.kind.as_str(), "MachineDeployment" | "MachinePool")
        || (key.group == "controlplane.cluster.x-k8s.io" && !key.kind.ends_with("Template"))
}

fn text<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    let found = keys.iter().try_fold(value, |value, key| value.get(key))?;
    found.as_str().filter(|text| !text.is_empty())
}

/// The name of the Cluster that an owner of Machines says it belongs to, in whichever version it is written.
#[must_use]
pub fn cluster_name(owner: &Value) -> Option<&str> {
    let by_owner = || {
        let owners = owner.get("metadata")?.get("ownerReferences")?.as_array()?;
        text(owners.iter().find(|reference| text(reference, &["kind"]) == Some("Cluster"))?, &["name"])
    };
    text(owner, &["spec", "clusterName"])
        .or_else(|| text(owner, &["metadata", "labels", "cluster.x-k8s.io/cluster-name"]))
        .or_else(by_owner)
}

/// Kind and name of the control plane that a Cluster names.
#[must_use]
pub fn control_plane(cluster: &Value) -> Option<(&str, &str)> {
    Some((text(cluster, &["spec", "controlPlaneRef", "kind"])?, text(cluster, &["spec", "controlPlaneRef", "name"])?))
}

/// Name of the class that a Cluster has: `classRef.name`, and `class` up to v1beta1.
#[must_use]
pub fn class_name(cluster: &Value) -> Option<&str> {
    text(cluster, &["spec", "topology", "classRef", "name"]).or_else(|| text(cluster, &["spec", "topology", "class"]))
}

/// Hands on the kind and name of everything that a tree refers to.
pub fn references_in(value: &Value, add: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Object(map) => {
            let (kind, name) = (text(value, &["kind"]), text(value, &["name"]));
            if let (Some(kind), Some(name)) = (kind, name) {
                let has_group = text(value, &["apiGroup"]).or_else(|| text(value, &["apiVersion"])).is_some();
                if has_group && !map.contains_key("metadata") || matches!(kind, "Secret" | "ConfigMap") {
                    add(kind, name);
                }
            }
            for (key, child) in map {
                let named = text(child, &["name"]).or_else(|| child.as_str());
                if let (Some(name), None) = (named, text(child, &["kind"])) {
                    kinds_by_field(key).iter().for_each(|kind| add(kind, name));
                }
            }
            map.values().for_each(|child| references_in(child, add));
        }
        Value::Array(list) => list.iter().for_each(|child| references_in(child, add)),
        _ => {}
    }
}

/// The kinds that a field without a kind of its own can mean, by its name.
fn kinds_by_field(field: &str) -> &'static [&'static str] {
    let lower = field.to_ascii_lowercase();
    if lower == "identityref" || lower == "cloudssecret" || (lower.contains("secret") && !lower.contains("key")) {
        &["Secret"]
    } else if lower.contains("configmap") {
        &["ConfigMap"]
    } else if lower == "resolvconf" {
        &["Secret", "ConfigMap"]
    } else if lower == "datatemplate" {
        &["Metal3DataTemplate"]
    } else {
        &[]
    }
}

/// Kind and name.
type Named = (String, String);

/// Everything that one object says of others.
#[derive(Debug, Default)]
struct Said {
    refers: Vec<Named>,
    control_plane: Option<Named>,
    cluster: Option<String>,
    class: Option<String>,
}

impl Said {
    fn of(key: &Key, value: &Value) -> Self {
        let mut said = Self::default();
        if can_refer(key) {
            references_in(value, &mut |kind, name| said.refers.push((kind.to_owned(), name.to_owned())));
            said.refers.sort_unstable();
            said.refers.dedup();
        }
        if key.kind == "Cluster" {
            said.control_plane = control_plane(value).map(|(kind, name)| (kind.to_owned(), name.to_owned()));
            said.class = class_name(value).map(str::to_owned);
        }
        if owns_machines(key) {
            said.cluster = cluster_name(value).map(str::to_owned);
        }
        said
    }
}

/// Where the objects stand that say something of others.
#[derive(Debug, Clone, Default)]
pub struct Links {
    referrers: HashMap<Named, Places>,
    naming: HashMap<Named, Places>,
    owners: HashMap<String, Places>,
    members: HashMap<String, Places>,
}

impl Links {
    /// Places of those that refer to a kind and name.
    pub fn referrers(&self, kind: &str, name: &str) -> &[usize] {
        self.referrers.get(&(kind.to_owned(), name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Places of the Clusters that name a control plane.
    pub fn clusters_naming(&self, kind: &str, name: &str) -> &[usize] {
        self.naming.get(&(kind.to_owned(), name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Places of the owners of Machines of a Cluster.
    pub fn owners_of(&self, cluster: &str) -> &[usize] {
        self.owners.get(cluster).map_or(&[], Vec::as_slice)
    }

    /// Places of the Clusters that have a class.
    pub fn members_of(&self, class: &str) -> &[usize] {
        self.members.get(class).map_or(&[], Vec::as_slice)
    }

    /// Takes over what becomes of an object.
    pub(super) fn note(&mut self, object: &Object, event: Event) {
        let key = &object.key;
        if !can_refer(key) && !owns_machines(key) {
            return;
        }
        let Ok(value) = object.value() else { return };
        let said = Said::of(key, &value);
        said.refers.into_iter().for_each(|word| at(&mut self.referrers, word, event));
        said.control_plane.into_iter().for_each(|word| at(&mut self.naming, word, event));
        said.cluster.into_iter().for_each(|word| at(&mut self.owners, word, event));
        said.class.into_iter().for_each(|word| at(&mut self.members, word, event));
    }
}
