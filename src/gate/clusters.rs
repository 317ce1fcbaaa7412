//! Gates that the policy sets otherwise for some clusters: what belongs to them is asked under these, all else under `gates`.
//! What belongs to no cluster, as far as anybody can tell, is asked under each that counts in this write.

use std::collections::{BTreeMap, BTreeSet};

use super::{Judged, Written};
use crate::compare::Pair;
use crate::hashed::HashMap;
use crate::kinds::contract;
use crate::kinds::fields;
use crate::kinds::references::references;
use crate::model::{Classified, Effect, Reason};
use crate::object::{Key, Object};
use crate::policy::{Gates, Policy, Selector};
use crate::report;
use crate::tree::{Value, json};

/// Namespace and name of a cluster.
type Cluster = (Option<String>, String);

/// Which gates: those of an entry of `perCluster`, or `gates`.
type Place = Option<usize>;

/// What is asked under one set of gates.
type Part = (Vec<Pair>, Classified);

/// Asks for the reasons of each set of gates, about what belongs under it.
pub(super) fn each(judged: &Judged<'_>, ask: impl Fn(&Judged<'_>) -> Vec<Reason>) -> Vec<Reason> {
    if judged.policy.per_cluster.is_empty() {
        return ask(judged);
    }
    // A limit of an expectation is one for all clusters.
    judged.expected();
    let mut found: Vec<Reason> = Vec::new();
    for (place, (pairs, classified)) in split(judged) {
        let gates = gates(judged.policy, place);
        let policy = Policy { gates: gates.clone(), ..judged.policy.clone() };
        let written = Written::default();
        let part = Judged { pairs: &pairs, classified: &classified, policy: &policy, written: &written, ..*judged };
        for mut reason in ask(&part) {
            let entry = place.and_then(|place| judged.policy.per_cluster.get(place));
            if let Some(entry) = entry.filter(|_| reason.object.is_none()) {
                reason.message = format!("{} (perCluster: {})", reason.message, entry.clusters);
            }
            // The same answer is said once, the weightiest of it.
            match found.iter_mut().find(|other| other.gate == reason.gate && other.message == reason.message) {
                Some(known) if known.decision < reason.decision => *known = reason,
                Some(_) => {}
                None => found.push(reason),
            }
        }
    }
    found
}

fn gates(policy: &Policy, place: Place) -> &Gates {
    place.and_then(|place| policy.per_cluster.get(place)).map_or(&policy.gates, |entry| &entry.gates)
}

/// What is asked under each set of gates. `gates` itself is always asked: what could not be read belongs to nobody.
fn split(judged: &Judged<'_>) -> BTreeMap<Place, Part> {
    let selectors: Vec<Selector> =
        judged.policy.per_cluster.iter().filter_map(|entry| Selector::parse(&entry.clusters).ok()).collect();
    let mut known: HashMap<Cluster, Place> = HashMap::default();
    let mut place_of = |cluster: Cluster| -> Place {
        *known.entry(cluster).or_insert_with_key(|(namespace, name)| {
            let labels = labels(judged, namespace.as_deref(), name)?;
            selectors.iter().position(|selector| selector.fits(&labels))
        })
    };
    let mut parts: BTreeMap<Place, Part> = BTreeMap::new();
    let rest = Classified { rollouts: Vec::new(), ..judged.classified.clone() };
    parts.insert(None, (Vec::new(), rest.clone()));
    let mut part = |place: Place, add: &mut dyn FnMut(&mut Part)| {
        add(parts.entry(place).or_insert_with(|| (Vec::new(), Classified { rollouts: Vec::new(), ..rest.clone() })));
    };
    for rollout in &judged.classified.rollouts {
        let place = place_of((rollout.owner.namespace.clone(), rollout.cluster.clone()));
        part(place, &mut |(_, classified)| classified.rollouts.push(rollout.clone()));
    }
    let users = users(judged);
    let mut strays: Vec<&Pair> = Vec::new();
    for pair in judged.pairs {
        let own = cluster_of(judged, pair).map(|cluster| BTreeSet::from([cluster]));
        let clusters = own.or_else(|| users.get(&referred(&pair.key)).cloned()).unwrap_or_default();
        let places: BTreeSet<Place> = clusters.into_iter().map(&mut place_of).collect();
        if places.is_empty() {
            strays.push(pair);
        }
        places.into_iter().for_each(|place| part(place, &mut |(pairs, _)| pairs.push(pair.clone())));
    }
    for (pairs, _) in parts.values_mut() {
        pairs.extend(strays.iter().map(|pair| (*pair).clone()));
    }
    parts
}

