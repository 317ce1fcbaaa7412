//! Kubernetes versions that do not fit together once the write is done: a control plane that skips a minor version or goes back,
//! workers that are newer than their control plane or too far behind it.
//! Read beside the version skew policy of Kubernetes (kubernetes.io/releases/version-skew-policy) and
//! `core/reconcilers/machineset/machineset_preflight.go` of Cluster API 1.14.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{Judged, decision};
use crate::compare::{Action, Pair};
use crate::kinds::Role;
use crate::kinds::contract::{CLUSTER, MACHINE_DEPLOYMENT, MACHINE_POOL};
use crate::kinds::fields::{class_named, cluster_name, list, target, text, wanted};
use crate::model::{Decision, Effect, Reason};
use crate::object::Key;
use crate::providers::kind;
use crate::tree::Value;

/// A Cluster by its namespace and name.
type Home = (Option<String>, String);

/// A reason for each version that does not fit, of the clusters in which one changes.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = decision(judged.policy.gates.version);
    let changed: Vec<&Pair> = judged.pairs.iter().filter(|pair| moves(pair)).collect();
    if answer == Decision::Allow {
        return Vec::new();
    }
    let after = After::of(judged);
    let of_topologies = judged.pairs.iter().filter_map(|pair| step_of_topology(judged, &after, pair, answer));
    let mut out: Vec<Reason> = of_topologies.collect();
    if changed.is_empty() {
        return out;
    }
    out.extend(changed.iter().filter_map(|pair| step(pair, answer)));
    let touched: BTreeSet<&Key> = changed.iter().map(|pair| &pair.key).collect();
    let workers = after.workers();
    for (home, plane) in after.planes() {
        let group = workers.get(&home).map(Vec::as_slice).unwrap_or_default();
        let mut asked = group.iter().filter(|(key, _)| touched.contains(&plane) || touched.contains(key)).peekable();
        let plane_after = after.get(&plane).filter(|_| asked.peek().is_some());
        let Some(has) = plane_after.and_then(|value| minor(version(&plane, &value)?)) else { continue };
        for (key, told) in asked {
            let fault = minor(told).and_then(|theirs| skew(theirs, has));
            out.extend(fault.map(|fault| {
                let message = format!("{key}: its version {told} {fault} of {plane} (v1.{has}) after the write");
                Reason::new("version", answer, message).with_next("rollgate explain version".to_owned()).of(key)
            }));
        }
    }
    out
}

/// Whether a write gives an owner of Machines another version, or makes one.
fn moves(pair: &Pair) -> bool {
    let is_one = kind(&pair.key).role.is_part_of_cluster() && pair.action != Action::Delete;
    let of = |side: &Option<Value>| side.as_ref().and_then(|side| version(&pair.key, side)).map(str::to_owned);
    is_one && pair.effect != Effect::Rejected && of(&pair.predicted).is_some_and(|new| Some(new) != of(&pair.live))
}

/// What is wrong with the step of a control plane from one version to the next.
fn step(pair: &Pair, answer: Decision) -> Option<Reason> {
    if kind(&pair.key).role != Role::ControlPlane {
        return None;
    }
    let (old, new) = (version(&pair.key, pair.live.as_ref()?)?, version(&pair.key, pair.predicted.as_ref()?)?);
    wrong(&pair.key, (old, new), true, answer)
}

/// What is wrong with the step of the control plane of a topology, which its webhook lets through where an annotation switches its check
/// off. Where the class lists versions or has an extension, the topology controller goes through those between.
fn step_of_topology(judged: &Judged<'_>, after: &After<'_>, pair: &Pair, answer: Decision) -> Option<Reason> {
    const VERSION: &str = "/spec/topology/version";
    if kind(&pair.key).role != Role::Cluster || pair.effect == Effect::Rejected {
        return None;
    }
    let (cluster, new) = (pair.live.as_ref()?, pair.predicted.as_ref()?);
    let (was, is) = (text(cluster, VERSION)?, text(new, VERSION)?);
    if was == is {
        return None;
    }
    let reference = cluster.pointer("/spec/controlPlaneRef");
    let plane = reference.and_then(|reference| target(reference, pair.key.namespace.as_deref()));
    let plane = plane.and_then(|plane| Some((judged.view.get(&plane).object()?.value().ok()?, plane)));
    // An upgrade may not have reached it yet.
    let has = plane.as_ref().and_then(|(value, key)| version(key, value)).unwrap_or(was);
    let class = class_named(&pair.key, new).and_then(|class| after.get(&class));
    let has_way = class.is_some_and(|class| {
        list(&class, "/spec/kubernetesVersions").next().is_some()
            || text(&class, "/spec/upgrade/external/generateUpgradePlanExtension").is_some()
    });
    wrong(&pair.key, (has, is), !has_way, answer)
}

