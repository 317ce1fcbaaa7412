//! Mirror of what the webhooks of the Azure provider look up in the cluster while they admit an object. Read beside
//! `internal/exp/api/v1beta1/azuremachinepool_default.go` `SetIdentityDefaults`, `internal/exp/webhooks/azuremachinepool_webhook.go`
//! `validateOrchestrationMode`, `internal/webhooks/azuremanagedmachinepool_validation.go` `validateLastSystemNodePool` and
//! `internal/webhooks/azuremanagedcontrolplane_validation.go` `validateManagedClusterNetwork` of cluster-api-provider-azure 1.26.

use std::net::IpAddr;

use semver::Version;

use super::webhook::RULE;
use crate::kinds::around::{Around, LookUp, Refuses};
use crate::kinds::contract::{CLUSTER, CLUSTER_NAME, CORE, INFRASTRUCTURE, MACHINE_POOL};
use crate::kinds::fields::{list, text};
use crate::kinds::versions;
use crate::kinds::webhook::Write;
use crate::object::{Key, Path};
use crate::tree::Value;

/// From this version of Kubernetes on a pool may be `Flexible`.
const FLEXIBLE_SINCE: Version = Version::new(1, 26, 0);
/// `clusterctl move` deletes the last pool too.
const MOVED: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";

/// What is looked up for one write.
pub(super) fn of(write: &Write<'_>, around: &dyn Around) -> Vec<LookUp> {
    let mut out = Vec::new();
    let mut look = |(group, kind): (&str, &str), below: &str, wanted: String, is_it: &dyn Fn(&Key, &Value) -> bool| {
        let keys = below.split('/').filter(|key| !key.is_empty());
        let path = keys.fold(Path::root().key("spec"), |path, key| path.key(key));
        out.push(LookUp {
            found: around.look_up(group, kind, is_it),
            refuses: Refuses::Missing,
            rule: RULE,
            path,
            wanted,
        });
    };
    match write.kind_name() {
        "AzureMachinePool" => pool(write, &mut look),
        "AzureManagedMachinePool" => system(write, &mut look),
        "AzureManagedControlPlane" => network(write, "dnsServiceIP", &mut look),
        "AzureManagedControlPlaneTemplate" => network(write, "template/spec/dnsServiceIP", &mut look),
        _ => {}
    }
    out
}

/// Looks for an object of a kind, because of a field.
type Look<'l> = dyn FnMut((&str, &str), &str, String, &dyn Fn(&Key, &Value) -> bool) + 'l;

/// A pool whose mode or identity makes the webhook look for its MachinePool, in all namespaces.
fn pool(write: &Write<'_>, look: &mut Look<'_>) {
    let (key, new) = (write.key, write.new);
    let names_it = |pool: &Value| text(pool, "/spec/template/spec/infrastructureRef/name") == Some(key.name.as_str());
    if text(new, "/spec/orchestrationMode") == Some("Flexible") {
        let is_new_enough = |pool: &Value| {
            let version = text(pool, "/spec/template/spec/version");
            version.and_then(versions::parse).is_some_and(|version| version >= FLEXIBLE_SINCE)
        };
        let wanted = "a MachinePool of Kubernetes 1.26 or later that names it".to_owned();
        look((CORE, MACHINE_POOL), "orchestrationMode", wanted, &|_, pool| names_it(pool) && is_new_enough(pool));
    }
    // With two names for the same role the webhook refuses before it looks.
    let is_named_twice = ["/spec/roleAssignmentName", "/spec/systemAssignedIdentityRole/name"]
        .iter()
        .all(|pointer| text(new, pointer).is_some_and(|name| !name.is_empty()));
    if text(new, "/spec/identity") == Some("SystemAssigned") && !is_named_twice {
        let wanted = "a MachinePool that names it".to_owned();
        look((CORE, MACHINE_POOL), "identity", wanted, &|_, pool| names_it(pool));
    }
}