/// The cluster that an object belongs to. A control plane need not say whose it is: its Cluster refers to it.
pub(super) fn cluster_of(judged: &Judged<'_>, pair: &Pair) -> Option<Cluster> {
    let rolls = judged.classified.rollouts.iter().find(|rollout| rollout.owner == pair.key);
    let name = rolls.map(|rollout| rollout.cluster.clone()).filter(|name| !name.is_empty());
    // What a change only comes to say of itself decides nothing.
    let is_told = || {
        pair.live.as_ref().is_none_or(|live| fields::cluster_name(live).is_some()) || pair.key.kind == contract::CLUSTER
    };
    let name = name.or_else(|| report::cluster(pair).filter(|_| is_told()))?;
    Some((pair.key.namespace.clone(), name))
}

/// The labels of a cluster as they are live, with its name and namespace: a change cannot give itself the label that it needs.
pub(super) fn labels(judged: &Judged<'_>, namespace: Option<&str>, name: &str) -> Option<Value> {
    let cluster = judged.view.get(&contract::cluster(namespace, name)).object()?.value().ok()?;
    let mut labels = cluster.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({}));
    labels["metadata.name"] = json!(name);
    // What names no namespace is in that of the release.
    labels["metadata.namespace"] = json!(namespace.or(judged.world.host.namespace.as_deref()));
    Some(json!({"metadata": {"labels": labels}}))
}

/// Namespace, kind and name, as references say them.
type Referred = (Option<String>, String, String);

fn referred(key: &Key) -> Referred {
    (key.namespace.clone(), key.kind.clone(), key.name.clone())
}

/// The clusters whose objects refer to an object, live or after the write; empty where every object that matters says whose it is.
fn users(judged: &Judged<'_>) -> HashMap<Referred, BTreeSet<Cluster>> {
    let mut users: HashMap<Referred, BTreeSet<Cluster>> = HashMap::default();
    let does_nothing =
        |pair: &Pair| pair.effect == Effect::None && pair.changes.iter().all(|change| change.touches.is_none());
    if judged.pairs.iter().all(|pair| does_nothing(pair) || cluster_of(judged, pair).is_some()) {
        return users;
    }
    let mut add = |namespace: Option<&String>, cluster: &str, object: &Value| {
        for reference in references(object) {
            let of = reference.namespace.or_else(|| namespace.cloned());
            let cluster = (namespace.cloned(), cluster.to_owned());
            users.entry((of, reference.kind, reference.name)).or_default().insert(cluster);
        }
    };
    for pair in judged.pairs {
        let Some((namespace, cluster)) = cluster_of(judged, pair) else { continue };
        let sides = [&pair.live, &pair.predicted];
        sides.into_iter().flatten().for_each(|side| add(namespace.as_ref(), &cluster, side));
    }
    for object in judged.view.objects() {
        let Some((cluster, value)) = with_cluster(object) else { continue };
        add(object.key.namespace.as_ref(), &cluster, &value);
    }
    users
}

/// The cluster that a live object says it belongs to, and what it holds.
fn with_cluster(object: &Object) -> Option<(String, Value)> {
    let value = object.value().ok()?;
    let is_cluster = contract::cluster(object.key.namespace.as_deref(), &object.key.name) == object.key;
    let own = is_cluster.then(|| object.key.name.clone());
    let name = own.or_else(|| fields::cluster_name(&value).map(str::to_owned))?;
    Some((name, value.into_owned()))
}
