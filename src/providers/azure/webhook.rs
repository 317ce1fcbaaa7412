//! Mirror of what the webhooks of the Azure provider fill in and refuse. What cannot change stands in `fixed`.
//! Read beside `internal/webhooks/azure*_webhook.go`, `azuremanagedcontrolplane_validation.go` and
//! `internal/exp/webhooks/azuremachinepool_webhook.go` of cluster-api-provider-azure 1.26.

use super::changes::SHARED_TABLE;
use super::fixed::{CLUSTER, IDENTITY, MANAGED_CONTROL_PLANE, MANAGED_POOL};
use super::{EDGE_ZONE, INTERNAL_BALANCER};
use super::{cluster, defaults, looks_up, machine, managed, managed_pool, network, pool};
use crate::kinds::around::{Around, LookUp};
use crate::kinds::fields::{child, list, text};
use crate::kinds::webhook::{Need, Refusal, Write, Written, refuse};
use crate::kinds::{Versions, Webhook, diff};
use crate::model::RuleId;
use crate::object::{Key, Path};
use crate::tree::{Value, json};

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("capz/rejected");

/// Maps whose keys anyone chooses.
const MAPS: &[&str] = &["additionalTags", "protectedSettings", "settings"];
/// The key that the webhook makes where none is written; a template from before takes it once.
pub(super) const MADE_KEY: &str = "sshPublicKey";

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct Azure;

