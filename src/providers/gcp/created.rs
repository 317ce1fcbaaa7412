//! What the webhooks of the GCP provider refuse of new objects.
//! Read beside `webhooks/gcpmachine_webhook.go` (validateConfidentialCompute, checkKeyType) and ValidateCreate in
//! `exp/webhooks/gcpmanaged{controlplane,machinepool}_webhook.go` of cluster-api-provider-gcp 1.13.

use super::webhook::{RULE, scaling};
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// Longest name of a cluster or a pool in GKE.
const LONGEST: usize = 40;
/// Families of machines that can encrypt their memory, by the way in which they do; `Enabled` is SEV.
const SERIES: &[(&str, &[&str])] = &[
    ("Enabled", &["n2d", "c2d", "c3d"]),
    ("AMDEncryptedVirtualization", &["n2d", "c2d", "c3d"]),
    ("AMDEncryptedVirtualizationNestedPaging", &["n2d"]),
    ("IntelTrustedDomainExtensions", &["c3"]),
];

/// What is refused of a new object; both kinds of machines are told apart by where their spec stands.
pub(super) fn refusals(kind: &str, new: &Value, out: &mut Vec<Refusal>) {
    let spec = Path::root().key("spec");
    match kind {
        "GCPMachineTemplate" => {
            let at = spec.key("template").key("spec");
            confidential(new.pointer("/spec/template/spec"), &at, out);
        }
        "GCPMachine" => {
            confidential(new.get("spec"), &spec, out);
            keys(new, &spec, out);
        }
        "GCPManagedControlPlane" => managed(new, &spec, out),
        "GCPManagedMachinePool" => {
            scaling(new, &spec, out);
            if text(new, "/spec/nodePoolName").is_some_and(|name| name.len() > LONGEST) {
                refuse(out, RULE, &spec, "nodePoolName", "it has at most 40 characters");
            }
            for key in ["diskSizeGb", "localSsdCount", "maxPodsPerNode"] {
                if new.pointer(&format!("/spec/{key}")).and_then(Value::as_i64).is_some_and(|count| count < 0) {
                    refuse(out, RULE, &spec, key, "it cannot be negative");
                }
            }
        }
        _ => {}
    }
}

/// Memory is encrypted on some machines only, and none of them moves to another host (validateConfidentialCompute).
fn confidential(machine: Option<&Value>, at: &Path, out: &mut Vec<Refusal>) {
    let Some(machine) = machine else { return };
    let Some(way) = text(machine, "/confidentialCompute").filter(|way| *way != "Disabled") else { return };
    if text(machine, "/onHostMaintenance").is_none_or(|told| told == "Migrate") {
        refuse(out, RULE, at, "onHostMaintenance", "confidentialCompute needs Terminate");
    }
    let family = text(machine, "/instanceType").unwrap_or_default().split('-').next().unwrap_or_default();
    let known = SERIES.iter().find(|(known, _)| *known == way);
    if known.is_none_or(|(_, series)| !series.contains(&family)) {
        refuse(out, RULE, at, "confidentialCompute", format!("machines of {family} cannot do {way}"));
    }
}

/// A key is of the sort that it says (checkKeyType).
fn keys(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let root = new.pointer("/spec/rootDiskEncryptionKey").map(|key| ("rootDiskEncryptionKey".to_owned(), key));
    let more = list(new, "/spec/additionalDisks").enumerate();
    let more = more.filter_map(|(place, disk)| {
        Some((format!("additionalDisks[{place}].encryptionKey"), disk.get("encryptionKey")?))
    });
    for (place, key) in root.into_iter().chain(more).filter(|(_, key)| key.is_object()) {
        let has = |name: &str| key.get(name).is_some_and(Value::is_object);
        let fits = match text(key, "/keyType") {
            Some("Managed") => has("managedKey") && !has("suppliedKey"),
            Some("Supplied") => {
                let both = ["rawKey", "rsaEncryptedKey"]
                    .iter()
                    .all(|name| text(key, &format!("/suppliedKey/{name}")).is_some());
                has("suppliedKey") && !has("managedKey") && !both
            }
            _ => false,
        };
        if !fits {
            refuse(out, RULE, spec, &place, "keyType says which one of managedKey and suppliedKey is there");
        }
    }
}

/// A control plane that GKE manages.
fn managed(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let has = |key: &str| new.pointer(&format!("/spec/{key}")).is_some_and(|value| !value.is_null());
    if text(new, "/spec/clusterName").is_some_and(|name| name.len() > LONGEST) {
        refuse(out, RULE, spec, "clusterName", "it has at most 40 characters");
    }
    if new.pointer("/spec/enableAutopilot") == Some(&Value::Bool(true)) {
        if !has("releaseChannel") {
            refuse(out, RULE, spec, "releaseChannel", "a cluster that GKE runs alone needs a channel");
        }
        for key in ["loggingService", "monitoringService"].into_iter().filter(|key| has(key)) {
            refuse(out, RULE, spec, key, "it is not chosen where enableAutopilot is true");
        }
    }
    if has("controlPlaneVersion") && has("version") {
        refuse(out, RULE, spec, "controlPlaneVersion", "it and version exclude each other");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(kind: &str, spec: Value) -> Vec<String> {
        let mut out = Vec::new();
        refusals(kind, &json!({ "spec": spec }), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn memory_is_encrypted_on_machines_that_can() {
        let machine = |kind: &str, way: &str, stop: &str| {
            let machine = json!({"instanceType": kind, "confidentialCompute": way, "onHostMaintenance": stop});
            refused("GCPMachineTemplate", json!({"template": {"spec": machine}}))
        };
        assert_eq!(machine("n2d-standard-4", "Enabled", "Terminate"), [""; 0]);
        assert_eq!(machine("e2-medium", "Disabled", "Migrate"), [""; 0]);
        assert_eq!(machine("n2d-standard-4", "Enabled", "Migrate"), ["spec.template.spec.onHostMaintenance"]);
        assert_eq!(machine("e2-medium", "Enabled", "Terminate"), ["spec.template.spec.confidentialCompute"]);
        assert_eq!(machine("n2d-standard-4", "IntelTrustedDomainExtensions", "Terminate").len(), 1);
    }

    #[test]
    fn a_cluster_that_runs_alone_has_a_channel_and_no_services() {
        assert_eq!(refused("GCPManagedControlPlane", json!({"enableAutopilot": true})), ["spec.releaseChannel"]);
        assert_eq!(refused("GCPManagedControlPlane", json!({"loggingService": "none"})), [""; 0]);
        let told = json!({"enableAutopilot": true, "releaseChannel": "rapid", "loggingService": "none"});
        assert_eq!(refused("GCPManagedControlPlane", told), ["spec.loggingService"]);
    }

    #[test]
    fn a_key_is_of_the_sort_that_it_says() {
        let key = |key: Value| refused("GCPMachine", json!({"rootDiskEncryptionKey": key}));
        assert_eq!(key(json!({"keyType": "Managed", "managedKey": {}})), [""; 0]);
        assert_eq!(key(json!({"keyType": "Managed", "suppliedKey": {}})), ["spec.rootDiskEncryptionKey"]);
    }
}
