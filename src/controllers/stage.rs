//! What every judgement of one run shares: versions, rules, clock, pauses, and who refers to what.
//! References are collected only when something asks for them, because that parses every owner.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::Value;

use super::machines::{annotation, target, text};
use super::{Scene, hub};
use crate::compare::{Action, Pair};
use crate::object::Key;
use crate::rules::Rules;
use crate::rules::Versions;

/// The shared part of one run.
pub(super) struct Stage<'a> {
    /// Both sides of the cluster.
    pub(super) scene: Scene<'a>,
    /// What differs.
    pub(super) pairs: &'a [Pair],
    /// The providers' versions.
    pub(super) versions: Versions,
    /// The rules in force.
    pub(super) rules: &'a Rules,
    references: OnceCell<Vec<Reference>>,
}

/// One object that refers to another one after the write.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    /// Who refers.
    pub(super) from: Key,
    /// Kind that is referred to.
    pub(super) kind: String,
    /// Name that is referred to.
    pub(super) name: String,
}

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

impl<'a> Stage<'a> {
    /// The stage of a run.
    #[must_use]
    pub(super) fn new(scene: Scene<'a>, pairs: &'a [Pair], rules: &'a Rules) -> Self {
        Self { scene, pairs, versions: Versions::of(scene.world), rules, references: OnceCell::new() }
    }

    /// The feature gates that were told.
    #[must_use]
    pub(super) fn gates(&self) -> &'a BTreeMap<String, bool> {
        &self.scene.world.feature_gates
    }

    /// The object after the write, in the superset form.
    #[must_use]
    pub(super) fn after(&self, key: &Key) -> Option<Value> {
        if let Some(pair) = self.pairs.iter().find(|pair| pair.key == *key) {
            return pair
                .predicted
                .as_ref()
                .map(|value| hub::value(&key.kind, &pair.api_version, value, &self.versions));
        }
        let object = self.scene.world.live.get(key).or_else(|| self.scene.rendered.get(key))?;
        super::machines::read(object, &self.versions)
    }

    /// The object before the write, in the superset form.
    #[must_use]
    pub(super) fn before(&self, key: &Key) -> Option<Value> {
        if let Some(pair) = self.pairs.iter().find(|pair| pair.key == *key) {
            return pair.live.as_ref().map(|value| hub::value(&key.kind, &pair.api_version, value, &self.versions));
        }
        super::machines::read(self.scene.world.live.get(key)?, &self.versions)
    }

    /// The key of the Cluster that an owner belongs to, and its name.
    #[must_use]
    pub(super) fn cluster_of(&self, key: &Key, owner: &Value) -> Option<Key> {
        let by_owner = owner
            .pointer("/metadata/ownerReferences")
            .and_then(Value::as_array)
            .and_then(|list| list.iter().find(|reference| text(reference, "/kind") == Some("Cluster")));
        let name = text(owner, "/spec/clusterName")
            .or_else(|| super::machines::label(owner, "cluster.x-k8s.io/cluster-name"))
            .or_else(|| text(by_owner?, "/name"));
        let key_of = |name: &str| Key {
            group: "cluster.x-k8s.io".to_owned(),
            kind: "Cluster".to_owned(),
            namespace: key.namespace.clone(),
            name: name.to_owned(),
        };
        if let Some(name) = name {
            return Some(key_of(name));
        }
        // A chart's control plane names no cluster: the Cluster names it.
        self.every("Cluster").into_iter().find(|cluster| {
            self.after(cluster).or_else(|| self.before(cluster)).is_some_and(|value| {
                text(&value, "/spec/controlPlaneRef/name") == Some(key.name.as_str())
                    && text(&value, "/spec/controlPlaneRef/kind") == Some(key.kind.as_str())
            })
        })
    }

    /// The keys of all objects of a kind, before and after the write.
    #[must_use]
    pub(super) fn every(&self, kind: &str) -> Vec<Key> {
        let mut keys: Vec<Key> =
            self.pairs.iter().map(|pair| &pair.key).filter(|key| key.kind == kind).cloned().collect();
        for inventory in [&self.scene.world.live, self.scene.rendered] {
            keys.extend(inventory.objects().iter().map(|object| &object.key).filter(|key| key.kind == kind).cloned());
        }
        keys.sort();
        keys.dedup();
        keys
    }

    /// Whether the controllers do nothing for an owner: its own annotation, or its paused Cluster.
    #[must_use]
    pub(super) fn is_paused(owner: &Value, cluster: Option<&Value>) -> bool {
        annotation(owner, "cluster.x-k8s.io/paused").is_some()
            || cluster.is_some_and(|cluster| cluster.pointer("/spec/paused") == Some(&Value::Bool(true)))
    }

    /// Who refers to an object after the write.
    pub(super) fn referrers(&self, key: &Key) -> Vec<&Reference> {
        let all = self.references.get_or_init(|| self.collect());
        all.iter()
            .filter(|reference| {
                reference.name == key.name
                    && reference.kind == key.kind
                    && (reference.from.namespace == key.namespace
                        || reference.from.namespace.is_none()
                        || key.namespace.is_none())
            })
            .collect()
    }

    /// Reads the references of every object that can refer to something.
    fn collect(&self) -> Vec<Reference> {
        let refers = |key: &Key| {
            REFERRERS.contains(&key.kind.as_str())
                || (key.group == "infrastructure.cluster.x-k8s.io" && !key.kind.ends_with("Machine"))
                || key.group == "controlplane.cluster.x-k8s.io"
        };
        let gone = |key: &Key| self.pairs.iter().any(|pair| pair.key == *key && pair.action == Action::Delete);
        let mut keys: Vec<&Key> = self.pairs.iter().map(|pair| &pair.key).collect();
        keys.extend(self.scene.world.live.objects().iter().map(|object| &object.key));
        keys.extend(self.scene.rendered.objects().iter().map(|object| &object.key));
        keys.retain(|key| refers(key) && !gone(key));
        keys.sort();
        keys.dedup();
        let mut out = Vec::new();
        for key in keys {
            if let Some(value) = self.after(key) {
                references_in(&value, key, &mut out);
            }
        }
        out
    }
}

/// Adds what a tree refers to.
fn references_in(value: &Value, from: &Key, out: &mut Vec<Reference>) {
    let mut add = |kind: &str, name: &str| {
        out.push(Reference { from: from.clone(), kind: kind.to_owned(), name: name.to_owned() });
    };
    match value {
        Value::Object(map) => {
            if let Some(key) = target(value, None).filter(|_| !map.contains_key("metadata")) {
                add(&key.kind, &key.name);
            } else if let (Some(kind @ ("Secret" | "ConfigMap")), Some(name)) =
                (text(value, "/kind"), text(value, "/name"))
            {
                add(kind, name);
            }
            for (key, child) in map {
                let named = text(child, "/name").or_else(|| child.as_str());
                if let (Some(name), None) = (named, text(child, "/kind")) {
                    kinds_by_field(key).iter().for_each(|kind| add(kind, name));
                }
            }
            map.values().for_each(|child| references_in(child, from, out));
        }
        Value::Array(list) => list.iter().for_each(|child| references_in(child, from, out)),
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
