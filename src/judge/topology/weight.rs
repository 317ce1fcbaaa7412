//! How many Machines a change of a topology replaces, per control plane and group of workers, over all clusters.

use serde_json::Value;

use crate::impact::Rollout;
use crate::judge::deletions::machine_names;
use crate::judge::stage::Stage;
use crate::judge::topology::blueprint::class_of;
use crate::judge::topology::forecast::Fate;
use crate::judge::topology::values::list;
use crate::judge::topology::{classes_of, cluster_fates, clusters};
use crate::kinds::machines::{label, number, target, text};
use crate::model::effect::Effect;
use crate::object::Key;

/// The entries of a changed Cluster, class or template of a class.
#[must_use]
pub(crate) fn rollouts(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value) -> Vec<Rollout> {
    if key.kind != "Cluster" {
        let all = clusters(stage, &classes_of(stage, key));
        return all.iter().flat_map(|(key, cluster, fates)| of_fates(stage, key, cluster, fates)).collect();
    }
    if class_of(key, old).is_none() {
        return Vec::new();
    }
    let version = |side: &Value| text(side, "/spec/topology/version").map(str::to_owned);
    let mut out = if version(old) == version(new) {
        of_fates(stage, key, old, &cluster_fates(stage, key, old, new))
    } else {
        let every = groups(new).into_iter();
        every
            .filter(|(word, name)| !super::pending::is_deferred(new, word, name))
            .map(|(word, name)| entry(stage, key, old, word, &name, Effect::Rollout, "spec.topology.version"))
            .collect()
    };
    for (word, name) in groups(new).into_iter().filter(|group| groups(old).contains(group)) {
        let is_out = out.iter().any(|rollout| rollout.owner == owner(stage, key, old, word, &name));
        if let Some(cause) = own_cause(stage, key, (old, new), word, &name).filter(|_| !is_out) {
            out.push(entry(stage, key, old, word, &name, Effect::Rollout, &cause));
        }
    }
    for (word, name) in groups(old).into_iter().filter(|group| !groups(new).contains(group)) {
        out.push(entry(stage, key, old, word, &name, Effect::Delete, "spec.topology.workers"));
    }
    out
}

/// The field of a group that replaces its Machines by itself: a time, or a failure domain of workers.
fn own_cause(stage: &Stage<'_>, key: &Key, (old, new): (&Value, &Value), word: &str, name: &str) -> Option<String> {
    let group = |side| crate::judge::topology::clock::group(side, word, name);
    let text_of = |side, pointer| group(side).and_then(|group| text(group, pointer)).map(str::to_owned);
    let after = text_of(new, "/rollout/after").filter(|after| Some(after) != text_of(old, "/rollout/after").as_ref());
    if after.is_some_and(|after| crate::judge::topology::clock::is_due(stage, key, old, (word, name), &after)) {
        return Some(format!("rollout.after of {}", if name.is_empty() { "the control plane" } else { name }));
    }
    let moves = word == "machineDeployment" && text_of(old, "/failureDomain") != text_of(new, "/failureDomain");
    moves.then(|| format!("failureDomain of {name}"))
}

/// The entries of the parts that replace Machines, one for each group.
fn of_fates(stage: &Stage<'_>, key: &Key, cluster: &Value, fates: &[Fate]) -> Vec<Rollout> {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let mut out = Vec::new();
    for fate in fates.iter().filter(|fate| fate.answer.effect == Effect::Rollout) {
        let id = (fate.word, fate.name.as_str());
        if !seen.contains(&id) {
            seen.push(id);
            out.push(entry(stage, key, cluster, fate.word, &fate.name, Effect::Rollout, &fate.answer.because));
        }
    }
    out
}

/// The groups of a Cluster, the control plane first.
fn groups(cluster: &Value) -> Vec<(&'static str, String)> {
    let mut out = vec![("controlPlane", String::new())];
    for (lists, word) in [("machineDeployments", "machineDeployment"), ("machinePools", "machinePool")] {
        let pointer = format!("/spec/topology/workers/{lists}");
        let names = list(cluster, &pointer);
        out.extend(names.map(|group| (word, text(group, "/name").unwrap_or_default().to_owned())));
    }
    out
}

/// The entry of one group.
pub(crate) fn entry(
    stage: &Stage<'_>,
    key: &Key,
    cluster: &Value,
    word: &str,
    name: &str,
    effect: Effect,
    cause: &str,
) -> Rollout {
    let owner = owner(stage, key, cluster, word, name);
    let live = stage.before(&owner);
    let told =
        live.as_ref().and_then(|owner| number(owner, "/status/replicas").or_else(|| number(owner, "/spec/replicas")));
    let names = if live.is_some() { machine_names(stage, &owner, &key.name) } else { Vec::new() };
    let counted = u64::try_from(names.len()).ok().filter(|count| *count > 0);
    let machines = counted.or(told).or_else(|| wanted(cluster, word, name));
    let who = if name.is_empty() { "the control plane".to_owned() } else { format!("the workers {name}") };
    let count = machines.map_or("all".to_owned(), |machines| machines.to_string());
    let noun = if machines == Some(1) { "Machine" } else { "Machines" };
    let step = match effect {
        Effect::Delete => format!("drains and deletes {count} {noun} of {who}; nothing takes their place"),
        _ => format!("replaces {count} {noun} of {who}"),
    };
    Rollout {
        owner,
        cluster: key.name.clone(),
        effect,
        replicas: if effect == Effect::Delete { Some(0) } else { machines },
        machines,
        machine_names: names,
        max_surge: None,
        max_unavailable: None,
        steps: vec![step],
        causes: vec![cause.to_owned()],
    }
}

/// The number of Machines that the topology wants.
fn wanted(cluster: &Value, word: &str, name: &str) -> Option<u64> {
    if word == "controlPlane" {
        return number(cluster, "/spec/topology/controlPlane/replicas");
    }
    let pointer = format!("/spec/topology/workers/{word}s");
    let group = list(cluster, &pointer).find(|group| text(group, "/name") == Some(name))?;
    number(group, "/replicas")
}

/// The object that owns the Machines of a group, as far as it can be found.
pub(crate) fn owner(stage: &Stage<'_>, key: &Key, cluster: &Value, word: &str, name: &str) -> Key {
    let namespace = key.namespace.as_deref();
    if word == "controlPlane" || word == "cluster" {
        let found = cluster.pointer("/spec/controlPlaneRef").and_then(|reference| target(reference, namespace));
        return found.unwrap_or_else(|| Key { name: format!("{} (control plane)", key.name), ..key.clone() });
    }
    let (kind, own) = match word {
        "machinePool" => ("MachinePool", "topology.cluster.x-k8s.io/pool-name"),
        _ => ("MachineDeployment", "topology.cluster.x-k8s.io/deployment-name"),
    };
    let is_it = |candidate: &Key| stage.before(candidate).is_some_and(|object| label(&object, own) == Some(name));
    let mut candidates = stage.owners_of(key).into_iter().filter(|candidate| candidate.kind == kind);
    candidates.find(|candidate| is_it(candidate)).cloned().unwrap_or_else(|| Key {
        kind: kind.to_owned(),
        name: format!("{}-{name}", key.name),
        ..key.clone()
    })
}
