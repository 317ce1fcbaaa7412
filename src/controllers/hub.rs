//! One superset form for every API version of a kind: v1beta2 names, plus what only v1beta1 has.
//! The same table moves values into that form and paths along with them, so a rule is never written twice.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::convert;
use crate::object::{ApiVersion, Path, Segment};
use crate::rules::Versions;

/// How a value changes while it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// Not at all.
    Same,
    /// A Go duration becomes whole seconds.
    Seconds,
    /// An object reference loses its version and everything that only an old reference had.
    Ref,
    /// A map of arguments becomes a list sorted by name, as the conversion of Cluster API sorts it.
    Args,
}

/// One field that stands elsewhere in the superset form.
#[derive(Debug, Clone, Copy)]
struct Move(&'static str, &'static str, How);

/// Fields of a Machine template's spec (`spec` of a Machine, `spec.template.spec` of its owners).
const MACHINE: &[Move] = &[
    Move("bootstrap.configRef", "bootstrap.configRef", How::Ref),
    Move("infrastructureRef", "infrastructureRef", How::Ref),
    Move("nodeDrainTimeout", "deletion.nodeDrainTimeoutSeconds", How::Seconds),
    Move("nodeVolumeDetachTimeout", "deletion.nodeVolumeDetachTimeoutSeconds", How::Seconds),
    Move("nodeDeletionTimeout", "deletion.nodeDeletionTimeoutSeconds", How::Seconds),
];

/// Fields of a KubeadmConfigSpec.
const KUBEADM_CONFIG: &[Move] = &[
    Move("clusterConfiguration.apiServer.extraArgs", "clusterConfiguration.apiServer.extraArgs", How::Args),
    Move(
        "clusterConfiguration.controllerManager.extraArgs",
        "clusterConfiguration.controllerManager.extraArgs",
        How::Args,
    ),
    Move("clusterConfiguration.scheduler.extraArgs", "clusterConfiguration.scheduler.extraArgs", How::Args),
    Move("clusterConfiguration.etcd.local.extraArgs", "clusterConfiguration.etcd.local.extraArgs", How::Args),
    Move(
        "initConfiguration.nodeRegistration.kubeletExtraArgs",
        "initConfiguration.nodeRegistration.kubeletExtraArgs",
        How::Args,
    ),
    Move(
        "joinConfiguration.nodeRegistration.kubeletExtraArgs",
        "joinConfiguration.nodeRegistration.kubeletExtraArgs",
        How::Args,
    ),
    Move(
        "clusterConfiguration.apiServer.timeoutForControlPlane",
        "clusterConfiguration.apiServer.timeoutForControlPlane",
        How::Seconds,
    ),
    Move("joinConfiguration.discovery.timeout", "joinConfiguration.discovery.timeout", How::Seconds),
    Move("initConfiguration.bootstrapTokens[*].ttl", "initConfiguration.bootstrapTokens[*].ttlSeconds", How::Seconds),
];

/// Fields of a KubeadmControlPlane around its config.
const KUBEADM_CONTROL_PLANE: &[Move] = &[
    Move("spec.machineTemplate.infrastructureRef", "spec.machineTemplate.spec.infrastructureRef", How::Ref),
    Move("spec.machineTemplate.taints", "spec.machineTemplate.spec.taints", How::Same),
    Move("spec.machineTemplate.readinessGates", "spec.machineTemplate.spec.readinessGates", How::Same),
    Move(
        "spec.machineTemplate.nodeDrainTimeout",
        "spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds",
        How::Seconds,
    ),
    Move(
        "spec.machineTemplate.nodeVolumeDetachTimeout",
        "spec.machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds",
        How::Seconds,
    ),
    Move(
        "spec.machineTemplate.nodeDeletionTimeout",
        "spec.machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds",
        How::Seconds,
    ),
    Move("spec.rolloutBefore", "spec.rollout.before", How::Same),
    Move("spec.rolloutAfter", "spec.rollout.after", How::Same),
    Move("spec.rolloutStrategy", "spec.rollout.strategy", How::Same),
    Move("spec.remediationStrategy.retryPeriod", "spec.remediation.retryPeriodSeconds", How::Seconds),
    Move("spec.remediationStrategy.minHealthyPeriod", "spec.remediation.minHealthyPeriodSeconds", How::Seconds),
    Move("spec.remediationStrategy", "spec.remediation", How::Same),
    Move("spec.machineNamingStrategy", "spec.machineNaming", How::Same),
];