/// What is wrong with a step from one version to the next.
fn wrong(key: &Key, (old, new): (&str, &str), is_one_step: bool, answer: Decision) -> Option<Reason> {
    let (was, is) = (minor(old)?, minor(new)?);
    let fault = match () {
        () if is > was + 1 && is_one_step => {
            format!("skips {}; upgrade to each minor version in turn", skipped(was, is))
        }
        () if is < was => "goes back, which no control plane supports".to_owned(),
        () => return None,
    };
    let message = format!("{key}: {old} -> {new} {fault}");
    Some(Reason::new("version", answer, message).with_next("rollgate explain version".to_owned()).of(key))
}

/// The minor versions between two.
fn skipped(was: u64, is: u64) -> String {
    match is - was {
        2 => format!("v1.{}", was + 1),
        _ => format!("v1.{} to v1.{}", was + 1, is - 1),
    }
}

/// What is wrong with workers of one minor version below a control plane of another. Kubelets may be three minor versions older,
/// two where they are older than 1.25.
fn skew(theirs: u64, plane: u64) -> Option<&'static str> {
    let room = if theirs < 25 { 2 } else { 3 };
    match () {
        () if theirs > plane => Some("is newer than that"),
        () if theirs + room < plane => Some("is too many minor versions behind that"),
        () => None,
    }
}

/// The version that an owner gives to its Machines.
pub(super) fn version<'v>(key: &Key, owner: &'v Value) -> Option<&'v str> {
    let at = if kind(key).role.is_workers() { "/spec/template/spec/version" } else { "/spec/version" };
    text(owner, at)
}

/// The minor version of a version of Kubernetes, with or without `v` and what a distribution adds.
pub(super) fn minor(version: &str) -> Option<u64> {
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    (major == "1").then_some(())?;
    minor.parse().ok()
}

/// The cluster after the write.
pub(super) struct After<'a> {
    judged: &'a Judged<'a>,
    written: BTreeMap<&'a Key, &'a Pair>,
}

impl<'a> After<'a> {
    /// The cluster after the write of what is judged.
    pub(super) fn of(judged: &'a Judged<'a>) -> Self {
        Self { judged, written: judged.pairs.iter().map(|pair| (&pair.key, pair)).collect() }
    }

    /// An object as it is after the write; `None` where it is gone, was not read or cannot be read.
    pub(super) fn get(&self, key: &Key) -> Option<Cow<'a, Value>> {
        match self.written.get(key) {
            Some(pair) => pair.predicted.as_ref().map(Cow::Borrowed),
            None => self.judged.view.get(key).object()?.value().ok(),
        }
    }

    /// Every object of a kind.
    pub(super) fn all(&self, name: &str) -> Vec<(Key, Cow<'a, Value>)> {
        let live = self.judged.view.of_kind(name).map(|object| &object.key);
        let keys: BTreeSet<&Key> = live.chain(self.written.keys().copied().filter(|key| key.kind == name)).collect();
        keys.into_iter().filter_map(|key| Some((key.clone(), self.get(key)?))).collect()
    }

    /// The control plane of each Cluster.
    pub(super) fn planes(&self) -> Vec<(Home, Key)> {
        let clusters = self.all(CLUSTER).into_iter().filter(|(key, _)| kind(key).role == Role::Cluster);
        let named = clusters.filter_map(|(key, cluster)| {
            let reference = cluster.pointer("/spec/controlPlaneRef")?;
            Some(((key.namespace.clone(), key.name.clone()), target(reference, key.namespace.as_deref())?))
        });
        named.collect()
    }

    /// The workers of each Cluster that have Machines, with their version.
    fn workers(&self) -> BTreeMap<Home, Vec<(Key, String)>> {
        let mut out: BTreeMap<Home, Vec<(Key, String)>> = BTreeMap::new();
        for (key, value) in [MACHINE_DEPLOYMENT, MACHINE_POOL].into_iter().flat_map(|name| self.all(name)) {
            let (Some(cluster), Some(told)) = (cluster_name(&value), version(&key, &value)) else { continue };
            if wanted(&value, None) > 0 {
                let home = (key.namespace.clone(), cluster.to_owned());
                out.entry(home).or_default().push((key.clone(), told.to_owned()));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelets_may_be_older_by_three_and_never_newer() {
        assert_eq!(skew(32, 32), None);
        assert_eq!(skew(29, 32), None);
        assert!(skew(28, 32).is_some());
        assert!(skew(33, 32).is_some());
        assert_eq!((skew(24, 26), skew(24, 27).is_some()), (None, true));
    }

    #[test]
    fn a_minor_version_is_read_as_distributions_write_it() {
        for (text, is) in [
            ("v1.31.5+rke2r1", Some(31)),
            ("1.31", Some(31)),
            ("v1.33.1+k0s.0", Some(33)),
            ("v4.16.1", None),
            ("x", None),
        ] {
            assert_eq!(minor(text), is, "{text}");
        }
        assert_eq!((skipped(31, 33), skipped(31, 35)), ("v1.32".to_owned(), "v1.32 to v1.34".to_owned()));
    }
}
