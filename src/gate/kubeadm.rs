//! Kubernetes versions to which the Cluster API that runs cannot bring a control plane of kubeadm: the first new Machine never becomes part
//! of it, and the rollout stops there.
//! Read beside `docs/book/src/user/troubleshooting.md` and `controlplane/kubeadm/internal` (DefaultFeatureGates, workload_cluster_rbac.go) of
//! Cluster API 1.11 to 1.14, and kubernetes#138957 and #135773.

use semver::Version;

use super::{Judged, decision};
use crate::compare::{Action, Pair};
use crate::kinds::Role;
use crate::kinds::Versions;
use crate::kinds::fields::text;
use crate::kinds::versions::parse;
use crate::model::{Decision, Effect, Reason};
use crate::providers::core::RELEASE;
use crate::providers::{kind, kubeadm};
use crate::tree::Value;

/// The first patch of each minor version that has something, from the oldest to the newest; every later minor version has it too.
struct Patches(&'static [(u64, u64)]);

impl Patches {
    fn have(&self, version: &Version) -> bool {
        let own = self.0.iter().find(|(minor, _)| *minor == version.minor);
        own.map_or_else(
            || self.0.last().is_some_and(|(minor, _)| version.minor > *minor),
            |(_, patch)| version.patch >= *patch,
        )
    }

    /// As people name them, the newest first.
    fn words(&self) -> String {
        let all: Vec<String> = self.0.iter().rev().map(|(minor, patch)| format!("v1.{minor}.{patch}")).collect();
        all.join(", ")
    }
}

/// A Kubernetes version that only newer releases of Cluster API can roll to.
struct Fault {
    /// The versions of Kubernetes that have it.
    kubernetes: Patches,
    /// The first minor version of Cluster API that can get it wrong.
    since: u64,
    /// The releases of Cluster API that get it right.
    fixed: Patches,
    /// Whether control planes that are made in such a version have it too.
    is_of_new: bool,
    /// What happens.
    says: &'static str,
}

/// What kubeadm's certificate for kubelets may do hangs on a binding that older releases do not make.
static BINDING: Fault = Fault {
    kubernetes: Patches(&[(33, 12), (34, 8), (35, 5), (36, 1)]),
    since: 0,
    fixed: Patches(&[(11, 11), (12, 8), (13, 2)]),
    is_of_new: false,
    says: "the API server of the first new Machine may not reach kubelets, as nobody makes the ClusterRoleBinding kubeadm:apiserver-kubelet-client, so \
           etcd is not seen through it and the rollout stops there",
};

/// Older releases set a feature gate that kubeadm has no longer.
static GATE: Fault = Fault {
    kubernetes: Patches(&[(36, 0)]),
    since: 8,
    fixed: Patches(&[(12, 2)]),
    is_of_new: true,
    says: "kubeadm gets the feature gate ControlPlaneKubeletLocalMode, which it does not know any more, so no new Machine joins",
};

/// A reason for each control plane of kubeadm that gets a version to which it cannot roll.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = decision(judged.policy.gates.version);
    let moved = judged.pairs.iter().filter_map(|pair| Some((pair, Step::of(pair)?)));
    let mut moved = moved.peekable();
    if answer == Decision::Allow || moved.peek().is_none() {
        return Vec::new();
    }
    let told = Versions::of(&judged.world.told_versions());
    let runs = told.is_known(RELEASE.name).then(|| told.get(RELEASE.name));
    moved.flat_map(|(pair, step)| step.faults(pair, answer, runs.as_ref())).collect()
}

/// A control plane of kubeadm that gets another version, or is made.
struct Step {
    old: Option<Version>,
    new: Version,
}

impl Step {
    fn of(pair: &Pair) -> Option<Self> {
        let is_topology = kind(&pair.key).role == Role::Cluster;
        if !(is_topology || pair.key.kind == kubeadm::CONTROL_PLANE_KIND)
            || pair.action == Action::Delete
            || pair.effect == Effect::Rejected
        {
            return None;
        }
        let new = pair.predicted.as_ref()?;
        if is_topology && text(new, "/spec/controlPlaneRef/kind") != Some(kubeadm::CONTROL_PLANE_KIND) {
            return None;
        }
        let at = if is_topology { "/spec/topology/version" } else { "/spec/version" };
        let version = |side: &Value| text(side, at).and_then(parse);
        let (old, new) = (pair.live.as_ref().and_then(version), version(new)?);
        (old.as_ref() != Some(&new)).then_some(Self { old, new })
    }

    fn faults(&self, pair: &Pair, answer: Decision, runs: Option<&Version>) -> Vec<Reason> {
        [&BINDING, &GATE].into_iter().filter_map(|fault| self.fault(pair, answer, fault, runs)).collect()
    }

    fn fault(&self, pair: &Pair, answer: Decision, fault: &Fault, runs: Option<&Version>) -> Option<Reason> {
        let is_first = match &self.old {
            None => fault.is_of_new,
            Some(old) => !fault.kubernetes.have(old),
        };
        if !is_first || !fault.kubernetes.have(&self.new) {
            return None;
        }
        let needed = fault.fixed.words();
        let (answer, message, remedy) = match runs {
            Some(runs) if runs.minor < fault.since || fault.fixed.have(runs) => return None,
            Some(runs) => (
                answer,
                format!("{} with Cluster API v{runs}: {}", self.words(), fault.says),
                format!("upgrade Cluster API first, to {needed} or later"),
            ),
            // An older one may run: that is not known, and no allow.
            None => (
                answer.min(Decision::Undecided),
                format!(
                    "{} needs Cluster API {needed} or later, and nobody told which runs: with an older one {}",
                    self.words(),
                    fault.says
                ),
                format!("pass --provider {}=VERSION", RELEASE.name),
            ),
        };
        Some(reason(pair, answer, format!("{}: {message}", pair.key), remedy))
    }

    /// The step as people read it.
    fn words(&self) -> String {
        match &self.old {
            Some(old) => format!("v{old} -> v{}", self.new),
            None => format!("v{}", self.new),
        }
    }
}

fn reason(pair: &Pair, answer: Decision, message: String, remedy: String) -> Reason {
    Reason::new("version", answer, message)
        .with_remedy(remedy)
        .with_next("rollgate explain version".to_owned())
        .of(&pair.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_what_came_with_a_patch_of_its_minor_version_or_before() {
        let fixed = |version: &str| BINDING.fixed.have(&parse(version).unwrap());
        assert!(fixed("v1.11.11") && fixed("v1.12.8") && fixed("v1.13.2") && fixed("v1.14.0"));
        assert!(!fixed("v1.10.12") && !fixed("v1.11.10") && !fixed("v1.12.7") && !fixed("v1.13.1"));
        assert_eq!(BINDING.fixed.words(), "v1.13.2, v1.12.8, v1.11.11");
    }
}