/// Fields of a MachineDeployment and a MachineSet around their template.
const WORKERS: &[Move] = &[
    Move("spec.rolloutAfter", "spec.rollout.after", How::Same),
    Move("spec.strategy.remediation", "spec.remediation", How::Same),
    Move("spec.strategy.rollingUpdate.deletePolicy", "spec.deletion.order", How::Same),
    Move("spec.strategy", "spec.rollout.strategy", How::Same),
    Move("spec.deletePolicy", "spec.deletion.order", How::Same),
    Move("spec.minReadySeconds", "spec.template.spec.minReadySeconds", How::Same),
    Move("spec.machineNamingStrategy", "spec.machineNaming", How::Same),
];

/// Fields of a MachineHealthCheck.
const HEALTH_CHECK: &[Move] = &[
    Move("spec.nodeStartupTimeout", "spec.checks.nodeStartupTimeoutSeconds", How::Seconds),
    Move("spec.unhealthyConditions[*].timeout", "spec.unhealthyConditions[*].timeoutSeconds", How::Seconds),
    Move("spec.unhealthyConditions", "spec.checks.unhealthyNodeConditions", How::Same),
    Move(
        "spec.unhealthyMachineConditions[*].timeout",
        "spec.unhealthyMachineConditions[*].timeoutSeconds",
        How::Seconds,
    ),
    Move("spec.unhealthyMachineConditions", "spec.checks.unhealthyMachineConditions", How::Same),
    Move("spec.maxUnhealthy", "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo", How::Same),
    Move("spec.unhealthyRange", "spec.remediation.triggerIf.unhealthyInRange", How::Same),
    Move("spec.remediationTemplate", "spec.remediation.templateRef", How::Same),
];

/// Fields of a Cluster.
const CLUSTER: &[Move] = &[
    Move("spec.controlPlaneRef", "spec.controlPlaneRef", How::Ref),
    Move("spec.infrastructureRef", "spec.infrastructureRef", How::Ref),
    Move("spec.topology.class", "spec.topology.classRef.name", How::Same),
    Move("spec.topology.classNamespace", "spec.topology.classRef.namespace", How::Same),
];

/// Fields of an RKE2ControlPlane.
const RKE2_CONTROL_PLANE: &[Move] = &[
    Move("spec.machineTemplate.infrastructureRef", "spec.machineTemplate.spec.infrastructureRef", How::Ref),
    Move(
        "spec.machineTemplate.nodeDrainTimeout",
        "spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds",
        How::Seconds,
    ),
    Move(
        "spec.machineTemplate.nodeVolumeDetachTimeout",
        "spec.machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds",
        How::Seconds,
    ),
    Move(
        "spec.machineTemplate.nodeDeletionTimeout",
        "spec.machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds",
        How::Seconds,
    ),
];

/// Durations of an RKE2ControlPlane that stay where they are.
const RKE2_DURATIONS: &[Move] = &[
    Move("nodeDrainTimeout", "nodeDrainTimeout", How::Seconds),
    Move("remediationStrategy.retryPeriod", "remediationStrategy.retryPeriod", How::Seconds),
    Move("remediationStrategy.minHealthyPeriod", "remediationStrategy.minHealthyPeriod", How::Seconds),
];

