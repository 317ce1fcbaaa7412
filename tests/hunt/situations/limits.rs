//! What bounds or drives owners beside their templates: limits of remediation, names, taints, failure domains, autoscalers, a pause
//! half-way; and of a class, what stops its controller for Clusters that do not use it.

use serde_json::{Value, json};

use super::{CLASS, CLUSTER, set, step};
use crate::objects::{Edit, Shape};
use crate::seed::Seed;
use crate::steps::Draw;

const PLANE: &str = "KubeadmControlPlane/cp";

/// A check over the condition that Machines get in walks, with limits.
fn check(seed: &mut Seed) -> Value {
    let limit = *seed.pick(&["0%", "40%", "100%"]);
    json!({
        "checks": {
            "nodeStartupTimeoutSeconds": *seed.pick(&[0, 600]),
            "unhealthyMachineConditions": [{"type": "Sick", "status": "True", "timeoutSeconds": *seed.pick(&[0, 0, 3600])}],
        },
        "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": limit}},
    })
}

/// Limits of an owner or a check of a release without a topology.
pub(crate) fn limits(draw: &Draw<'_>, seed: &mut Seed) -> Vec<Edit> {
    match drawn(draw, seed).as_slice() {
        [Edit::Set(name, pointer, _)] if seed.chance(30) => vec![Edit::Unset(name.clone(), pointer.clone())],
        edits => edits.to_vec(),
    }
}

fn drawn(draw: &Draw<'_>, seed: &mut Seed) -> Vec<Edit> {
    if let Shape::Topology(_) = draw.shape {
        return of_topology(seed);
    }
    let named = |kind: &str| draw.objects.keys().filter(|name| name.starts_with(kind)).cloned().collect::<Vec<_>>();
    let (checks, groups) = (named("MachineHealthCheck/"), named("MachineDeployment/"));
    let has_plane = draw.objects.contains_key(PLANE);
    match seed.below(4) {
        0 if !checks.is_empty() => of_check(seed, &checks),
        1 if has_plane => of_plane(seed),
        _ if !groups.is_empty() => of_group(seed, &groups),
        _ => Vec::new(),
    }
}

fn of_check(seed: &mut Seed, checks: &[String]) -> Vec<Edit> {
    let name = seed.pick(checks).clone();
    let of = check(seed);
    match seed.below(5) {
        0 => vec![Edit::Remove(name)],
        1 => set(&name, "/spec/remediation/triggerIf/unhealthyInRange", json!("[0-1]")),
        2 => set(&name, "/spec/checks", of["checks"].clone()),
        3 => set(
            &name,
            "/spec/remediation/templateRef",
            json!({"apiVersion": "example.org/v1", "kind": "RemedyTemplate", "name": "remedy"}),
        ),
        _ => set(&name, "/spec/remediation", of["remediation"].clone()),
    }
}

fn of_plane(seed: &mut Seed) -> Vec<Edit> {
    match seed.below(4) {
        0 => {
            let retries = json!({"maxRetry": seed.below(3), "retryPeriodSeconds": *seed.pick(&[0, 3600]), "minHealthyPeriodSeconds": *seed.pick(&[0, 3600])});
            set(PLANE, "/spec/remediation", retries)
        }
        1 => set(PLANE, "/spec/machineNaming/template", json!("{{ .kubeadmControlPlane.name }}-n-{{ .random }}")),
        2 => set(PLANE, "/spec/machineTemplate/spec/taints", taints(seed)),
        _ => set(
            PLANE,
            "/spec/machineTemplate/spec/readinessGates",
            json!([{"conditionType": "Sick", "polarity": "Negative"}]),
        ),
    }
}

fn taints(seed: &mut Seed) -> Value {
    json!([{"key": "hunt/tainted", "value": "x", "effect": "NoSchedule", "propagation": *seed.pick(&["Always", "OnInitialization"])}])
}

