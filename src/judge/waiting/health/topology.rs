//! The health checks that the topology controller makes of a Cluster and its class.
//! Read beside `exp/topology/scope/blueprint.go` (Is..MachineHealthCheckEnabled, ..MachineHealthCheckClass) and
//! `exp/topology/desiredstate/desired_state.go` (computeMachineHealthCheck) of Cluster API 1.14.

use crate::judge::topology::class_of;
use crate::judge::waiting::side::Side;
use crate::kinds::Role;
use crate::kinds::fields::list;
use crate::kinds::fields::text;
use crate::object::Key;
use crate::providers::core::in_hub;
use crate::tree::{Value, json};

/// The checks of a Cluster with a class, as v1beta2 has them; none where it has no class or that could not be read.
pub(super) fn checks(side: Side<'_>, key: &Key, cluster: &Value) -> Vec<Value> {
    let Some(class) = class_of(key, cluster).and_then(|class| side.get(&class)) else { return Vec::new() };
    // A topology is left in the names of its version, in which a check has another shape.
    let hub = |role: Role, value: &Value| in_hub(role, value, &side.stage.versions);
    let (class, cluster) = (hub(Role::Class, &class), &hub(Role::Cluster, cluster));
    let mut out = Vec::new();
    let plane = cluster.pointer("/spec/topology/controlPlane");
    let of_class = class.pointer("/spec/controlPlane");
    if of_class.is_some_and(|plane| plane.get("machineInfrastructure").is_some()) {
        let selector = json!({"cluster.x-k8s.io/control-plane": "", "topology.cluster.x-k8s.io/owned": ""});
        out.extend(check(key, "control plane", &selector, plane, of_class));
    }
    for group in list(cluster, "/spec/topology/workers/machineDeployments") {
        let own = text(group, "/class");
        let of_class = list(&class, "/spec/workers/machineDeployments").find(|item| text(item, "/class") == own);
        let name = text(group, "/name").unwrap_or_default();
        let selector = json!({
            "topology.cluster.x-k8s.io/deployment-name": name,
            "topology.cluster.x-k8s.io/owned": "",
        });
        out.extend(check(key, name, &selector, Some(group), of_class));
    }
    out
}

/// One check: that of the Cluster where it says one, else that of the class, unless it is switched off.
fn check(cluster: &Key, name: &str, labels: &Value, group: Option<&Value>, of_class: Option<&Value>) -> Option<Value> {
    let told = group.and_then(|group| group.get("healthCheck"));
    let says = |check: &&Value| check.get("checks").is_some() || check.get("remediation").is_some();
    let used = told.filter(says).or_else(|| of_class?.get("healthCheck").filter(says))?;
    if told.and_then(|told| told.get("enabled")) == Some(&Value::Bool(false)) {
        return None;
    }
    Some(json!({
        "metadata": {"name": name},
        "spec": {
            "clusterName": cluster.name,
            "selector": {"matchLabels": labels},
            "checks": used.get("checks"),
            "remediation": used.get("remediation"),
        },
    }))
}