impl Webhook for Azure {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        let name = written.key.name.clone();
        let before = object.clone();
        let content = match written.key.kind.as_str() {
            "AzureCluster" => "/spec",
            _ => "/spec/template/spec",
        };
        let content = object.pointer_mut(content).and_then(Value::as_object_mut);
        match (written.key.kind.as_str(), content) {
            ("AzureCluster", Some(spec)) => cluster::cluster(spec, &name, written.versions),
            ("AzureClusterTemplate", Some(spec)) => cluster::template(spec),
            ("AzureMachinePool", _) => {
                object.as_object_mut().into_iter().for_each(|object| defaults::pool(child(object, "spec")));
            }
            ("AzureMachineTemplate", Some(spec)) => defaults::machine(spec),
            ("AzureManagedControlPlane", _) => defaults::managed(object, &name),
            ("AzureManagedControlPlaneTemplate", Some(spec)) => defaults::managed_template(spec, &name),
            ("AzureManagedMachinePool", _) => {
                if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                    defaults::called(spec, "name", &name);
                }
            }
            ("AzureManagedMachinePoolTemplate", Some(spec)) => {
                defaults::called(spec, "name", &name);
                defaults::called(spec, "osType", "Linux");
            }
            _ => {}
        }
        // The object is only written anew where a default changed it (controller-runtime 0.23, on which 1.26 stands), such as by a key that
        // is made. Pools of virtual machines are left out, since their webhook is asked for nothing but what stands above.
        let has_key = text(object, &format!("/spec/template/spec/{MADE_KEY}")).is_some_and(|key| !key.is_empty());
        let makes_key = written.key.kind == "AzureMachineTemplate" && !has_key;
        if written.key.kind != "AzureMachinePool" && (makes_key || before != *object) {
            defaults::zeros(written.shape, object);
        }
    }

    fn needs(&self, key: &Key, object: &Value, _is_new: bool, _versions: &Versions, need: &mut Need<'_>) {
        if key.kind != "AzureCluster" {
            return;
        }
        if object.pointer("/spec/extendedLocation").is_some_and(Value::is_object) {
            need(EDGE_ZONE, "spec.extendedLocation");
        }
        let balancer = object.pointer("/spec/networkSpec/apiServerLB").unwrap_or(&Value::Null);
        let has_own = list(balancer, "/frontendIPs").any(|front| text(front, "/privateIP").is_some());
        if text(balancer, "/type") == Some("Public") && has_own {
            need(INTERNAL_BALANCER, "spec.networkSpec.apiServerLB.frontendIPs");
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        match (write.kind_name(), write.new.pointer("/spec/template")) {
            ("AzureMachinePool", _) => pool::refusals(write.past(), write.new, &spec, &mut out),
            ("AzureManagedMachinePoolTemplate", Some(_)) => {
                managed_pool::template(write.past(), write.new, &spec.key("template").key("spec"), &mut out);
            }
            ("AzureMachineTemplate", _) if write.is_new => machine::new_template(write.new, &mut out),
            ("AzureCluster", _) => {
                identity(write.new, &spec, &mut out);
                network::refusals(write.past(), write.new, &mut out);
            }
            ("AzureClusterIdentity", _) => credentials(write.new, &spec, &mut out),
            ("AzureManagedControlPlane", _) => managed::refusals(write.past(), write.new, &spec, &mut out),
            ("AzureManagedControlPlaneTemplate", _) => managed::template(write.new, &spec, &mut out),
            ("AzureManagedMachinePool", _) => {
                managed_pool::labels(write.new, &spec, &mut out);
                if write.is_new {
                    managed_pool::made(write.new, &spec, &mut out);
                }
            }
            _ => {}
        }
        let Some(old) = write.past() else { return out };
        let sides = (old, write.new);
        match write.kind_name() {
            "AzureCluster" => {
                CLUSTER.refusals(RULE, sides, &spec, &mut out);
                subnets(sides, write.versions, &spec, &mut out);
            }
            "AzureClusterIdentity" => IDENTITY.refusals(RULE, sides, &spec, &mut out),
            "AzureManagedControlPlane" => {
                MANAGED_CONTROL_PLANE.refusals(RULE, sides, &spec, &mut out);
                access(sides, &spec, &mut out);
            }
            "AzureManagedMachinePool" => {
                MANAGED_POOL.refusals(RULE, sides, &spec, &mut out);
                managed_pool(sides, &spec, &mut out);
            }
            _ => {}
        }
        out
    }

    fn looks_up(&self, write: &Write<'_>, around: &dyn Around) -> Vec<LookUp> {
        looks_up::of(write, around)
    }

    /// Both sides are compared with what the webhook fills in, also where nobody knows the schema.
    fn differences(&self, write: &Write<'_>) -> Option<Vec<Path>> {
        let fixed = write.kind.fixed?;
        // Only this webhook fills in what was there before.
        if write.kind_name() != "AzureMachineTemplate" {
            return fixed.differences(write.old, write.new, write.versions);
        }
        let held = |side: &Value| {
            let mut side = side.clone();
            template(&mut side);
            let mut spec = side.pointer("/spec/template/spec").cloned().unwrap_or_else(|| json!({}));
            diff::prune_beside(&mut spec, fixed.style, MAPS);
            spec
        };
        let (mut before, after) = (held(write.old), held(write.new));
        if let (Some(before), Some(key)) = (before.as_object_mut(), after.get(MADE_KEY)) {
            before.entry(MADE_KEY).or_insert_with(|| key.clone());
        }
        let at = Path::root().key("spec").key("template").key("spec");
        Some(diff::places(Some(&before), Some(&after), &at))
    }
}

/// Fills in a machine template.
fn template(object: &mut Value) {
    if let Some(spec) = object.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut) {
        defaults::machine(spec);
    }
}

/// What a subnet of a cluster keeps under its name: its tables, its gateway and its group, as the webhook finds them after it has
/// filled in both sides (validateAzureClusterSubnetUpdate).
fn subnets((old, new): (&Value, &Value), versions: &Versions, spec: &Path, out: &mut Vec<Refusal>) {
    let is_taken_once = |block: &str| block == "natGateway" || block == "routeTable" && versions.has(&SHARED_TABLE);
    let name = |subnet: &Value, pointer: &str| text(subnet, pointer).unwrap_or_default().to_owned();
    for (place, subnet) in list(new, "/spec/networkSpec/subnets").enumerate() {
        let mut before = list(old, "/spec/networkSpec/subnets");
        let Some(before) = before.find(|before| name(before, "/name") == name(subnet, "/name")) else { continue };
        for block in ["routeTable", "natGateway", "securityGroup"] {
            let pointer = format!("/{block}/name");
            let was = name(before, &pointer);
            if was != name(subnet, &pointer) && !(was.is_empty() && is_taken_once(block)) {
                let below = format!("networkSpec.subnets[{place}].{block}.name");
                refuse(out, RULE, spec, &below, "it cannot change while the subnet is there");
            }
        }
    }
}

