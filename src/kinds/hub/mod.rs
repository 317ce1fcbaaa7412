//! One superset form for every API version of a kind: v1beta2 names, plus what only v1beta1 has.
//! The same table moves values into that form and paths along with them, so a rule is never written twice.

mod moves;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

pub(crate) use crate::compare::go_seconds;
use crate::kinds::hub::moves::{carry, carry_path, steps};
use crate::object::{ApiVersion, Path, Segment};
use crate::providers::kubeadm::convert;
use crate::rules::Versions;
use crate::schema::moves::{How, of_kind};

/// A move, read: where from, where to, and how.
type Compiled = (Vec<Option<Segment>>, Vec<Option<Segment>>, How);

/// The moves of each kind, read once.
static COMPILED: LazyLock<HashMap<&'static str, Vec<Compiled>>> =
    LazyLock::new(|| KINDS.iter().map(|kind| (*kind, compile(kind))).collect());

/// The shared table as far as the superset form follows it: what only one version has stays where it is, and so does what
/// only the conversion since Cluster API 1.11 moves.
fn compile(kind: &'static str) -> Vec<Compiled> {
    let all = of_kind(kind).iter().flat_map(|(prefix, moves)| moves.iter().map(move |one| (*prefix, one)));
    let shared = all
        .filter(|(_, one)| !matches!(one.how, How::Plain | How::Gone | How::New | How::Named))
        .filter(|(_, one)| TIMEOUTS.iter().all(|(from, _)| *from != one.from))
        // A topology is judged in the names of its version.
        .filter(|(prefix, _)| kind != "Cluster" || *prefix == "spec")
        .map(|(prefix, one)| (steps(prefix, one.from), steps(prefix, one.to), one.how));
    let place = config_place(kind).map(|place| place.trim_start_matches('/').replace('/', "."));
    let timeouts = place.iter().flat_map(|prefix| TIMEOUTS.map(|(from, _)| steps(prefix, from)));
    let durations = match kind {
        "RKE2ControlPlane" => Some("spec"),
        "RKE2ControlPlaneTemplate" => Some("spec.template.spec"),
        _ => None,
    };
    let durations = durations.into_iter().flat_map(|prefix| RKE2_DURATIONS.map(|place| steps(prefix, place)));
    let in_place = timeouts.chain(durations).map(|place| (place.clone(), place, How::Seconds));
    shared.chain(in_place).collect()
}

/// Durations of an RKE2ControlPlane that stay where they are.
const RKE2_DURATIONS: [&str; 3] =
    ["nodeDrainTimeout", "remediationStrategy.retryPeriod", "remediationStrategy.minHealthyPeriod"];

/// The kinds that have a table.
const KINDS: &[&str] = &[
    "KubeadmControlPlane",
    "KubeadmControlPlaneTemplate",
    "KubeadmConfig",
    "KubeadmConfigTemplate",
    "MachineDeployment",
    "MachineSet",
    "MachinePool",
    "Machine",
    "MachineHealthCheck",
    "Cluster",
    "RKE2ControlPlane",
    "RKE2ControlPlaneTemplate",
];

/// The moves of a kind.
fn compiled(kind: &str) -> &'static [Compiled] {
    COMPILED.get(kind).map_or(&[], Vec::as_slice)
}

/// Whether an `apiVersion` has the names of the superset form already.
fn is_hub(api_version: &str) -> bool {
    !matches!(ApiVersion::parse(api_version).version, "v1beta1" | "v1alpha4" | "v1alpha3" | "v1alpha1")
}

/// The object in the superset form; since Cluster API 1.11 also with what conversion drops and restores.
#[must_use]
pub fn value(kind: &str, api_version: &str, object: &Value, versions: &Versions) -> Value {
    moved(kind, api_version, object.clone(), versions)
}

/// The same of an object that nobody needs as it was.
#[must_use]
pub fn moved(kind: &str, api_version: &str, object: Value, versions: &Versions) -> Value {
    let mut out = object;
    if !is_hub(api_version) {
        for (from, to, how) in compiled(kind) {
            carry(&mut out, from, to, *how);
        }
        if let (true, Some(place)) = (versions.capi(11), config_place(kind)) {
            convert::kubeadm_config(&mut out, place);
        }
    }
    out
}

/// The places of durations that Go cannot read, as rendered.
#[must_use]
pub fn unreadable(kind: &str, api_version: &str, object: &Value) -> Vec<Path> {
    let mut out = Vec::new();
    if is_hub(api_version) {
        return out;
    }
    for (from, _, _) in compiled(kind).iter().filter(|(_, _, how)| *how == How::Seconds) {
        texts(object, from, &Path::root(), &mut out);
    }
    if let Some(place) = config_place(kind) {
        let prefix = place.trim_start_matches('/').replace('/', ".");
        for (from, _) in TIMEOUTS {
            texts(object, &steps(&prefix, from), &Path::root(), &mut out);
        }
    }
    out
}