fn of_group(seed: &mut Seed, groups: &[String]) -> Vec<Edit> {
    let name = seed.pick(groups).clone();
    let room = |surge: Value, unavailable: Value| json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}});
    let managed = format!("/metadata/annotations/{}", step("cluster.x-k8s.io/replicas-managed-by"));
    match seed.below(9) {
        0 => {
            let told = *seed.pick(&["true", "false", ""]);
            let mut edits = set(&name, &managed, json!(told));
            edits.extend(seed.chance(50).then(|| Edit::Unset(name, "/spec/replicas".to_owned())));
            edits
        }
        1 => vec![
            Edit::Set(name.clone(), "/spec/paused".to_owned(), json!(true)),
            Edit::Set(name, "/spec/rollout/strategy".to_owned(), room(json!(*seed.pick(&[0, 1])), json!(1))),
        ],
        2 => set(&name, "/spec/rollout/strategy", room(json!("100%"), json!(0))),
        3 => set(&name, "/spec/deletion/order", json!(*seed.pick(&["Oldest", "Newest", "Random"]))),
        4 => set(&name, "/spec/machineNaming/template", json!("{{ .machineSet.name }}-n-{{ .random }}")),
        5 => set(&name, "/spec/template/spec/taints", taints(seed)),
        6 => set(&name, "/spec/template/spec/failureDomain", json!(*seed.pick(&["a", "b"]))),
        7 => set(&name, "/spec/template/spec/minReadySeconds", json!(*seed.pick(&[1, 3600]))),
        _ => set(&name, "/spec/template/spec/deletion/nodeDrainTimeoutSeconds", json!(1)),
    }
}

/// What is edited of a Cluster with a topology, or of its class alone.
fn of_topology(seed: &mut Seed) -> Vec<Edit> {
    let whose = *seed.pick(&["controlPlane", "workers/machineDeployments/0"]);
    let group = "/spec/topology/workers/machineDeployments/0";
    let in_class = format!("/spec/{whose}");
    let spare = |name: &str| {
        let from = |group: &str, kind: &str| json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": name}});
        json!({"class": "spare", "bootstrap": from("bootstrap", "KubeadmConfigTemplate"),
            "infrastructure": from("infrastructure", "DevMachineTemplate")})
    };
    let of = check(seed);
    match seed.below(12) {
        0 => {
            let named = *seed.pick(&["workers", "nowhere"]);
            set(CLASS, "/spec/workers/machineDeployments/1", spare(named))
        }
        1 => vec![Edit::Unset(CLASS.to_owned(), "/spec/workers/machineDeployments/1".to_owned())],
        2 => set(CLASS, &format!("{in_class}/healthCheck"), of),
        3 => {
            let own = json!({"enabled": seed.chance(70), "checks": of["checks"], "remediation": of["remediation"]});
            set(CLUSTER, &format!("/spec/topology/{whose}/healthCheck"), own)
        }
        4 => set(CLUSTER, &format!("{group}/failureDomain"), json!(*seed.pick(&["a", "b"]))),
        5 => set(CLASS, "/spec/workers/machineDeployments/0/failureDomain", json!(*seed.pick(&["a", "b"]))),
        6 => set(CLUSTER, &format!("/spec/topology/{whose}/taints"), taints(seed)),
        7 => set(CLASS, &format!("{in_class}/taints"), taints(seed)),
        8 => set(CLASS, &format!("{in_class}/naming/template"), json!("{{ .cluster.name }}-n-{{ .random }}")),
        9 => set(
            CLUSTER,
            "/spec/topology/workers/machineDeployments/-",
            json!({"class": "worker", "name": "m".repeat(*seed.pick(&[40, 63, 64])), "replicas": 1}),
        ),
        10 => set(CLASS, "/metadata/annotations/note", json!(*seed.pick(&["one", "two"]))),
        _ => {
            let room =
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": seed.below(2), "maxUnavailable": 1}});
            let place = if seed.chance(50) {
                (CLUSTER, format!("{group}/rollout/strategy"))
            } else {
                (CLASS, "/spec/workers/machineDeployments/0/rollout/strategy".to_owned())
            };
            set(place.0, &place.1, room)
        }
    }
}