/// The table of a kind, as pairs of a prefix and the moves below it.
fn tables(kind: &str) -> &'static [(&'static str, &'static [Move])] {
    match kind {
        "KubeadmControlPlane" => &[("", KUBEADM_CONTROL_PLANE), ("spec.kubeadmConfigSpec", KUBEADM_CONFIG)],
        "KubeadmControlPlaneTemplate" => {
            &[("spec.template", KUBEADM_CONTROL_PLANE), ("spec.template.spec.kubeadmConfigSpec", KUBEADM_CONFIG)]
        }
        "KubeadmConfig" => &[("spec", KUBEADM_CONFIG)],
        "KubeadmConfigTemplate" => &[("spec.template.spec", KUBEADM_CONFIG)],
        "MachineDeployment" | "MachineSet" | "MachinePool" => &[("", WORKERS), ("spec.template.spec", MACHINE)],
        "Machine" => &[("spec", MACHINE)],
        "MachineHealthCheck" => &[("", HEALTH_CHECK)],
        "Cluster" => &[("", CLUSTER)],
        "RKE2ControlPlane" => &[("", RKE2_CONTROL_PLANE), ("spec", RKE2_DURATIONS)],
        "RKE2ControlPlaneTemplate" => &[("spec.template", RKE2_CONTROL_PLANE), ("spec.template.spec", RKE2_DURATIONS)],
        _ => &[],
    }
}

/// A move, read: where from, where to, and how.
type Compiled = (Vec<Option<Segment>>, Vec<Option<Segment>>, How);

/// The moves of each kind, read once.
static COMPILED: LazyLock<HashMap<&'static str, Vec<Compiled>>> = LazyLock::new(|| {
    let compile = |kind: &'static str| {
        let moves = tables(kind).iter().flat_map(|(prefix, moves)| moves.iter().map(move |one| (*prefix, *one)));
        (kind, moves.map(|(prefix, Move(from, to, how))| (steps(prefix, from), steps(prefix, to), how)).collect())
    };
    KINDS.iter().copied().map(compile).collect()
});

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

/// A pattern's steps under a prefix; `None` is any list place.
fn steps(prefix: &str, pattern: &str) -> Vec<Option<Segment>> {
    let mut out = Vec::new();
    for word in prefix.split('.').chain(pattern.split('.')).filter(|word| !word.is_empty()) {
        match word.strip_suffix("[*]") {
            Some(key) => out.extend([Some(Segment::Key(key.to_owned())), None]),
            None => out.push(Some(Segment::Key(word.to_owned()))),
        }
    }
    out
}

/// The object in the superset form; since Cluster API 1.11 also with what conversion drops and restores.
#[must_use]
pub fn value(kind: &str, api_version: &str, object: &Value, versions: &Versions) -> Value {
    let mut out = object.clone();
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

/// Moves a path that lies at or below `from`.
fn carry_path(path: &Path, from: &[Option<Segment>], to: &[Option<Segment>], how: How) -> Option<Path> {
    let segments = path.segments();
    let below = segments.get(from.len()..)?;
    let mut places = Vec::new();
    for (step, segment) in from.iter().zip(segments) {
        match step {
            Some(step) if step == segment => {}
            None => places.push(segment.clone()),
            Some(_) => return None,
        }
    }
    let mut places = places.into_iter();
    let mut out: Vec<Segment> = to.iter().filter_map(|step| step.clone().or_else(|| places.next())).collect();
    match (how, below) {
        (How::Ref, [Segment::Key(key), rest @ ..]) if key == "apiVersion" => {
            out.push(Segment::Key("apiGroup".to_owned()));
            out.extend_from_slice(rest);
        }
        _ => out.extend_from_slice(below),
    }
    Some(Path::from(out))
}

/// Moves the values at `from` to `to`.
fn carry(object: &mut Value, from: &[Option<Segment>], to: &[Option<Segment>], how: How) {
    // Only bootstrap tokens go through a list, and both patterns share the way there.
    if let Some(at) = from.iter().position(Option::is_none) {
        let list = from[..at].iter().flatten().try_fold(object, |value, segment| step_mut(value, segment));
        for item in list.and_then(Value::as_array_mut).into_iter().flatten() {
            carry(item, &from[at + 1..], &to[at + 1..], how);
        }
        return;
    }
    let keys: Vec<&str> = from.iter().flatten().filter_map(key_of).collect();
    let Some((last, parents)) = keys.split_last() else { return };
    let parent = parents.iter().try_fold(&mut *object, |value, key| value.get_mut(*key));
    let Some(taken) = parent.and_then(Value::as_object_mut).and_then(|map| map.remove(*last)) else { return };
    let target: Vec<&str> = to.iter().flatten().filter_map(key_of).collect();
    put(object, &target, changed(taken, how));
}

/// One step down.
fn step_mut<'v>(value: &'v mut Value, segment: &Segment) -> Option<&'v mut Value> {
    match segment {
        Segment::Key(key) => value.get_mut(key.as_str()),
        Segment::Index(place) => value.get_mut(*place),
    }
}