/// Adds the places at a pattern whose texts are no durations.
fn texts(value: &Value, pattern: &[Option<Segment>], at: &Path, out: &mut Vec<Path>) {
    let Some((first, rest)) = pattern.split_first() else {
        if value.as_str().is_some_and(|text| go_seconds(text).is_none()) {
            out.push(at.clone());
        }
        return;
    };
    match first {
        Some(segment) => {
            if let Some(below) = Path::from(vec![segment.clone()]).get(value) {
                texts(below, rest, &at.with(segment.clone()), out);
            }
        }
        None => {
            for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                texts(item, rest, &at.index(place), out);
            }
        }
    }
}

/// Where a kind keeps its kubeadm configuration, as a JSON pointer.
fn config_place(kind: &str) -> Option<&'static str> {
    match kind {
        "KubeadmControlPlane" => Some("/spec/kubeadmConfigSpec"),
        "KubeadmConfig" => Some("/spec"),
        "KubeadmConfigTemplate" => Some("/spec/template/spec"),
        "KubeadmControlPlaneTemplate" => Some("/spec/template/spec/kubeadmConfigSpec"),
        _ => None,
    }
}

/// The place in the superset form that a place of the object has moved to.
#[must_use]
pub fn path(kind: &str, api_version: &str, path: &Path, versions: &Versions) -> Path {
    let mut out = path.clone();
    if !is_hub(api_version) {
        for (from, to, how) in compiled(kind) {
            if let Some(moved) = carry_path(&out, from, to, *how) {
                out = moved;
            }
        }
        if let (true, Some(place)) = (versions.capi(11), config_place(kind)) {
            let prefix = place.trim_start_matches('/').replace('/', ".");
            for (from, to) in TIMEOUTS {
                if let Some(moved) = carry_path(&out, &steps(&prefix, from), &steps(&prefix, to), How::Same) {
                    out = moved;
                }
            }
        }
    }
    out
}

/// Timeouts that conversion moves; what it does with their values stands in `convert`.
const TIMEOUTS: [(&str, &str); 2] = [
    (
        "clusterConfiguration.apiServer.timeoutForControlPlane",
        "initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds",
    ),
    ("joinConfiguration.discovery.timeout", "joinConfiguration.timeouts.tlsBootstrapSeconds"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn newest() -> Versions {
        Versions::told("cluster-api", "v1.14.2")
    }

    #[test]
    fn an_old_control_plane_gets_the_new_names_and_its_paths_follow() {
        let old = json!({"spec": {
            "machineTemplate": {"nodeDrainTimeout": "5m0s", "infrastructureRef":
                {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "T", "name": "a", "namespace": "n"}},
            "remediationStrategy": {"retryPeriod": "20m"},
            "kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"extraArgs": {"v": "2", "a": "1"}}},
                "initConfiguration": {"bootstrapTokens": [{"ttl": "1m"}]}}}});
        let new = value("KubeadmControlPlane", "controlplane.cluster.x-k8s.io/v1beta1", &old, &newest());
        assert_eq!(
            new,
            json!({"spec": {
                "machineTemplate": {"spec": {"deletion": {"nodeDrainTimeoutSeconds": 300}, "infrastructureRef":
                    {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "T", "name": "a", "namespace": "n"}}},
                "remediation": {"retryPeriodSeconds": 1200},
                "kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"extraArgs":
                    [{"name": "a", "value": "1"}, {"name": "v", "value": "2"}]}},
                    "initConfiguration": {"bootstrapTokens": [{"ttlSeconds": 60}]}}}})
        );
        for (from, to) in [
            ("spec.machineTemplate.nodeDrainTimeout", "spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds"),
            (
                "spec.machineTemplate.infrastructureRef.apiVersion",
                "spec.machineTemplate.spec.infrastructureRef.apiGroup",
            ),
            ("spec.remediationStrategy.retryPeriod", "spec.remediation.retryPeriodSeconds"),
            (
                "spec.kubeadmConfigSpec.initConfiguration.bootstrapTokens[3].ttl",
                "spec.kubeadmConfigSpec.initConfiguration.bootstrapTokens[3].ttlSeconds",
            ),
            ("spec.version", "spec.version"),
        ] {
            let from = Path::parse(from).expect("a path");
            assert_eq!(
                path("KubeadmControlPlane", "controlplane.cluster.x-k8s.io/v1beta1", &from, &newest()).to_string(),
                to
            );
        }
    }

    #[test]
    fn a_new_object_stays_as_it_is() {
        let new = json!({"spec": {"rollout": {"after": "x"}, "rolloutAfter": "y"}});
        assert_eq!(value("MachineDeployment", "cluster.x-k8s.io/v1beta2", &new, &newest()), new);
    }
}