/// A pool of AKS that leaves the mode System: another one must have it.
fn system(write: &Write<'_>, look: &mut Look<'_>) {
    let is_system = |pool: &Value| text(pool, "/spec/mode") == Some("System");
    let is_moved =
        write.new.pointer("/metadata/annotations").is_some_and(|annotations| annotations.get(MOVED).is_some());
    let leaves = write.past().is_some_and(is_system) && !is_system(write.new);
    let Some(cluster) = cluster(write.new).filter(|_| leaves && !is_moved) else { return };
    let wanted = format!("another pool of {cluster} with the mode System");
    look((INFRASTRUCTURE, write.kind_name()), "mode", wanted, &|other, pool| {
        let is_beside = other.namespace == write.key.namespace && other.name != write.key.name;
        is_beside && self::cluster(pool) == Some(cluster) && is_system(pool)
    });
}

/// A control plane of AKS, or a template of one, with the label of its Cluster: the webhook reads the ranges of that Cluster.
fn network(write: &Write<'_>, place: &str, look: &mut Look<'_>) {
    let Some(name) = cluster(write.new) else { return };
    let is_cluster = |key: &Key| key.name == name && key.namespace == write.key.namespace;
    look((CORE, CLUSTER), "", format!("the Cluster {name} of its label {CLUSTER_NAME}"), &|key, _| is_cluster(key));
    let Some(address) = text(write.new, &format!("/spec/{place}")) else { return };
    let wanted = format!("the Cluster {name} with one range of services that holds {address}, which ends with .10");
    look((CORE, CLUSTER), place, wanted, &|key, cluster| is_cluster(key) && serves(cluster, address));
}

/// The Cluster of a label.
fn cluster(object: &Value) -> Option<&str> {
    object.pointer("/metadata/labels")?.get(CLUSTER_NAME)?.as_str()
}