/// A cluster names an identity (validateIdentityRef).
fn identity(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    if text(new, "/spec/identityRef/kind") != Some("AzureClusterIdentity") {
        refuse(out, RULE, spec, "identityRef", "it must name an AzureClusterIdentity");
    }
}

/// Where an identity stands is told by the sort that it is of (validateIdentity of AzureClusterIdentity).
fn credentials(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let is_of = |sort: &str| text(new, "/spec/type") == Some(sort);
    if !is_of("UserAssignedMSI") && text(new, "/spec/resourceID").is_some() {
        refuse(out, RULE, spec, "resourceID", "only an identity of the type UserAssignedMSI has one");
    }
    for key in ["userAssignedIdentityCredentialsPath", "userAssignedIdentityCredentialsCloudType"] {
        if !is_of("UserAssignedIdentityCredential") && text(new, &format!("/spec/{key}")).is_some() {
            refuse(out, RULE, spec, key, "only an identity of the type UserAssignedIdentityCredential has one");
        }
    }
}

/// Who reaches the API server is chosen once, but for the addresses that may.
fn access((old, new): (&Value, &Value), spec: &Path, out: &mut Vec<Refusal>) {
    const FREE: &str = "authorizedIPRanges";
    let told = |side: &Value| {
        let mut profile =
            side.pointer("/spec/apiServerAccessProfile").and_then(Value::as_object).cloned().unwrap_or_default();
        profile.retain(|key, value| key.as_str() != FREE && !value.is_null());
        profile
    };
    if told(old) != told(new) {
        refuse(out, RULE, spec, "apiServerAccessProfile", "only authorizedIPRanges of it can change");
    }
}

/// Zones stay in any order, and the name of the pool stays.
fn managed_pool((old, new): (&Value, &Value), spec: &Path, out: &mut Vec<Refusal>) {
    managed_pool::zones((old, new), "/spec", spec, out);
    if text(old, "/spec/name") != text(new, "/spec/name") {
        refuse(out, RULE, spec, "name", "name cannot change");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(check: fn((&Value, &Value), &Path, &mut Vec<Refusal>), old: Value, new: Value) -> Vec<String> {
        let mut out = Vec::new();
        check((&json!({"spec": old}), &json!({"spec": new})), &Path::root().key("spec"), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn a_subnet_keeps_what_it_has_and_a_new_one_takes_any() {
        let subnet = |name: &str, table: &str| json!({"networkSpec": {"subnets": [{"name": name, "routeTable": {"name": table}}]}});
        fn newest((old, new): (&Value, &Value), spec: &Path, out: &mut Vec<Refusal>) {
            subnets((old, new), &Versions::of(&[]), spec, out);
        }
        fn older((old, new): (&Value, &Value), spec: &Path, out: &mut Vec<Refusal>) {
            subnets((old, new), &Versions::told("azure", "v1.24.1"), spec, out);
        }
        assert_eq!(refused(newest, subnet("a", ""), subnet("a", "x")), [""; 0], "it is taken once");
        assert_eq!(refused(newest, subnet("a", "x"), subnet("b", "y")), [""; 0]);
        let place = ["spec.networkSpec.subnets[0].routeTable.name"];
        assert_eq!(refused(newest, subnet("a", "x"), subnet("a", "y")), place);
        assert_eq!(refused(older, subnet("a", ""), subnet("a", "x")), place);
        assert_eq!(refused(older, subnet("a", "x"), subnet("a", "x")), [""; 0]);
    }

    #[test]
    fn zones_may_stand_in_another_order() {
        let zones = |list: &[&str]| json!({"name": "a", "availabilityZones": list});
        assert_eq!(refused(managed_pool, zones(&["1", "2"]), zones(&["2", "1"])), [""; 0]);
        assert_eq!(refused(managed_pool, zones(&["1", "2"]), zones(&["1"])), ["spec.availabilityZones"]);
    }
}