/// The key of a step that is one.
fn key_of(segment: &Segment) -> Option<&str> {
    match segment {
        Segment::Key(key) => Some(key),
        Segment::Index(_) => None,
    }
}

/// Puts a value in its place, making the maps on the way; maps are merged.
fn put(object: &mut Value, target: &[&str], value: Value) {
    let Some((first, rest)) = target.split_first() else { return };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Some(map) = object.as_object_mut() else { return };
    if rest.is_empty() {
        match (map.get_mut(*first), value) {
            (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
            (_, value) => {
                map.insert((*first).to_owned(), value);
            }
        }
    } else {
        put(map.entry((*first).to_owned()).or_insert_with(|| Value::Object(Map::new())), rest, value);
    }
}

/// The value as it stands in the superset form.
fn changed(value: Value, how: How) -> Value {
    match how {
        How::Same => value,
        How::Seconds => value.as_str().and_then(go_seconds).map_or(value, Value::from),
        How::Ref => reference(value),
        How::Args => arguments(value),
    }
}

/// A reference by group, kind and name; its namespace is kept because old MachineDeployments compared it.
fn reference(value: Value) -> Value {
    let Value::Object(mut map) = value else { return value };
    let group = map.remove("apiVersion").and_then(|text| Some(ApiVersion::parse(text.as_str()?).group.to_owned()));
    if let Some(group) = group {
        map.insert("apiGroup".to_owned(), Value::String(group));
    }
    Value::Object(map)
}

/// A list of names and values, sorted by name.
fn arguments(value: Value) -> Value {
    let Value::Object(map) = value else { return value };
    let mut pairs: Vec<(String, Value)> = map.into_iter().collect();
    pairs.sort_by(|left, right| left.0.cmp(&right.0));
    pairs.into_iter().map(|(name, value)| serde_json::json!({"name": name, "value": value})).collect()
}

/// Whole seconds of a Go duration such as `1h5m0s`; what is below a second is cut off, as the conversion does.
pub(super) fn go_seconds(text: &str) -> Option<i64> {
    if text == "0" {
        return Some(0);
    }
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut nanos: f64 = 0.0;
    while !rest.is_empty() {
        let digits =
            rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').filter(|digits| *digits > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit_end = rest[digits..]
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .map_or(rest.len(), |end| digits + end);
        nanos += number
            * match &rest[digits..unit_end] {
                "ns" => 1.0,
                "us" | "µs" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                "m" => 60e9,
                "h" => 3600e9,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    if !text.ends_with(|letter: char| letter.is_ascii_alphabetic()) || nanos > 9.2e18 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "bounded above; what is below a second is meant to go.")]
    let seconds = (nanos / 1e9) as i64;
    Some(if negative { -seconds } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn newest() -> Versions {
        Versions::told("cluster-api", "v1.14.2")
    }

    #[test]
    fn durations_become_seconds() {
        for (text, seconds) in [("5m0s", 300), ("1h", 3600), ("1h30m", 5400), ("1500ms", 1), ("0s", 0), ("0", 0)] {
            assert_eq!(go_seconds(text), Some(seconds), "{text}");
        }
        assert_eq!(go_seconds("5"), None);
        assert_eq!(go_seconds("x"), None);
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
