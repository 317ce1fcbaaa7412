//! Upgrades of a topology over several minor versions with a Cluster API that never gets beyond the first: v1.12 says which step of the
//! plan is under way only where a hook waits for its end, and marks none without the feature gate RuntimeSDK. Its control plane of kubeadm
//! then waits for the last version to be handed to it, and makes no Machine meanwhile.
//! Read beside `exp/topology/desiredstate/desired_state.go` (computeControlPlaneVersion, computeCluster) and
//! `controlplane/kubeadm/internal/controllers/scale.go` (preflightChecks) of Cluster API 1.12.0 to 1.12.11, and 1.13.0, which looks at the
//! plan itself.

use super::version::{After, minor};
use super::{Judged, decision};
use crate::compare::{Action, Pair};
use crate::kinds::Role;
use crate::kinds::Versions;
use crate::kinds::fields::{class_named, text};
use crate::model::{Decision, Effect, Reason};
use crate::providers::core::changes::STEPS_WITHOUT_HOOKS;
use crate::providers::core::{RELEASE, RUNTIME_SDK};
use crate::providers::{kind, kubeadm};

/// Where a Cluster says its version.
const VERSION: &str = "/spec/topology/version";

/// A reason for each topology with a control plane of kubeadm that is to go over more than one minor version.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = decision(judged.policy.gates.version);
    let gate = judged.world.feature_gates.get(RUNTIME_SDK).copied();
    let told = Versions::of(&judged.world.told_versions());
    let is_known = told.is_known(RELEASE.name);
    if answer == Decision::Allow || gate == Some(true) || is_known && told.has(&STEPS_WITHOUT_HOOKS) {
        return Vec::new();
    }
    let mut chained = judged.pairs.iter().filter(|pair| is_chained(pair)).peekable();
    if chained.peek().is_none() {
        return Vec::new();
    }
    let after = After::of(judged);
    let of_kubeadm = chained.filter(|pair| is_of_kubeadm(&after, pair));
    of_kubeadm.map(|pair| reason(pair, answer, (is_known, gate.is_some()))).collect()
}

/// Whether a write raises the version of a topology by more than one minor.
fn is_chained(pair: &Pair) -> bool {
    let told = |side: &Option<_>| side.as_ref().and_then(|side| minor(text(side, VERSION)?));
    kind(&pair.key).role == Role::Cluster
        && pair.action == Action::Update
        && pair.effect != Effect::Rejected
        && told(&pair.live).zip(told(&pair.predicted)).is_some_and(|(old, new)| new > old + 1)
}

/// Whether the control plane of a topology is one of kubeadm, as the Cluster or its class says.
fn is_of_kubeadm(after: &After<'_>, pair: &Pair) -> bool {
    let Some(cluster) = pair.predicted.as_ref() else { return false };
    if let Some(kind) = text(cluster, "/spec/controlPlaneRef/kind") {
        return kind == kubeadm::CONTROL_PLANE_KIND;
    }
    let class = class_named(&pair.key, cluster).and_then(|class| after.get(&class));
    let places = ["/spec/controlPlane/templateRef/kind", "/spec/controlPlane/ref/kind"];
    class.is_some_and(|class| places.iter().any(|place| text(&class, place) == Some(kubeadm::CONTROL_PLANE_TEMPLATE)))
}

fn reason(pair: &Pair, answer: Decision, (is_known, is_off): (bool, bool)) -> Reason {
    let told = |side: &Option<_>| side.as_ref().and_then(|side| text(side, VERSION)).unwrap_or_default().to_owned();
    let step = format!("{} -> {}", told(&pair.live), told(&pair.predicted));
    let says = "the control plane waits for its last version in the middle of the upgrade and makes no Machine, also none in place of a broken one";
    let (answer, when) = match (is_known, is_off) {
        (true, true) => (answer, format!("Cluster API v1.12 without the feature gate {RUNTIME_SDK}")),
        (true, false) => {
            (answer.min(Decision::Undecided), format!("Cluster API v1.12, if the feature gate {RUNTIME_SDK} is off"))
        }
        (false, true) => (
            answer.min(Decision::Undecided),
            format!("Cluster API v1.12, which may be what runs, and the feature gate {RUNTIME_SDK} is off"),
        ),
        (false, false) => (
            answer.min(Decision::Undecided),
            format!("Cluster API v1.12, if that is what runs and the feature gate {RUNTIME_SDK} is off"),
        ),
    };
    let message = format!("{}: {step} in one write with {when}: {says}", pair.key);
    let remedy = match (is_known, is_off) {
        (_, true) if is_known => {
            "go up one minor version at a time, or upgrade Cluster API to v1.13 or later first".to_owned()
        }
        (true, _) => {
            format!("go up one minor version at a time, or pass --feature-gate {RUNTIME_SDK}=true if it is on")
        }
        _ => format!("go up one minor version at a time, or pass --provider {}=VERSION", RELEASE.name),
    };
    Reason::new("version", answer, message)
        .with_remedy(remedy)
        .with_next("rollgate explain version".to_owned())
        .of(&pair.key)
}