/// Whether a Cluster has one range of services, and the address lies in it.
fn serves(cluster: &Value, address: &str) -> bool {
    let mut ranges = list(cluster, "/spec/clusterNetwork/services/cidrBlocks").filter_map(Value::as_str);
    let range = ranges.next().and_then(|range| range.parse::<ipnet::IpNet>().ok());
    let address = address.parse::<IpAddr>().ok();
    let is_usual = |address: &IpAddr| address.to_string().ends_with(".10");
    ranges.next().is_none()
        && range.zip(address.filter(is_usual)).is_some_and(|(range, address)| range.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::around::LookedUp;
    use crate::providers::on_write;
    use crate::tree::json;

    /// A cluster of a few objects.
    struct Few(Vec<(Key, Value)>);

    impl Around for Few {
        fn look_up(&self, group: &str, kind: &str, wanted: &dyn Fn(&Key, &Value) -> bool) -> LookedUp {
            let is_it = |(key, value): &(Key, Value)| key.group == group && key.kind == kind && wanted(key, value);
            if self.0.iter().any(is_it) { LookedUp::There } else { LookedUp::Missing }
        }
    }

    fn key(kind: &str, name: &str) -> Key {
        let group = if kind.starts_with("Azure") { "infrastructure.cluster.x-k8s.io" } else { "cluster.x-k8s.io" };
        Key::new(&format!("{group}/v1beta1"), kind, Some("team"), name)
    }

    /// The places that refuse a write, with these objects around it.
    fn refused(key: &Key, sides: (Option<&Value>, &Value), around: Vec<(Key, Value)>) -> Vec<String> {
        let api_version = "infrastructure.cluster.x-k8s.io/v1beta1";
        let found = on_write(key, api_version, sides, |write| of(write, &Few(around)));
        let missing = found.into_iter().filter(|look_up| look_up.found == LookedUp::Missing);
        missing.map(|look_up| look_up.path.to_string()).collect()
    }

    fn parent(version: &str) -> (Key, Value) {
        let spec = json!({"version": version, "infrastructureRef": {"name": "pool"}});
        (key("MachinePool", "md"), json!({"spec": {"template": {"spec": spec}}}))
    }

    #[test]
    fn a_pool_with_an_identity_of_its_system_needs_its_machine_pool() {
        let own = key("AzureMachinePool", "pool");
        let assigned = json!({"spec": {"identity": "SystemAssigned"}});
        assert_eq!(refused(&own, (None, &assigned), vec![]), ["spec.identity"]);
        assert_eq!(refused(&own, (None, &assigned), vec![parent("v1.20.0")]), [""; 0]);
        assert_eq!(refused(&own, (None, &json!({"spec": {"identity": "UserAssigned"}})), vec![]), [""; 0]);
        let twice = json!({"spec": {
            "identity": "SystemAssigned", "roleAssignmentName": "a", "systemAssignedIdentityRole": {"name": "b"},
        }});
        assert_eq!(refused(&own, (None, &twice), vec![]), [""; 0]);
    }

    #[test]
    fn a_flexible_pool_needs_a_machine_pool_that_is_new_enough() {
        let own = key("AzureMachinePool", "pool");
        let flexible = json!({"spec": {"orchestrationMode": "Flexible"}});
        assert_eq!(refused(&own, (None, &flexible), vec![parent("v1.25.9")]), ["spec.orchestrationMode"]);
        assert_eq!(refused(&own, (None, &flexible), vec![parent("v1.26.0")]), [""; 0]);
        assert_eq!(refused(&key("AzureMachinePool", "other"), (None, &flexible), vec![parent("v1.26.0")]).len(), 1);
    }

    #[test]
    fn the_last_pool_of_a_system_stays_one() {
        let pool = |mode: &str| json!({"metadata": {"labels": {CLUSTER_NAME: "demo"}}, "spec": {"mode": mode}});
        let own = key("AzureManagedMachinePool", "a");
        let (system, user) = (pool("System"), pool("User"));
        let itself = || (own.clone(), pool("System"));
        let other = |mode: &str| (key("AzureManagedMachinePool", "b"), pool(mode));
        assert_eq!(refused(&own, (Some(&system), &user), vec![itself(), other("User")]), ["spec.mode"]);
        assert_eq!(refused(&own, (Some(&system), &user), vec![itself(), other("System")]), [""; 0]);
        assert_eq!(refused(&own, (Some(&user), &user), vec![other("User")]), [""; 0]);
        let nobodys = json!({"spec": {"mode": "User"}});
        assert_eq!(refused(&own, (Some(&system), &nobodys), vec![itself()]), [""; 0], "no label of a Cluster");
    }

    #[test]
    fn a_control_plane_with_the_label_of_its_cluster_reads_it() {
        let own = key("AzureManagedControlPlane", "demo");
        let plane = json!({"metadata": {"labels": {CLUSTER_NAME: "demo"}}, "spec": {"dnsServiceIP": "10.0.0.10"}});
        let cluster = |range: &str| {
            let network = json!({"clusterNetwork": {"services": {"cidrBlocks": [range]}}});
            (key("Cluster", "demo"), json!({"spec": network}))
        };
        assert_eq!(refused(&own, (None, &plane), vec![]), ["spec", "spec.dnsServiceIP"]);
        assert_eq!(refused(&own, (None, &plane), vec![cluster("192.168.0.0/16")]), ["spec.dnsServiceIP"]);
        assert_eq!(refused(&own, (None, &plane), vec![cluster("10.0.0.0/24")]), [""; 0]);
        assert_eq!(refused(&own, (None, &json!({"spec": {}})), vec![]), [""; 0], "no label");
        let mut other = plane.clone();
        other["spec"]["dnsServiceIP"] = json!("10.0.0.11");
        assert_eq!(
            refused(&own, (None, &other), vec![cluster("10.0.0.0/24")]),
            ["spec.dnsServiceIP"],
            "AKS takes .10 alone"
        );
        let template = json!({"metadata": plane["metadata"], "spec": {"template": {"spec": plane["spec"]}}});
        let own = key("AzureManagedControlPlaneTemplate", "demo");
        let place = "spec.template.spec.dnsServiceIP";
        assert_eq!(refused(&own, (None, &template), vec![cluster("192.168.0.0/16")]), [place]);
        assert_eq!(refused(&own, (None, &template), vec![cluster("10.0.0.0/24")]), [""; 0]);
    }
}
